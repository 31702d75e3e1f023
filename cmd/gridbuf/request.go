package main

import (
	"cmp"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"gridbuf/alloc"
)

// request is what options say of an array.
type request struct {
	spec  alloc.Spec
	dtype alloc.Type
	halo  [][2]int64 // nil: none was given
}

// options has the flags of a request; their values are text until parse reads them.
type options struct {
	*flag.FlagSet
	backend, dtype, dims, halo, aligned, layout, padding, device, memory *string
	byteAlignment                                                        *int64
}

func newOptions(name, arguments string) *options {
	set := flag.NewFlagSet(name, flag.ContinueOnError)
	set.Usage = func() {
		write(set.Output(), "usage: gridbuf %s %s [options]\n", name, arguments)
		set.PrintDefaults()
	}
	o := &options{
		FlagSet: set,
		backend: set.String("backend", "", "a `preset`: gt:cpu_ifirst, dace:cpu, C, ... "+
			"(default GRIDBUF_BACKEND, or C)"),
		dtype: set.String("dtype", "float64", "the element `type`: float64, f4, bool, ..."),
		dims:  set.String("dims", "", "the `names` of the indices in order, such as KJI"),
		halo:  set.String("halo", "", "for each index `N|LOW:HIGH`"),
		aligned: set.String(
			"aligned-index", "", "the element on the boundary, `N` for each index"),
		layout: set.String(
			"layout", "", "`KJI`, from the largest stride on; or a rank for each index"),
		padding: set.String(
			"padding", "", "`yes|no|ITEMS`: rows to the alignment, or to ITEMS"),
		device:        set.String("device", "", "`cpu|gpu[:N]`"),
		memory:        set.String("memory", "", "`pinned|managed`"),
		byteAlignment: set.Int64("byte-alignment", 0, "a power of two, in `BYTES`"),
	}
	set.StringVar(o.dims, "dimensions", "", "as --dims")
	set.StringVar(o.dims, "axes", "", "as --dims")
	return o
}

// split separates the words before the first option from the options, each with all of its words:
// --halo 3 3 0 is one option with the value "3 3 0".
func split(arguments []string) (words, options []string) {
	for _, word := range arguments {
		isOption := len(word) > 1 && word[0] == '-' && (word[1] < '0' || word[1] > '9')
		switch {
		case isOption:
			options = append(options, word)
		case options == nil:
			words = append(words, word)
		case strings.Contains(options[len(options)-1], "="):
			options[len(options)-1] += " " + word
		default:
			options[len(options)-1] += "=" + word
		}
	}
	return words, options
}

