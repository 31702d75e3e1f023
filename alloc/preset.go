package alloc

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Order says how a preset turns dimensions into a layout.
type Order int

// Presets order by name; C and F are NumPy's orders, by position.
const (
	ByName Order = iota
	ByIndex
	ByIndexReversed
	ByCaller // the layout comes with every request (a Python function computes it)
)

// Preset is what a backend wants of its arrays.
type Preset struct {
	Name      string
	Order     Order
	Axes      string // for ByName: the cartesian axes, slowest first, such as "KJI"
	Alignment int64  // items; 1 pads nothing
	Device    Device
}

// The presets that always exist: gt4py 1.2's registry, GDP-3's names, NumPy's orders.
var builtin = []Preset{
	{"C", ByIndex, "", 1, CPU},
	{"F", ByIndexReversed, "", 1, CPU},
	{"numpy", ByName, "IJK", 1, CPU},
	{"debug", ByName, "IJK", 1, CPU},
	{"gt:cpu_kfirst", ByName, "IJK", 1, CPU},
	{"gt:cpu_ifirst", ByName, "KJI", 1, CPU},
	{"gt:gpu", ByName, "KJI", 32, GPU},
	{"dace:cpu", ByName, "KIJ", 1, CPU},
	{"dace:cpu_kfirst", ByName, "IJK", 1, CPU},
	{"dace:cpu_KJI", ByName, "KJI", 1, CPU},
	{"dace:gpu", ByName, "KJI", 1, GPU},
	{"dace:gpu_IJK", ByName, "IJK", 1, GPU},
	{"gtx86", ByName, "IJK", 1, CPU},
	{"gtmc", ByName, "JKI", 8, CPU},
	{"gtcuda", ByName, "KJI", 32, GPU},
	{"cuda", ByName, "KJI", 32, GPU},
}

// registry numbers presets for good: a name registered again gets a new number,
// so that plans cached under the old number stay what they were.
var registry = struct {
	sync.RWMutex
	presets []*Preset
	number  map[string]int
}{number: map[string]int{}}

func init() {
	for i := range builtin {
		registry.number[builtin[i].Name] = i
		registry.presets = append(registry.presets, &builtin[i])
	}
}

// Register adds a preset and returns its number. A built-in name cannot be taken.
func Register(p Preset) (int, error) {
	if err := checkName(p.Name); err != nil {
		return 0, err
	}
	if p.Order == ByName && sortedLetters(p.Axes) != "IJK" {
		return 0, valueErrorf("layout: %q does not order the axes; give I, J and K once each, slowest first, such as \"KJI\"", p.Axes)
	}
	if p.Alignment < 1 || p.Alignment > maxAlignment {
		return 0, valueErrorf("alignment: %d items is not in the allowed range 1 to %d", p.Alignment, int64(maxAlignment))
	}
	registry.Lock()
	defer registry.Unlock()
	if n, known := registry.number[p.Name]; known && n < len(builtin) {
		return 0, valueErrorf("name: %q is a built-in backend and cannot be replaced", p.Name)
	}
	registry.presets = append(registry.presets, &p)
	registry.number[p.Name] = len(registry.presets) - 1
	return len(registry.presets) - 1, nil
}

// A name is shown in errors and lists, one a line.
const longestName = 255

func checkName(name string) error {
	if name == "" {
		return valueErrorf("name: a backend needs a non-empty name")
	}
	if len(name) > longestName {
		return valueErrorf("name: %d bytes are too long for a backend's name; at most %d are allowed", len(name), longestName)
	}
	if i := strings.IndexFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 || !utf8.ValidString(name) {
		return valueErrorf("name: %q has a character that cannot be printed", name)
	}
	return nil
}

// PresetNumber finds a preset by name; the error lists the known ones.
func PresetNumber(name string) (int, error) {
	registry.RLock()
	n, known := registry.number[name]
	registry.RUnlock()
	if !known {
		return 0, valueErrorf("backend: %q is not known; known are %s", name, listed(Presets()))
	}
	return n, nil
}

// listed writes as many of the names as an error has room for.
func listed(names []string) string {
	const room = 500 // bytes
	text := names[0]
	for i, name := range names[1:] {
		if len(text)+len(name) > room {
			return fmt.Sprintf("%s and %d more (gridbuf.backends())", text, len(names)-1-i)
		}
		text += ", " + name
	}
	return text
}

// PresetByNumber returns the preset that Register or PresetNumber numbered; it
// never changes.
func PresetByNumber(n int) (*Preset, error) {
	registry.RLock()
	defer registry.RUnlock()
	if n < 0 || n >= len(registry.presets) {
		return nil, valueErrorf("backend: number %d is not known", n)
	}
	return registry.presets[n], nil
}

// Presets lists the names, sorted.
func Presets() []string {
	registry.RLock()
	defer registry.RUnlock()
	return slices.Sorted(maps.Keys(registry.number))
}

// layout fills out[i] with the rank of index i's stride, 0 = largest.
func (p *Preset) layout(dims []Dim, out []int32) {
	for i, d := range dims {
		switch p.Order {
		case ByIndex, ByCaller:
			out[i] = int32(i)
		case ByIndexReversed:
			out[i] = int32(len(dims) - 1 - i)
		default:
			out[i] = 0
			for _, e := range dims {
				if p.slowness(e) < p.slowness(d) {
					out[i]++
				}
			}
		}
	}
}

// slowness orders dimensions within a layout: data dimensions are the slowest,
// 0 before 1, then the cartesian axes as the preset names them.
func (p *Preset) slowness(d Dim) int64 {
	if d.IsData() {
		return int64(d)
	}
	return 1<<32 + int64(strings.IndexByte(p.Axes, "IJK"[d+3]))
}

func sortedLetters(s string) string {
	letters := strings.Split(s, "")
	slices.Sort(letters)
	return strings.Join(letters, "")
}
