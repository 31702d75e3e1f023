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
	"gridbuf/internal/message"
	"gridbuf/internal/record"
)

// gufuncs numbers the gufuncs that Python holds.
var gufuncs = struct {
	sync.RWMutex
	last int64
	byID map[int64]*gufunc.GUFunc
}{byID: map[int64]*gufunc.GUFunc{}}

// with is what guard runs: body, with the gufunc that has the number. Inlined, it would be in the
// extension once for each export.
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
	info.nin, info.nout, info.ndims = C.int32_t(s.Inputs), C.int32_t(s.Outputs()),
		C.int32_t(len(s.Dims))
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
		return refused("signature: %d uniform parameters; at most %d are allowed", len(s.Uniforms),
			len(info.uniform_types))
	}
	info.nuniforms = C.int32_t(len(s.Uniforms))
	for i, u := range s.Uniforms {
		names.WriteString(u.Name + "\n")
		info.uniform_types[i] = C.uint8_t(u.Type)
	}
	if names.Len() >= C.GB_BRIDGE_NAMES {
		return refused("signature: its names have %d bytes together; at most %d are allowed",
			names.Len(), int(C.GB_BRIDGE_NAMES-1))
	}
	if err := writeText(text(&info.text[0], C.int64_t(len(info.text))),
		names.String()+sizes.String()); err != nil {
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
		Exclusive: spec.flags&C.GB_GU_EXCLUSIVE != 0, OneWorker: spec.flags&C.GB_GU_ONE_WORKER != 0,
		Pure:    spec.flags&C.GB_GU_PURE != 0,
		Bounded: spec.flags&C.GB_GU_MEASURED == 0, Raises: spec.flags&C.GB_GU_RAISES != 0,
		Folds:     spec.flags&C.GB_GU_FOLDS != 0,
		Generated: spec.flags&C.GB_BRIDGE_GENERATED != 0,
	}
	for _, t := range spec.types[:spec.ntypes] {
		k.Types = append(k.Types, alloc.Type(t))
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

func selectKernel(g *gufunc.GUFunc, types, weak, asked []C.uint8_t, casting uint8,
	number *C.int32_t) error {
	args, wanted := make([]gufunc.TypeArg, len(types)), make([]alloc.Type, len(asked))
	for i := range args {
		args[i] = gufunc.TypeArg{Type: alloc.Type(types[i] &^ C.GB_BRIDGE_SWAPPED),
			Weak: gufunc.Weak(weak[i]), Swapped: types[i]&C.GB_BRIDGE_SWAPPED != 0}
	}
	for i := range wanted {
		wanted[i] = alloc.Type(asked[i])
	}
	var k int
	var err error
	if len(wanted) == 0 {
		k, err = g.SelectKernel(args)
	} else {
		k, err = record.SelectAsked(g, args, wanted, casting)
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
	*call = (*C.gb_gu_call)(record.Call(c))
	(*call).flags |= C.GB_GU_NEW_OUTPUTS // the extension allocates them (invoke.c)
	return nil
}

func turnShapes(g *gufunc.GUFunc, encoding []int64) error {
	request, err := readRequest(encoding)
	if err != nil {
		return err
	}
	return record.TurnShapes(g, request)
}

func goNames(room []byte) error {
	return writeText(room, strings.Join(gufunc.RegisteredNames(), "\n"))
}

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

func text(room *C.char, n C.int64_t) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(room)), n)
}

// writeText writes s and a closing zero; a text that is too long is cut only where it
// is meant for reading (a panic), else refused.
func writeText(room []byte, s string) error {
	if len(s) >= len(room) {
		return alloc.ErrUnavailable.Errorf("a text of %d bytes needs %d, %d are there", len(s),
			len(s)+1, len(room))
	}
	room[copy(room, s)] = 0
	return nil
}

//export gbridge_gufunc_new
func gbridge_gufunc_new(name, signature *C.char, flags C.int32_t, info *C.gb_bridge_gufunc_info,
	e *C.gb_error) C.int {
	return guard(e, func() error {
		return newGUFunc(C.GoString(name), C.GoString(signature),
			gufunc.Flags(flags), info)
	})
}

//export gbridge_gufunc_builtin
func gbridge_gufunc_builtin(name *C.char, info *C.gb_bridge_gufunc_info, e *C.gb_error) C.int {
	return guard(e, func() error { return builtinGUFunc(C.GoString(name), info) })
}

//export gbridge_gufunc_drop
func gbridge_gufunc_drop(id C.int64_t, e *C.gb_error) C.int {
	return guard(e, func() error { return dropGUFunc(int64(id)) })
}

//export gbridge_gufunc_add
func gbridge_gufunc_add(id C.int64_t, spec *C.gb_bridge_kernel_spec, number *C.int32_t,
	e *C.gb_error) C.int {
	return guard(e, with(id, func(g *gufunc.GUFunc) error { return addKernel(g, spec, number) }))
}

//export gbridge_gufunc_types
func gbridge_gufunc_types(id C.int64_t, kernel C.int32_t, types *C.uint8_t, e *C.gb_error) C.int {
	return guard(e, with(id, func(g *gufunc.GUFunc) error {
		return kernelTypes(g, int(kernel),
			types)
	}))
}

//export gbridge_gufunc_select
func gbridge_gufunc_select(id C.int64_t, types, weak *C.uint8_t, n C.int32_t, wanted *C.uint8_t,
	nwanted, casting C.int32_t, number *C.int32_t, e *C.gb_error) C.int {
	return guard(e, with(id, func(g *gufunc.GUFunc) error {
		return selectKernel(g, unsafe.Slice(types, n), unsafe.Slice(weak, n),
			unsafe.Slice(wanted, nwanted), uint8(casting), number)
	}))
}

