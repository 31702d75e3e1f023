// Package misuse calls everything that a package exports with what makes no sense: the zero values
// of its types, values that were freed, and drawn arguments. A call may return, with an error or
// without, or panic with a sentence of ours. A fault of the Go runtime (an index, a nil pointer)
// fails the test, and a signal in C ends it.
package misuse

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// Room is a package: what it exports, and values of its types in every state that there is.
type Room struct {
	Folder string
	Types  []any // a nil pointer to each exported type: (*T)(nil)
	Funcs  []any
	// Values are pointers whose methods are called besides those of zero values: freed, done,
	// sound.
	Values []any
	told   map[string]bool
	Leave  []string // names of functions and methods, "F" or "T.M", that are not called, and why
}

// Check looks whether the room says all that its folder exports, and calls it.
func (r Room) Check(t *testing.T, rounds int) {
	t.Helper()
	r.isWhole(t)
	r.told = map[string]bool{}
	random := rand.New(rand.NewPCG(33, 6))
	for range rounds {
		for _, f := range r.Funcs {
			r.call(t, random, nameOf(f), reflect.ValueOf(f))
		}
		for _, typ := range r.Types {
			zero := reflect.New(reflect.TypeOf(typ).Elem())
			r.methods(t, random, zero)
			drawn := reflect.New(reflect.TypeOf(typ).Elem())
			if draw(random, drawn.Elem(), 0) {
				r.methods(t, random, drawn)
			}
		}
		for _, v := range r.Values {
			r.methods(t, random, reflect.ValueOf(v))
		}
	}
}

func (r Room) methods(t *testing.T, random *rand.Rand, v reflect.Value) {
	for i := range v.Type().NumMethod() {
		method := v.Type().Method(i)
		r.call(t, random, v.Type().Elem().Name()+"."+method.Name, v.Method(i))
	}
}

// call draws the arguments of a function.
func (r Room) call(t *testing.T, random *rand.Rand, name string, f reflect.Value) {
	if slices.ContainsFunc(r.Leave, func(left string) bool {
		return strings.HasPrefix(left,
			name+":")
	}) {
		return
	}
	typ := f.Type()
	args := make([]reflect.Value, typ.NumIn())
	for i := range args {
		args[i] = reflect.New(typ.In(i)).Elem()
		draw(random, args[i], 0)
	}
	defer func() {
		if fault, ok := recover().(runtime.Error); ok && !r.told[name] {
			r.told[name] = true
			t.Errorf("%s%s: %v\n%s", name, texts(args), fault, stack())
		}
	}()
	if typ.IsVariadic() {
		f.CallSlice(args)
	} else {
		f.Call(args)
	}
}

// ---- what is drawn ----

var numbers = []int64{0, 0, 1, 1, 2, 3, -1, -7, 33, 77, 1 << 40, -1 << 63, 1<<63 - 1}
var words = []string{"", "C", "add", "(n),(n)->()", "<f8", "IJK", "d->d", "\x00", "𝄞", "T{d:x:}",
	"a,b"}

// draw fills a value in. Addresses stay 0: any other one is the caller's word that memory is there.
// The result says whether anything was drawn.
func draw(random *rand.Rand, v reflect.Value, depth int) bool {
	if !v.CanSet() || depth > 4 {
		return false
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(random.IntN(2) == 0)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(numbers[random.IntN(len(numbers))])
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(numbers[random.IntN(len(numbers))]))
	case reflect.Float32, reflect.Float64:
		v.SetFloat(random.NormFloat64())
	case reflect.String:
		v.SetString(words[random.IntN(len(words))])
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		draw(random, v.Elem(), depth+1)
	case reflect.Slice:
		if random.IntN(4) > 0 {
			v.Set(reflect.MakeSlice(v.Type(), random.IntN(4), 8))
		}
		for i := range v.Len() {
			draw(random, v.Index(i), depth+1)
		}
	case reflect.Array:
		for i := range v.Len() {
			draw(random, v.Index(i), depth+1)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			draw(random, v.Field(i), depth+1)
		}
	case reflect.Interface:
		if reflect.TypeOf(ended).Implements(v.Type()) && random.IntN(2) == 0 {
			v.Set(reflect.ValueOf(ended))
		}
	default:
		return false
	}
	return true
}

// ended is a context that is done already.
var ended = func() context.Context {
	ctx, cancel := context.WithDeadline(context.Background(), time.Unix(0, 0))
	cancel()
	return ctx
}()

// ---- what there is ----

func nameOf(f any) string {
	name := runtime.FuncForPC(reflect.ValueOf(f).Pointer()).Name()
	return name[strings.LastIndexByte(name, '.')+1:]
}

// isWhole compares the room's tables with the declarations of its folder.
func (r Room) isWhole(t *testing.T) {
	t.Helper()
	said := map[string]bool{}
	for _, typ := range r.Types {
		said[reflect.TypeOf(typ).Elem().Name()] = true
	}
	for _, f := range r.Funcs {
		said[nameOf(f)] = true
	}
	paths, _ := filepath.Glob(filepath.Join(r.Folder, "*.go"))
	if len(paths) == 0 {
		t.Fatalf("%s: no files of Go", r.Folder)
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range exported(file) {
			if !said[name] {
				t.Errorf("%s exports %s, which this test does not know", path, name)
			}
		}
	}
}

// exported are the types and functions that a file declares for others; not aliases.
func exported(file *ast.File) (names []string) {
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil && d.Name.IsExported() {
				names = append(names, d.Name.Name)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				typ, ok := s.(*ast.TypeSpec)
				if !ok || typ.Assign.IsValid() || !typ.Name.IsExported() {
					continue
				}
				names = append(names, typ.Name.Name)
			}
		}
	}
	return names
}

func texts(args []reflect.Value) string {
	all := make([]string, len(args))
	for i, a := range args {
		all[i] = fmt.Sprintf("%+v", a)
	}
	return "(" + strings.Join(all, ", ") + ")"
}

// stack is where the fault was, below the functions of the runtime.
func stack() string {
	calls := make([]uintptr, 24)
	frames := runtime.CallersFrames(calls[:runtime.Callers(3, calls)])
	text := ""
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		if strings.Contains(f.Function, "gridbuf/") && !strings.Contains(f.Function, "/misuse.") {
			text += fmt.Sprintf("\t%s:%d %s\n", f.File, f.Line, f.Function)
		}
	}
	return text
}
