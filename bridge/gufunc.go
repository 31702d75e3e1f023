package bridge

// #include "gufunc.h"
import "C"

import (
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"gridbuf/alloc"
	"gridbuf/gufunc"
	"gridbuf/gufunc/kernels"
	"gridbuf/internal/handover"
	"gridbuf/internal/message"
)

// gufuncs numbers the gufuncs that Python holds.
var gufuncs = struct {
	sync.RWMutex
	last int64
	byID map[int64]*gufunc.GUFunc
}{byID: map[int64]*gufunc.GUFunc{}}

// with is what guard runs: body, with the gufunc that has the number. Inlined, it would be in the extension once for each export.
//
//go:noinline
func with(id C.int64_t, body func(g *gufunc.GUFunc) error) func() error {
	return func() error {
		gufuncs.RLock()
		g := gufuncs.byID[int64(id)]
		gufuncs.RUnlock()
		if g == nil {
			return alloc.ErrUnavailable.Errorf("gufunc: number %d is not known", int64(id))
		}
		return body(g)
	}
}

func refused(format string, args ...any) error {
	return &gufunc.SignatureError{Message: message.Format(format, args...), At: -1}
}

func newGUFunc(name, signature string, flags gufunc.Flags, info *C.gb_bridge_gufunc_info) error {
	g, err := gufunc.New(name, signature, nil, flags)
	if err != nil {
		return err
	}
	return register(g, info)
}

func builtinGUFunc(name string, info *C.gb_bridge_gufunc_info) error {
	g, err := kernels.New(name)
	if err != nil {
		return err
	}
	return register(g, info)
}

func dropGUFunc(id int64) error {
	gufuncs.Lock()
	delete(gufuncs.byID, id)
	gufuncs.Unlock()
	return nil
}

// register gives the gufunc a number and describes its signature.
func register(g *gufunc.GUFunc, info *C.gb_bridge_gufunc_info) error {
	s := g.Signature
	info.nin, info.nout, info.ndims = C.int32_t(s.Inputs), C.int32_t(s.Outputs()), C.int32_t(len(s.Dims))
	info.nkernels = C.int32_t(g.Kernels())
	var names, sizes strings.Builder
	for _, d := range s.Dims {
		names.WriteString(d.Name + "\n")
		sizes.WriteString(strconv.Itoa(int(d.Size)))
		if d.Computed() {
			sizes.WriteByte('c')
		}
		if d.Optional {
			sizes.WriteByte('?')
		}
		sizes.WriteByte('\n')
	}
	for _, o := range s.Operands {
		for _, u := range o.Dims {
			sizes.WriteString(strconv.Itoa(int(u.Dim)) + " ")
		}
		sizes.WriteByte('\n')
	}
	if len(s.Uniforms) > len(info.uniform_types) {
		return refused("signature: %d uniform parameters; at most %d are allowed", len(s.Uniforms), len(info.uniform_types))
	}
	info.nuniforms = C.int32_t(len(s.Uniforms))
	for i, u := range s.Uniforms {
		names.WriteString(u.Name + "\n")
		info.uniform_types[i] = C.uint8_t(u.Type)
	}
	if names.Len() >= C.GB_BRIDGE_NAMES {
		return refused("signature: its names have %d bytes together; at most %d are allowed", names.Len(), int(C.GB_BRIDGE_NAMES-1))
	}
	if err := writeText(text(&info.text[0], C.int64_t(len(info.text))), names.String()+sizes.String()); err != nil {
		return err
	}
	gufuncs.Lock()
	defer gufuncs.Unlock()
	gufuncs.last++
	gufuncs.byID[gufuncs.last] = g
	info.id = C.int64_t(gufuncs.last)
	return nil
}

func addKernel(g *gufunc.GUFunc, spec *C.gb_bridge_kernel_spec, number *C.int32_t) error {
	k := gufunc.Kernel{
		Form: gufunc.Form(spec.form), Function: uintptr(spec.function), Data: uintptr(spec.data),
		Exclusive: spec.flags&C.GB_GU_EXCLUSIVE != 0, OneWorker: spec.flags&C.GB_GU_ONE_WORKER != 0, Pure: spec.flags&C.GB_GU_PURE != 0,
		Bounded: spec.flags&C.GB_GU_MEASURED == 0, Raises: spec.flags&C.GB_GU_RAISES != 0, Folds: spec.flags&C.GB_GU_FOLDS != 0,
		Generated: spec.flags&C.GB_BRIDGE_GENERATED != 0,
	}
	for _, t := range spec.types[:spec.ntypes] {
		k.Types = append(k.Types, gufunc.Type(t))
	}
	if spec.go_name != nil {
		registered, err := gufunc.Lookup(C.GoString(spec.go_name))
		if err != nil {
			return err
		}
		k.Go = registered.Kernel
	}
	n, err := g.Add(k)
	*number = C.int32_t(n)
	return err
}

func kernelTypes(g *gufunc.GUFunc, kernel int, types *C.uint8_t) error {
	k, err := g.Kernel(kernel)
	for i, t := range k.Types {
		unsafe.Slice(types, len(k.Types))[i] = C.uint8_t(t)
	}
	return err
}

func selectKernel(g *gufunc.GUFunc, types, weak, asked []C.uint8_t, casting gufunc.Casting, number *C.int32_t) error {
	args, wanted := make([]gufunc.TypeArg, len(types)), make([]gufunc.Type, len(asked))
	for i := range args {
		args[i] = gufunc.TypeArg{Type: gufunc.Type(types[i] &^ C.GB_BRIDGE_SWAPPED), Weak: gufunc.Weak(weak[i]), Swapped: types[i]&C.GB_BRIDGE_SWAPPED != 0}
	}
	for i := range wanted {
		wanted[i] = gufunc.Type(asked[i])
	}
	var k int
	var err error
	if len(wanted) == 0 {
		k, err = g.SelectKernel(args)
	} else {
		k, err = g.SelectAsked(args, wanted, casting)
	}
	*number = C.int32_t(k)
	return err
}

func resolve(g *gufunc.GUFunc, encoding []int64, call **C.gb_gu_call) error {
	request, err := readRequest(encoding)
	if err != nil {
		return err
	}
	c, err := g.Resolve(request)
	if err != nil {
		return err
	}
	*call = (*C.gb_gu_call)(handover.Call(c))
	(*call).flags |= C.GB_GU_NEW_OUTPUTS // the extension allocates them (invoke.c)
	return nil
}

func turnShapes(g *gufunc.GUFunc, encoding []int64) error {
	request, err := readRequest(encoding)
	if err != nil {
		return err
	}
	return g.TurnShapes(request)
}

func goNames(room []byte) error { return writeText(room, strings.Join(gufunc.RegisteredNames(), "\n")) }

func goKernel(name string, signature, types []byte) error {
	r, err := gufunc.Lookup(name)
	if err != nil {
		return err
	}
	if err := writeText(signature, r.Signature); err != nil {
		return err
	}
	return writeText(types, r.Types)
}

func text(room *C.char, n C.int64_t) []byte { return unsafe.Slice((*byte)(unsafe.Pointer(room)), n) }

// writeText writes s and a closing zero; a text that is too long is cut only where it
// is meant for reading (a panic), else refused.
func writeText(room []byte, s string) error {
	if len(s) >= len(room) {
		return alloc.ErrUnavailable.Errorf("a text of %d bytes needs %d, %d are there", len(s), len(s)+1, len(room))
	}
	room[copy(room, s)] = 0
	return nil
}
