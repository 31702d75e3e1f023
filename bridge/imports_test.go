package bridge_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// These bring reflection, files and tables that start with the process, 440 KB with package fmt.
// Package context, with the clock, is 139 KB, 39 KB of a wheel: calls and reductions of Go programs
// ask it.
func TestTheExtensionImportsNothingLarge(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-tags", "gridbuf_extension",
		"./archive").Output()
	require.NoError(t, err)
	imported := strings.Fields(string(out))
	assert.Contains(t, imported, "gridbuf/gufunc")
	for _, large := range []string{"embed", "fmt", "math/big", "os", "reflect", "regexp"} {
		assert.NotContains(t, imported, large)
	}
}

// Both main packages link without the tag and the overlay of setup.py, as go build ./... has it.
func TestMainsLinkAsOrdinaryPrograms(t *testing.T) {
	out, err := exec.Command("go", "build", "-o", t.TempDir(), "./archive",
		"../tests/build/own_main").CombinedOutput()
	require.NoError(t, err, string(out))
}
