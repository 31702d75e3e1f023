package message

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

type named int

func (n named) String() string { return fmt.Sprintf("<%d>", int(n)) }

func TestFormatWritesAsFmtDoes(t *testing.T) {
	for _, c := range []struct {
		format string
		args   []any
	}{
		{"", nil},
		{"100 %%, %", nil},
		{"%d %d %d %d %d", []any{-1, int64(math.MinInt64), int32(7), uint8(255), uint64(8)}},
		{"%s|%q|%v", []any{"a\"b", "a\"b\n\xff", "c"}},
		{"%v %d %v %v", []any{[]int64{1, -2}, []int32{3}, []int{}, []int64(nil)}},
		{"%v %v", []any{[]string{"a", "b c"}, []string{}}},
		{"%s %v %v", []any{named(3), named(4), errors.New("why")}},
		{"%c %q", []any{'é', byte('x')}},
	} {
		assert.Equal(t, fmt.Sprintf(strings.TrimSuffix(c.format, ", %"), c.args...),
			strings.TrimSuffix(Format(c.format, c.args...), ", %"), c.format)
	}
	assert.Equal(t, fmt.Sprint([]named{1, 2}), List([]named{1, 2}))
	assert.Equal(t, fmt.Sprint([]named{}), List[named](nil))
	assert.Equal(t, "<nil>", Of(error(nil)))
	assert.Equal(t, "12", Of(12))
	assert.Equal(t, "(neither a text nor an error)", Of(struct{}{}))
}

func TestStackNamesItsCaller(t *testing.T) {
	assert.Contains(t, Stack(), "TestStackNamesItsCaller")
}

func TestTextsOfC(t *testing.T) {
	assert.Equal(t, "ab", Text([]int8{'a', 'b', 0, 'c'}))
	assert.Equal(t, "", Text([]uint8{0, 'c'}))
	assert.Equal(t, "abc", Text([]byte("abc")))
	assert.Equal(t, "", Text([]byte{}))
}
