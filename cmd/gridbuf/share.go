package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"gridbuf/alloc"
	"gridbuf/internal/explain"
	"gridbuf/share"
)

// runShare offers arrays of zeros until the process is interrupted.
func runShare(arguments []string, out io.Writer) (err error) {
	o := newOptions("share", "ADDRESS NAME[,NAME...] SHAPE...")
	writable := o.Bool("writable", false, "clients may write; else the arrays stay zeros")
	mode := o.String("mode", "0600", "`permissions` of the socket, octal")
	words, options := split(arguments)
	r, err := o.parse(words[min(2, len(words)):], options)
	if err != nil {
		return err
	}
	if len(words) < 2 {
		return errors.New("address, name: expected such as share unix:/tmp/ocean salt 128 128 80")
	}
	bits, err := strconv.ParseUint(*mode, 8, 32)
	if err != nil {
		return fmt.Errorf("--mode: %q is not an octal number", *mode)
	}
	plan, err := alloc.NewPlan(&r.spec)
	if err != nil {
		return err
	}
	stop, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	server, err := share.Listen(stop, words[0], share.Options{Mode: os.FileMode(bits)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	for name := range strings.SplitSeq(words[1], ",") {
		if err := offer(server, name, plan, r, share.Access(*writable)); err != nil {
			return err
		}
	}
	p := printer{out: out}
	shape := explain.Tuple(plan.Shape())
	p.line("offered at %s: %s, each %s of %s", words[0], words[1], shape, r.dtype)
	if p.err != nil {
		return p.err
	}
	<-stop.Done()
	return nil
}

// offer leaves the memory to the server.
func offer(
	server *share.Server, name string, p *alloc.Plan, r *request, access share.Access,
) error {
	halo := make([]share.Halo, len(r.halo))
	for i, widths := range r.halo {
		halo[i] = share.Halo{Before: widths[0], After: widths[1]}
	}
	array, err := share.New(p, r.dtype, halo...)
	if err != nil {
		return err
	}
	defer array.Free()
	return server.Offer(name, array, access)
}