// parse reads the options and the shape.
func (o *options) parse(shape, arguments []string) (*request, error) {
	if err := parse(o.FlagSet, arguments); err != nil {
		return nil, err
	}
	r := &request{spec: alloc.Spec{ByteAlignment: *o.byteAlignment}}
	for _, read := range []func(*request) error{
		func(r *request) (err error) { r.spec.Shape, err = numbers("shape", shape); return err },
		o.readType, o.readPreset, o.readDims, o.readHalo, o.readLayout, o.readPadding, o.readDevice,
	} {
		if err := read(r); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func numbers(name string, words []string) ([]int64, error) {
	found := make([]int64, len(words))
	for i, word := range words {
		n, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%s: %q is not a number", name, word)
		}
		found[i] = n
	}
	return found, nil
}

func list(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' })
}

func (o *options) readType(r *request) error {
	word := strings.TrimLeft(*o.dtype, "<=|")
	for t := alloc.Bool; t.Known(); t++ {
		short := string(t.Kind()) + strconv.FormatInt(t.Size(), 10)
		if word == t.String() || word == short || word == string(t.Char()) {
			r.dtype, r.spec.ItemSize = t, t.Size()
			return nil
		}
	}
	return fmt.Errorf("--dtype: %q is not known; give such as float64, f4 or bool", *o.dtype)
}

func (o *options) readPreset(r *request) (err error) {
	name := *o.backend
	if name == "" && *o.layout == "" {
		name = os.Getenv("GRIDBUF_BACKEND")
	}
	if name != "" {
		r.spec.Preset, err = alloc.FindPreset(name)
	}
	return err
}

func (o *options) readDims(r *request) (err error) {
	if *o.dims != "" {
		r.spec.Dims, err = alloc.ParseDims(strings.Join(list(*o.dims), dimsSeparator(*o.dims)))
	}
	return err
}

func dimsSeparator(dims string) string {
	if strings.ContainsAny(strings.TrimSpace(dims), " ,") {
		return ","
	}
	return ""
}

func (o *options) readHalo(r *request) error {
	for _, word := range list(*o.halo) {
		low, high, pair := strings.Cut(word, ":")
		if !pair {
			high = low
		}
		widths, err := numbers("--halo", []string{low, high})
		if err != nil || widths[0] < 0 || widths[1] < 0 {
			return fmt.Errorf("--halo: %q is not a number of 0 or more or a LOW:HIGH pair", word)
		}
		r.halo = append(r.halo, [2]int64{widths[0], widths[1]})
		r.spec.AlignedIndex = append(r.spec.AlignedIndex, widths[0])
	}
	if r.halo != nil && len(r.halo) != len(r.spec.Shape) {
		return fmt.Errorf("--halo: %d entries for %d indices", len(r.halo), len(r.spec.Shape))
	}
	if words := list(*o.aligned); len(words) > 0 {
		given, err := numbers("--aligned-index", words)
		r.spec.AlignedIndex = given
		return err
	}
	return nil
}

// readLayout turns names into ranks.
func (o *options) readLayout(r *request) error {
	words := list(*o.layout)
	if len(words) == 0 {
		return nil
	}
	if ranks, err := numbers("--layout", words); err == nil && len(words) == len(r.spec.Shape) {
		for _, rank := range ranks {
			if rank != int64(int32(rank)) {
				rank = -1 // no rank either
			}
			r.spec.Layout = append(r.spec.Layout, int32(rank))
		}
		return nil
	}
	order, err := alloc.ParseDims(strings.Join(words, dimsSeparator(*o.layout)))
	if err != nil {
		return fmt.Errorf("--layout: %w", err)
	}
	dims := r.spec.Dims
	if dims == nil {
		dims = alloc.DefaultDims(len(r.spec.Shape))
	}
	for _, dim := range dims {
		r.spec.Layout = append(r.spec.Layout, int32(slices.Index(order, dim)))
	}
	if len(order) != len(dims) || slices.Contains(r.spec.Layout, -1) {
		return fmt.Errorf("--layout: %q does not name the indices %s once each", *o.layout,
			alloc.DimsString(dims))
	}
	return nil
}

func (o *options) readPadding(r *request) error {
	switch *o.padding {
	case "":
	case "yes":
		r.spec.Padding = alloc.PadToBoundary
	case "no":
		r.spec.Padding = alloc.PadNone
	default:
		items, err := strconv.ParseInt(*o.padding, 10, 64)
		if err != nil || items < 1 {
			return fmt.Errorf("--padding: %q is not yes, no or a number of items", *o.padding)
		}
		r.spec.Padding = items
	}
	return nil
}

func (o *options) readDevice(r *request) error {
	name, number, numbered := strings.Cut(*o.device, ":")
	kinds := map[string]alloc.Device{"": alloc.AnyDevice, "cpu": alloc.CPU, "gpu": alloc.GPU}
	id, err := strconv.Atoi(cmp.Or(number, "0"))
	device, known := kinds[name]
	if !known || err != nil || id < 0 || (numbered && number == "") {
		return fmt.Errorf("--device: %q is not cpu, gpu or gpu:N", *o.device)
	}
	memories := map[string]alloc.Memory{
		"": alloc.Plain, "pinned": alloc.Pinned, "managed": alloc.Managed,
	}
	memory, known := memories[*o.memory]
	if !known {
		return fmt.Errorf("--memory: %q is not pinned or managed", *o.memory)
	}
	r.spec.Device, r.spec.DeviceID, r.spec.Memory = device, id, memory
	return nil
}

// printer writes lines and keeps the first error.
type printer struct {
	out io.Writer
	err error
}

func (p *printer) line(text string, values ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.out, text+"\n", values...)
	}
}
