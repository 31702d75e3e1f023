package share

import (
	"context"
	"math/bits"
	"slices"
	"strconv"
	"syscall"

	"gridbuf/alloc"
	"gridbuf/internal/stop"
)

// Names lists what the server of an address offers, sorted. The context, which may be nil, ends the
// waiting for the server, which takes 10 seconds at most.
func Names(ctx context.Context, address string) ([]string, error) {
	if err := stop.Asked(ctx); err != nil {
		return nil, err
	}
	file, err := path(address)
	if err != nil {
		return nil, err
	}
	conn, err := dial(ctx, file)
	if err != nil {
		return nil, err
	}
	defer closeConn(conn)
	var got answer
	memory, err := ask(ctx, conn, request{Version: version, Op: "names"}, &got)
	if memory >= 0 {
		closeFile(memory)
	}
	return got.Names, err
}

// Attach maps an array that a server offers, without touching a page. ReadWrite is for arrays that
// are offered so. Free gives the array back, and the server counts one holder less at once. The
// context, which may be nil, ends the waiting for the server, which takes 10 seconds at most.
func Attach(ctx context.Context, address, name string, access Access) (*Array, error) {
	if err := stop.Asked(ctx); err != nil {
		return nil, err
	}
	file, err := path(address)
	if err != nil {
		return nil, err
	}
	if err := checkName(name); err != nil {
		return nil, err
	}
	for {
		conn, used, err := connect(ctx, file)
		if err != nil {
			return nil, err
		}
		a, err := conn.attach(ctx, name, access)
		if err == nil {
			return a, nil
		}
		closeConn(conn.UnixConn)
		if !used || !ended(err) {
			return nil, err
		}
	}
}

func (c connection) attach(ctx context.Context, name string, access Access) (*Array, error) {
	var got answer
	r := request{Version: version, Op: "attach", Name: name, Writable: bool(access)}
	file, err := ask(ctx, c.UnixConn, r, &got)
	if err != nil {
		return nil, err
	}
	if file < 0 || got.Array == nil {
		if file >= 0 {
			closeFile(file)
		}
		return nil, alloc.ErrInvalid.Errorf(
			"the server's answer has no description with a descriptor")
	}
	defer closeFile(file) // the mapping needs none
	a, err := got.Array.array(file, access)
	if err != nil {
		return nil, err
	}
	a.release = c.release
	return a, a.hold(file, got.Array.Bytes)
}

// array checks a description against the memory that came with it.
func (d *description) array(file int, access Access) (*Array, error) {
	var found syscall.Stat_t
	if err := syscall.Fstat(file, &found); err != nil {
		return nil, alloc.ErrUnavailable.Errorf("the descriptor of the memory: %v", err)
	}
	if found.Mode&syscall.S_IFMT != syscall.S_IFREG || d.Bytes <= 0 || found.Size != d.Bytes {
		return nil, alloc.ErrInvalid.Errorf(
			"bytes: %d; the memory that came has %d", d.Bytes, found.Size)
	}
	if !keepsItsSize(file) {
		return nil, alloc.ErrInvalid.Errorf(
			"the memory that came is not sealed: its pages can be taken away")
	}
	if access == ReadWrite && !d.Writable {
		return nil, alloc.ErrInvalid.Errorf("writable: the memory that came is for reading only")
	}
	t, size, err := typeOf(d.Typestr)
	if err != nil {
		return nil, err
	}
	v := alloc.View{Type: t, ItemSize: size, Shape: d.Shape, Strides: d.Strides}
	if err := d.checkExtent(size); err != nil {
		return nil, err
	}
	a := &Array{view: v, offset: d.Offset, writable: bool(access), file: -1}
	if a.dims, err = parseDims(d.Dims, len(d.Shape)); err != nil {
		return nil, err
	}
	for _, h := range d.Halo {
		a.halo = append(a.halo, Halo{Before: h[0], After: h[1]})
	}
	return a, checkHalo(a.halo, d.Shape)
}

// checkExtent compares where the last element ends with the bytes of the memory.
func (d *description) checkExtent(itemSize int64) error {
	if len(d.Shape) != len(d.Strides) || len(d.Shape) > alloc.MaxDims {
		return alloc.ErrInvalid.Errorf(
			"shape, strides: %d and %d entries; there are as many of each, "+
				"at most %d", len(d.Shape), len(d.Strides), int(alloc.MaxDims))
	}
	if len(d.Shape) > 0 && (slices.Min(d.Shape) < 0 || slices.Min(d.Strides) < 0) || d.Offset < 0 {
		return alloc.ErrInvalid.Errorf("shape %v, strides %v, offset %d: none may be negative",
			d.Shape, d.Strides, d.Offset)
	}
	end, over := uint64(d.Offset), uint64(0) // of an array without elements
	if !slices.Contains(d.Shape, 0) {
		end, over = d.lastElement()
		end, over = end+uint64(itemSize), over|(end+uint64(itemSize))>>63
	}
	if over != 0 || end > uint64(d.Bytes) {
		return alloc.ErrInvalid.Errorf(
			"shape %v, strides %v, offset %d of %d bytes an element: they "+
				"reach beyond the %d bytes of the memory", d.Shape, d.Strides, d.Offset, itemSize,
			d.Bytes)
	}
	return nil
}

// lastElement is where the last element begins; over is not 0 where that, or the number of
// elements, is 2^63 or more.
func (d *description) lastElement() (at, over uint64) {
	at = uint64(d.Offset)
	elements := uint64(1)
	for i, n := range d.Shape {
		high, step := bits.Mul64(uint64(n-1), uint64(d.Strides[i]))
		more, product := bits.Mul64(elements, uint64(n))
		sum, carry := bits.Add64(at, step, 0)
		at, elements = sum, product
		over |= high | more | carry | at>>63 | elements>>63
	}
	return at, over
}

func parseDims(names []string, ndim int) ([]alloc.Dim, error) {
	dims := make([]alloc.Dim, len(names))
	for i, name := range names {
		d, ok := parseDim(name)
		if !ok || slices.Contains(dims[:i], d) {
			return nil, alloc.ErrInvalid.Errorf(
				"dims: %v; expected I, J, K and 0, 1, ... once each", names)
		}
		dims[i] = d
	}
	if len(names) != ndim {
		return nil, alloc.ErrInvalid.Errorf("dims: %v for %d indices", names, ndim)
	}
	return dims, nil
}

func parseDim(name string) (alloc.Dim, bool) {
	for d := alloc.I; d <= alloc.K; d++ {
		if d.String() == name {
			return d, true
		}
	}
	n, err := strconv.ParseUint(name, 10, 31)
	return alloc.Dim(n), err == nil
}
