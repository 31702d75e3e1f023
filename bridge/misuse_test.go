package bridge_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"gridbuf/alloc"
	"gridbuf/arrayinterface"
	"gridbuf/cudaarrayinterface"
	"gridbuf/dlpack"
	"gridbuf/exact"
	"gridbuf/gufunc"
	"gridbuf/gufunc/kernels"
	"gridbuf/internal/misuse"
	"gridbuf/transfer"
)

// No call that makes no sense ends the process, or panics with an index or a nil pointer. Package
// cuda has the same test, on the fake driver.
func TestNothingEndsTheProcess(t *testing.T) {
	plan, err := alloc.NewPlan(&alloc.Spec{Shape: []int64{3, 4}, ItemSize: 8})
	require.NoError(t, err)
	freed, err := alloc.New(plan)
	require.NoError(t, err)
	view, err := freed.View(alloc.Float64)
	require.NoError(t, err)
	closed, err := transfer.PlanFill(view, 1)
	require.NoError(t, err)
	closed.Free()
	float64s := dlpack.DataType{Code: dlpack.Float, Bits: 64, Lanes: 1}
	tensor, err := dlpack.ExportBuffer(freed, float64s)
	require.NoError(t, err)
	tensor.Free()
	given, err := dlpack.ExportBuffer(freed, float64s)
	require.NoError(t, err)
	dlpack.FromPointer(given.HandOver()).Free()
	add, err := kernels.New("add")
	require.NoError(t, err)
	inv, err := kernels.New("inv")
	require.NoError(t, err)
	array, err := gufunc.ArrayOf(freed, alloc.Float64)
	require.NoError(t, err)
	result, err := add.Call([]gufunc.Array{array, array}, nil, gufunc.Options{})
	require.NoError(t, err)
	result.Free()
	freed.Free()
	for name, room := range map[string]misuse.Room{
		"alloc": {
			Folder: "../alloc",
			Types: []any{
				(*alloc.Buffer)(nil), (*alloc.Device)(nil), (*alloc.Dim)(nil), (*alloc.Error)(nil),
				(*alloc.Explanation)(nil), (*alloc.Fact)(nil), (*alloc.Kind)(nil),
				(*alloc.Memory)(nil),
				(*alloc.Order)(nil), (*alloc.Plan)(nil), (*alloc.Preset)(nil), (*alloc.Spec)(nil),
				(*alloc.Stats)(nil), (*alloc.TB)(nil), (*alloc.Type)(nil), (*alloc.Unmet)(nil),
				(*alloc.View)(nil),
			},
			Funcs: []any{
				alloc.Check, alloc.DefaultDims, alloc.Describe, alloc.DimsString,
				alloc.FindPreset, alloc.New, alloc.NewPlan, alloc.ParseDims,
				alloc.Presets, alloc.Register, alloc.Satisfies, alloc.SetCacheBound, alloc.SetLimit,
				alloc.Statistics, alloc.Trim,
			},
			Values: []any{freed},
			Leave: []string{
				"Check: a test calls it, with itself", "SetLimit: it holds for the process",
				"SetCacheBound: it holds for the process",
			},
		},
		"transfer": {
			Folder: "../transfer",
			Types:  []any{(*transfer.Job)(nil), (*transfer.Options)(nil)},
			Funcs: []any{
				transfer.Copy, transfer.Fill, transfer.NumThreads, transfer.PlanCopy,
				transfer.PlanFill,
				transfer.SetNumThreads,
			},
			Values: []any{closed},
			Leave:  []string{"SetNumThreads: it holds for the process"},
		},
		"exact": {Folder: "../exact", Types: []any{(*exact.Sum)(nil)}},
		"dlpack": {
			Folder: "../dlpack",
			Types: []any{
				(*dlpack.Code)(nil), (*dlpack.DataType)(nil), (*dlpack.Device)(nil),
				(*dlpack.DeviceType)(nil), (*dlpack.Flags)(nil), (*dlpack.Legacy)(nil),
				(*dlpack.Managed)(nil), (*dlpack.Owner)(nil),
				(*dlpack.Tensor)(nil), (*dlpack.Version)(nil),
			},
			Funcs: []any{
				dlpack.DescribePlan, dlpack.Export, dlpack.ExportBuffer, dlpack.ExportShared,
				dlpack.ExportLegacy, dlpack.FromPointer, dlpack.Import, dlpack.ImportLegacy,
				dlpack.LegacyFromPointer, dlpack.TypeNamed, dlpack.TypeOf, dlpack.TypeOfTypestr,
			},
			Values: []any{tensor, given},
		},
		"arrayinterface": {
			Folder: "../arrayinterface",
			Types: []any{
				(*arrayinterface.Description)(nil),
				(*arrayinterface.Interface)(nil), (*arrayinterface.Layout)(nil),
				(*arrayinterface.Type)(nil),
			},
			Funcs: []any{
				arrayinterface.Describe, arrayinterface.DescribePlan, arrayinterface.NewLayout,
				arrayinterface.Parse,
				arrayinterface.ParseTypestr,
			},
		},
		"cudaarrayinterface": {
			Folder: "../cudaarrayinterface",
			Types: []any{
				(*cudaarrayinterface.Description)(nil), (*cudaarrayinterface.Interface)(nil),
				(*cudaarrayinterface.Stream)(nil),
			},
			Funcs: []any{
				cudaarrayinterface.Describe, cudaarrayinterface.DescribePlan,
				cudaarrayinterface.Parse,
				cudaarrayinterface.ParseStream,
			},
		},
		"gufunc": {
			Folder: "../gufunc",
			Types: []any{
				(*gufunc.Array)(nil), (*gufunc.Block)(nil), (*gufunc.Call)(nil),
				(*gufunc.Core)(nil), (*gufunc.CoreDim)(nil), (*gufunc.Flags)(nil),
				(*gufunc.Form)(nil),
				(*gufunc.Fused)(nil), (*gufunc.Step)(nil), (*gufunc.StepKind)(nil),
				(*gufunc.GUFunc)(nil), (*gufunc.GoKernel)(nil), (*gufunc.Kernel)(nil),
				(*gufunc.Operand)(nil), (*gufunc.Options)(nil), (*gufunc.Outcome)(nil),
				(*gufunc.ReduceOptions)(nil), (*gufunc.ReduceRequest)(nil),
				(*gufunc.Reduction)(nil),
				(*gufunc.Registered)(nil), (*gufunc.Request)(nil), (*gufunc.Result)(nil),
				(*gufunc.Signature)(nil), (*gufunc.SignatureError)(nil), (*gufunc.StateKernel)(nil),
				(*gufunc.TypeArg)(nil), (*gufunc.Uniform)(nil), (*gufunc.Use)(nil),
				(*gufunc.Weak)(nil),
			},
			Funcs: []any{
				gufunc.ArrayOf, gufunc.FromView, gufunc.CanCast, gufunc.Fuse, gufunc.LastPanic,
				gufunc.Lookup, gufunc.New, gufunc.ParseSignature,
				gufunc.ParseTypes, gufunc.Register, gufunc.RegisteredNames, gufunc.TypeOf,
			},
			Values: []any{add, inv, result},
			Leave: []string{
				"Register: a kernel without a name stays for the process",
				"GUFunc.Add: it changes the shipped gufunc",
				"GUFunc.AddState: it changes the shipped gufunc",
			},
		},
		"kernels": {
			Folder: "../gufunc/kernels", Funcs: []any{kernels.InstructionSet, kernels.Names,
				kernels.New},
		},
	} {
		t.Run(name, func(t *testing.T) { room.Check(t, 300) })
	}
}
