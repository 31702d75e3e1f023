package alloc_test

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gridbuf/alloc"
)

// fakeT is a test that is checked: it keeps what it is told.
type fakeT struct {
	cleanups []func()
	errors   []string
}

func (t *fakeT) Helper()          {}
func (t *fakeT) Cleanup(f func()) { t.cleanups = append(t.cleanups, f) }
func (t *fakeT) Errorf(format string, args ...any) {
	t.errors = append(t.errors, fmt.Sprintf(format, args...))
}

func (t *fakeT) end() {
	for _, f := range t.cleanups {
		f()
	}
}

func aPlan() *alloc.Plan {
	plan, _ := alloc.NewPlan(&alloc.Spec{Shape: []int64{3}, ItemSize: 8})
	return plan
}

func ExampleCheck() {
	t := &fakeT{} // a program's tests pass their *testing.T
	alloc.Check(t)
	buffer, _ := alloc.New(aPlan())
	t.end()
	made := regexp.MustCompile(`made at\s+\S*/(\S+):\d+ (\S+)`).FindStringSubmatch(t.errors[0])
	fmt.Println(made[1], made[2])
	buffer.Free()
	// Output: check_test.go gridbuf/alloc_test.ExampleCheck
}

func TestCheckNamesTheLinesOfEveryHolderThatIsLeft(t *testing.T) {
	checked := &fakeT{}
	before, err := alloc.New(aPlan()) // not recorded
	require.NoError(t, err)
	alloc.Check(checked)
	var held []*alloc.Buffer
	for range 3 {
		b, err := alloc.New(aPlan())
		require.NoError(t, err)
		held = append(held, b, b.Share())
	}
	held[0].Free()
	held[0].Free() // is nothing
	held[3].Free()
	checked.end()
	require.Len(t, checked.errors, 4)
	assert.Contains(t, checked.errors[0], fmt.Sprintf("buffer #%d is not freed: Plan(I [3] of 8 "+
		"bytes", held[1].ID()))
	assert.Regexp(t, `made at\n\t\S+check_test.go:57 gridbuf/alloc_test.TestCheckNames`,
		checked.errors[0])
	for _, b := range append(held, before) {
		b.Free()
	}
	after := &fakeT{}
	alloc.Check(after)
	after.end()
	assert.Empty(t, after.errors)
	b, err := alloc.New(aPlan()) // not recorded any more
	require.NoError(t, err)
	b.Free()
}
