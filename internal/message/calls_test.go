package message

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/constant"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type listed struct {
	ImportPath, Dir, Export string
	GoFiles, CgoFiles       []string
	Module                  *struct{ Main bool }
}

// packages lists what the extension is made of, and the other rooms, with what the compiler says of
// each to importers.
func packages(t *testing.T) (ours []listed, export map[string]string) {
	command := exec.Command("go", "list", "-export", "-deps",
		"-json=ImportPath,Dir,Export,GoFiles,CgoFiles,Module", "gridbuf/...")
	command.Stderr = os.Stderr
	out, err := command.Output()
	require.NoError(t, err)
	export = map[string]string{}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return ours, export
		} else {
			require.NoError(t, err)
		}
		export[p.ImportPath] = p.Export
		if p.Module != nil && p.Module.Main {
			ours = append(ours, p)
		}
	}
}

// Format knows fewer types and verbs than package fmt, and the compiler does not see which it is
// given.
func TestEveryCallIsUnderstood(t *testing.T) {
	ours, export := packages(t)
	files := token.NewFileSet()
	load := importer.ForCompiler(files, "gc", func(path string) (io.ReadCloser,
		error) {
		return os.Open(export[path])
	})
	seen := 0
	for _, p := range ours {
		var parsed []*ast.File
		for _, name := range append(p.GoFiles, p.CgoFiles...) {
			file, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil,
				parser.SkipObjectResolution)
			require.NoError(t, err)
			parsed = append(parsed, file)
		}
		info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{},
			Uses: map[*ast.Ident]types.Object{}}
		checker := types.Config{Importer: load, FakeImportC: true, Error: func(error) {}}
		// C's types are unknown to it, which is as well: they are not integers of Go
		_, _ = checker.Check(p.ImportPath, files, parsed, info)
		for _, file := range parsed {
			ast.Inspect(file, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok || call.Ellipsis.IsValid() {
					return true
				}
				if format, args, ok := formatted(call, info); ok {
					seen++
					assert.NoError(t, understood(format, args, info), files.Position(call.Pos()))
				}
				return true
			})
		}
	}
	assert.Greater(t, seen, 100)
}

// formatted finds the constant format of a call of Format, or of what hands it on.
func formatted(call *ast.CallExpr, info *types.Info) (format string, args []ast.Expr, ok bool) {
	name, _ := call.Fun.(*ast.Ident)
	if selector, ok := call.Fun.(*ast.SelectorExpr); ok {
		name = selector.Sel
	}
	if name == nil {
		return "", nil, false
	}
	f, ok := info.Uses[name].(*types.Func)
	if !ok || f.Pkg() == nil || f.Pkg().Path() == "fmt" {
		return "", nil, false
	}
	signature := f.Type().(*types.Signature)
	at := signature.Params().Len() - 2
	if !signature.Variadic() || at < 0 || signature.Params().At(at).Name() != "format" {
		return "", nil, false
	}
	value := info.Types[call.Args[at]].Value
	if value == nil {
		return "", nil, false
	}
	return constant.StringVal(value), call.Args[at+1:], true
}

func understood(format string, args []ast.Expr, info *types.Info) error {
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			continue
		}
		i++
		if i == len(format) {
			return errors.New("a lone %")
		}
		verb := format[i]
		if verb == '%' {
			continue
		}
		if len(args) == 0 {
			return errors.New("more verbs than arguments")
		}
		kind := typeOf(args[0], info)
		if args = args[1:]; kind == nil || kind == types.Typ[types.Invalid] {
			return errors.New("%" + string(verb) + " of a type of C: convert it")
		}
		if kind = types.Default(kind); !fits(verb, kind) {
			return errors.New("%" + string(verb) + " of type " + kind.String())
		}
	}
	if len(args) > 0 {
		return errors.New("more arguments than verbs")
	}
	return nil
}

// typeOf is an argument's type, also where something of C is converted to one of Go.
func typeOf(arg ast.Expr, info *types.Info) types.Type {
	call, ok := arg.(*ast.CallExpr)
	if !ok {
		return info.Types[arg].Type
	}
	if to := info.Types[call.Fun]; to.IsType() {
		return to.Type
	}
	if name, ok := call.Fun.(*ast.Ident); ok && name.Name == "len" {
		return types.Typ[types.Int]
	}
	if selector, ok := call.Fun.(*ast.SelectorExpr); ok && selector.Sel.Name == "GoString" {
		return types.Typ[types.String]
	}
	return info.Types[arg].Type
}

func fits(verb byte, kind types.Type) bool {
	word := types.Implements(kind, says("Error")) || types.Implements(kind, says("String")) ||
		kind == types.Typ[types.String]
	list, number := false, false
	switch kind := kind.(type) {
	case *types.Slice:
		element, ok := kind.Elem().(*types.Basic)
		list = ok && (element.Kind() == types.String || element.Kind() == types.Int ||
			element.Kind() == types.Int32 || element.Kind() == types.Int64)
	case *types.Basic:
		switch kind.Kind() {
		case types.Int, types.Int32, types.Int64, types.Uint8, types.Uint64:
			number = true
		}
	}
	switch verb {
	case 'd':
		return number || list
	case 'c':
		return number
	case 'q':
		return number || word
	case 's':
		return word
	case 'v':
		return number || word || list
	}
	return false
}

// says is an interface of one method that gives a string.
func says(method string) *types.Interface {
	result := types.NewTuple(types.NewVar(token.NoPos, nil, "", types.Typ[types.String]))
	signature := types.NewSignatureType(nil, nil, nil, nil, result, false)
	return types.NewInterfaceType([]*types.Func{types.NewFunc(token.NoPos, nil, method, signature)},
		nil).Complete()
}
