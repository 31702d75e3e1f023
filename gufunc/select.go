package gufunc

import "strings"

// TypeArg is an operand as type resolution sees it.
type TypeArg struct {
	Type    Type
	Weak    Weak // a Python number; Type does not count then
	Swapped bool // memory is in the other byte order
}

// SelectKernel finds the first kernel whose inputs can take the given types by safe
// casts. Python numbers adapt to the kernel, unless their kind is above that of all
// arrays: then they count as int64, float64 or complex128.
func (g *GUFunc) SelectKernel(inputs []TypeArg) (int, error) {
	if err := g.checkArgs(inputs); err != nil {
		return 0, err
	}
	if len(inputs) != g.Signature.Inputs {
		return 0, setupError("%s: %d inputs given, %s takes %d", g.Name, len(inputs), g.Signature, g.Signature.Inputs)
	}
	highest, strong := -1, NoType
	for _, a := range inputs {
		if r := rank(a.Type.Kind()); a.Weak == Strong && r > highest {
			highest, strong = r, a.Type
		}
	}
	fits := func(a TypeArg, to Type) bool {
		if a.Weak == Strong {
			return CanCast(a.Type, to)
		}
		if r := int(a.Weak); r > highest && !(a.Weak == WeakComplex && strong.Kind() == 'f') {
			return CanCast(weakDefault[a.Weak], to)
		}
		return rank(to.Kind()) >= int(a.Weak) && to.Kind() != 'M' && to.Kind() != 'm'
	}
	for n, k := range g.kernels.list() {
		ok := !k.Generated
		for i, a := range inputs {
			ok = ok && fits(a, k.Types[i])
		}
		if ok {
			return n, nil
		}
	}
	return 0, g.noKernel(inputs)
}

// SelectAsked finds the first kernel that has the wanted types, one for each operand and NoType where any will do, and
// whose inputs can take the given types by the casting rule; where no such kernel can, the first that has the wanted types.
func (g *GUFunc) SelectAsked(inputs []TypeArg, wanted []Type, casting Casting) (int, error) {
	if err := g.checkArgs(inputs); err != nil {
		return 0, err
	}
	if casting > Unsafe {
		return 0, setupError("casting: %s is no rule", casting)
	}
	if len(inputs) != g.Signature.Inputs || len(wanted) != len(g.Signature.Operands) {
		return 0, setupError("%s: %d inputs and %d wanted types given for %s", g.Name, len(inputs), len(wanted), g.Signature)
	}
	first := -1
	for n, k := range g.kernels.list() {
		if k.Generated {
			continue
		}
		fits := true
		for i, t := range k.Types {
			fits = fits && (wanted[i] == NoType || wanted[i] == t)
		}
		if !fits {
			continue
		}
		if first < 0 {
			first = n
		}
		reached := true
		for i, a := range inputs {
			reached = reached && (a.Weak != Strong || casting.Allows(a, k.Types[i]))
		}
		if reached {
			return n, nil
		}
	}
	if first < 0 {
		return 0, setupError("%s: no kernel has the types asked for; its kernels are %s", g.Name, g.kernelsText())
	}
	return first, nil
}

func (g *GUFunc) noKernel(inputs []TypeArg) error {
	names := make([]string, len(inputs))
	for i, a := range inputs {
		names[i] = a.Type.String()
		if a.Weak != Strong {
			names[i] = [...]string{WeakInt: "a Python int", WeakFloat: "a Python float", WeakComplex: "a Python complex"}[a.Weak]
		}
	}
	return setupError("%s: no kernel takes (%s) by safe casts; its kernels are %s", g.Name, strings.Join(names, ", "), g.kernelsText())
}

// kernelsText lists the types of the kernels.
func (g *GUFunc) kernelsText() string {
	var have []string
	for _, k := range g.kernels.list() {
		have = append(have, typesText(k.Types, g.Signature.Inputs))
	}
	if len(have) == 0 {
		return "none"
	}
	return strings.Join(have, ", ")
}
