package kernels

import (
	"slices"

	"gridbuf/alloc"
	"gridbuf/gufunc"
	"gridbuf/gufunc/kernels/internal/loops"
)

// Names lists the kernels, sorted.
func Names() []string {
	var names []string
	for _, l := range loops.All(true) {
		names = append(names, l.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// InstructionSet is what the loops in use were compiled for.
func InstructionSet() string { return loops.InstructionSet() }

// New makes the gufunc of a name, with its float32 and float64 kernels.
func New(name string) (*gufunc.GUFunc, error) { return newOf(name, false) }

// newOf is New with the loops that suit the machine, or those for every machine.
func newOf(name string, base bool) (*gufunc.GUFunc, error) {
	var g *gufunc.GUFunc
	for _, l := range loops.All(base) {
		if l.Name != name {
			continue
		}
		form := gufunc.Form(l.Form)
		if g == nil {
			flags := gufunc.AllFlags
			if form == gufunc.StatusLoop {
				flags = 0 // a status loop reports its failures
			}
			var err error
			if g, err = gufunc.New(name, l.Signature, nil, flags); err != nil {
				return nil, err
			}
		}
		types, err := gufunc.ParseTypes(l.Types, g.Signature.Inputs, g.Signature.Outputs())
		if err != nil {
			return nil, err
		}
		if _, err := g.Add(gufunc.Kernel{Form: form, Types: types, Function: l.Address, Pure: true,
			Bounded: true, Folds: l.Folds}); err != nil {
			return nil, err
		}
	}
	if g == nil {
		return nil, alloc.ErrInvalid.Errorf("name: no kernel %q; there are %v", name, Names())
	}
	return g, addStates(g)
}

// addStates adds the reductions with a state that have the name of g.
func addStates(g *gufunc.GUFunc) error {
	for _, s := range loops.States() {
		if s.Name != g.Name {
			continue
		}
		types, err := gufunc.ParseTypes(s.Types, g.Signature.Inputs, g.Signature.Outputs())
		if err != nil {
			return err
		}
		k := gufunc.StateKernel{Step: s.Step, Merge: s.Merge, Final: s.Final, Init: s.Init,
			Types: types, AnyOrder: s.AnyOrder}
		if _, err := g.AddState(k); err != nil {
			return err
		}
	}
	return nil
}
