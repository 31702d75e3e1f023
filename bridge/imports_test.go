package bridge_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// These bring reflection, files, clocks and tables that start with the process, 440 KB with package fmt.
func TestTheExtensionImportsNothingLarge(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-tags", "gridbuf_extension", "./archive").Output()
	require.NoError(t, err)
	imported := strings.Fields(string(out))
	assert.Contains(t, imported, "gridbuf/gufunc")
	for _, large := range []string{"context", "embed", "fmt", "internal/godebug", "math/big", "os", "reflect", "regexp", "time"} {
		assert.NotContains(t, imported, large)
	}
}
