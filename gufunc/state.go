package gufunc

// StateKernel is a reduction that carries more than one number. Step, Merge and Final are
// C functions (see gb_gu_state_kernel in reduction.h); Init is the state before the first element.
type StateKernel struct {
	Step, Merge, Final, Data uintptr
	Init                     []byte
	Types                    []Type // of the input, then of the results
	AnyOrder                 bool   // elements may come in any order: their index does not count
}

// AddState registers a reduction with a state and returns its number.
func (g *GUFunc) AddState(k StateKernel) (int, error) {
	if err := g.ready(); err != nil {
		return 0, err
	}
	if err := checkTypes(k.Types); err != nil {
		return 0, err
	}
	if g.Signature.Inputs != 1 || len(k.Types) != len(g.Signature.Operands) {
		return 0, setupError("kernels: a reduction with a state has one input and the results of %s", g.Signature)
	}
	if k.Step == 0 || k.Merge == 0 || k.Final == 0 || len(k.Init) == 0 {
		return 0, setupError("kernels: a reduction with a state needs step, merge, final and an initial state")
	}
	return g.states.add(k), nil
}

// State is the reduction with a number.
func (g *GUFunc) State(n int) (StateKernel, error) {
	all := g.states.list()
	if n < 0 || n >= len(all) {
		return StateKernel{}, setupError("kernel: number %d of %d with a state", n, len(all))
	}
	return all[n], nil
}
