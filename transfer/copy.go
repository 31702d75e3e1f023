package transfer

import (
	"context"
	"runtime"
	"time"

	"gridbuf/internal/stop"
	"gridbuf/internal/work"
)

// Slice is how long a copy runs before it looks whether it should go on.
const Slice = 50 * time.Millisecond

// Options of a copy or fill; the zero value is right for most.
type Options struct {
	// asked first and after every Slice, ends the work; nil: nothing does
	Context  context.Context
	Progress func(done float64) // called after every Slice, and at the end with 1; nil: not
}

// Copy copies the values of src into dst, which has the same shape. See the package
// comment for conversions and overlap.
func Copy(dst, src View, opts Options) error {
	var pins runtime.Pinner // memory of Go's stays in place, C's is not touched
	defer pins.Unpin()
	pins.Pin(dst.Data)
	pins.Pin(src.Data)
	return opts.finish(func() (*Job, error) { return PlanCopy(dst, src) })
}

// Fill sets every element of dst to value; see [PlanFill].
func Fill(dst View, value any, opts Options) error {
	var pins runtime.Pinner
	defer pins.Unpin()
	pins.Pin(dst.Data)
	return opts.finish(func() (*Job, error) { return PlanFill(dst, value) })
}

// finish runs a job to its end.
func (o *Options) finish(plan func() (*Job, error)) error {
	if err := stop.Asked(o.Context); err != nil {
		return err
	}
	job, err := plan()
	if err != nil {
		return err
	}
	defer job.Free()
	for {
		done, err := job.Run(time.Duration(work.Slice))
		if err != nil {
			return err
		}
		if o.Progress != nil {
			o.Progress(job.Progress())
		}
		if done {
			return nil
		}
		if err := stop.Asked(o.Context); err != nil {
			return err
		}
	}
}
