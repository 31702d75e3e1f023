package transfer

import (
	"context"
	"time"
)

// Slice is how long a copy runs before it looks whether it should go on.
const Slice = 50 * time.Millisecond

// Options of a copy or fill; the zero value is right for most.
type Options struct {
	Context  context.Context    // stops the work within a Slice; nil: nothing does
	Progress func(done float64) // called after every Slice, and at the end with 1; nil: not
}

// Copy copies the values of src into dst, which has the same shape. See the package
// comment for conversions and overlap.
func Copy(dst, src View, opts Options) error {
	job, err := PlanCopy(dst, src)
	return finish(job, err, opts)
}

// Fill sets every element of dst to value; see [PlanFill].
func Fill(dst View, value any, opts Options) error {
	job, err := PlanFill(dst, value)
	return finish(job, err, opts)
}

func finish(job *Job, err error, opts Options) error {
	if err != nil {
		return err
	}
	defer job.Close()
	for {
		done, err := job.Run(Slice)
		if err != nil {
			return err
		}
		if opts.Progress != nil {
			opts.Progress(job.Progress())
		}
		if done {
			return nil
		}
		if opts.Context != nil && opts.Context.Err() != nil {
			return opts.Context.Err()
		}
	}
}