//export gbridge_gufunc_resolve
func gbridge_gufunc_resolve(id C.int64_t, encoding *C.int64_t, n C.int64_t, call **C.gb_gu_call,
	e *C.gb_error) C.int {
	return guard(e, with(id, func(g *gufunc.GUFunc) error {
		return resolve(g,
			unsafe.Slice((*int64)(encoding), n), call)
	}))
}

//export gbridge_gufunc_turn_shapes
func gbridge_gufunc_turn_shapes(id C.int64_t, encoding *C.int64_t, n C.int64_t,
	e *C.gb_error) C.int {
	return guard(e, with(id, func(g *gufunc.GUFunc) error {
		return turnShapes(g,
			unsafe.Slice((*int64)(encoding), n))
	}))
}

//export gbridge_gufunc_add_state
func gbridge_gufunc_add_state(id C.int64_t, k *C.gb_gu_state_kernel, types *C.uint8_t, n,
	anyOrder C.int32_t, number *C.int32_t, e *C.gb_error) C.int {
	return guard(e, with(id, func(g *gufunc.GUFunc) error {
		return addState(g, k, unsafe.Slice((*uint8)(types), n), anyOrder != 0, number)
	}))
}

//export gbridge_gufunc_reduce
func gbridge_gufunc_reduce(id C.int64_t, encoding *C.int64_t, n C.int64_t, r **C.gb_gu_reduction,
	e *C.gb_error) C.int {
	return guard(e, with(id, func(g *gufunc.GUFunc) error {
		return planReduction(g,
			unsafe.Slice((*int64)(encoding), n), r)
	}))
}

//export gbridge_gufunc_fuse
func gbridge_gufunc_fuse(encoding *C.int64_t, n C.int64_t, program **C.gb_gu_fused,
	e *C.gb_error) C.int {
	return guard(e, func() error { return fuse(unsafe.Slice((*int64)(encoding), n), program) })
}

//export gbridge_gufunc_go_names
func gbridge_gufunc_go_names(names *C.char, room C.int64_t, e *C.gb_error) C.int {
	return guard(e, func() error { return goNames(text(names, room)) })
}

//export gbridge_gufunc_go_kernel
func gbridge_gufunc_go_kernel(name, signature, types *C.char, room C.int64_t, e *C.gb_error) C.int {
	return guard(e, func() error {
		return goKernel(C.GoString(name), text(signature, room),
			text(types, room))
	})
}

//export gbridge_gufunc_panic_text
func gbridge_gufunc_panic_text(room *C.char, n C.int64_t, e *C.gb_error) C.int {
	return guard(e, func() error { return writeText(text(room, n), gufunc.LastPanic()) })
}

func addState(g *gufunc.GUFunc, k *C.gb_gu_state_kernel, types []uint8, anyOrder bool,
	number *C.int32_t) error {
	state := gufunc.StateKernel{
		Step: uintptr(unsafe.Pointer(k.step)), Merge: uintptr(unsafe.Pointer(k.merge)),
		Final: uintptr(unsafe.Pointer(k.final)),
		Data:  uintptr(k.data), Init: C.GoBytes(k.init, C.int(k.size)), AnyOrder: anyOrder,
	}
	for _, t := range types {
		state.Types = append(state.Types, alloc.Type(t))
	}
	n, err := g.AddState(state)
	*number = C.int32_t(n)
	return err
}

func planReduction(g *gufunc.GUFunc, encoding []int64, r **C.gb_gu_reduction) error {
	request, err := readReduceRequest(encoding)
	if err != nil {
		return err
	}
	planned, err := g.PlanReduction(request)
	if err != nil {
		return err
	}
	*r = (*C.gb_gu_reduction)(record.Reduction(planned))
	return nil
}

// A program to fuse crosses the border as a list of 64-bit integers: how many inputs there are and
// their types, the same of the parameters; how many steps, and of each its kind, function, data,
// how many values it takes and which, how many it gives and their types; how many outputs, and
// which values they are.

func (r *reader) list() []int64 { return r.take(r.take(1)[0]) }

func (r *reader) types() []alloc.Type {
	var types []alloc.Type
	for _, t := range r.list() {
		types = append(types, alloc.Type(t))
	}
	return types
}

func (r *reader) values() []int {
	var values []int
	for _, v := range r.list() {
		values = append(values, int(v))
	}
	return values
}

func readFused(encoding []int64) (*gufunc.Fused, error) {
	r := reader{encoding: encoding}
	inputs, parameters := r.types(), r.types()
	var steps []gufunc.Step
	for n := r.take(1)[0]; n > 0 && !r.short; n-- {
		head := r.take(3)
		s := gufunc.Step{
			Kind: gufunc.StepKind(head[0]), Function: uintptr(head[1]), Data: uintptr(head[2]),
		}
		s.In, s.Out = r.values(), r.types()
		steps = append(steps, s)
	}
	outputs := r.values()
	if r.short {
		return nil, refused("a program of %d integers ends too early", len(encoding))
	}
	fused, err := record.Fuse(inputs, parameters, steps, outputs)
	if err != nil {
		return nil, err
	}
	return fused.(*gufunc.Fused), nil
}

func fuse(encoding []int64, program **C.gb_gu_fused) error {
	fused, err := readFused(encoding)
	if err == nil {
		*program = (*C.gb_gu_fused)(record.Fused(fused))
	}
	return err
}
