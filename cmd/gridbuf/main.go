// Command gridbuf explains layouts, lists presets and devices, and shares arrays between processes,
// on machines without Python, too:
//
//	go run ./cmd/gridbuf plan 128 128 80 --backend gt:cpu_ifirst --halo 3 3 0
//	go run ./cmd/gridbuf presets
//	go run ./cmd/gridbuf devices
//	go run ./cmd/gridbuf share unix:/tmp/ocean salt,heat 128 128 80 --halo 3 3 0 --writable
//
// Options are spelled as those of python -m gridbuf.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

// command is a subcommand: it says what it does with its arguments, and runs.
type command struct {
	name, about string
	run         func(arguments []string, out io.Writer) error
}

var commands = []command{
	{"plan", "explain strides, padding, bytes and alignment of a request", runPlan},
	{"presets", "list the layouts that have names", runPresets},
	{"devices", "list the processor and the GPUs", runDevices},
	{"share", "offer arrays to other processes at a Unix socket", runShare},
}

func main() {
	if len(os.Args) < 2 {
		usage(os.Stderr)
		os.Exit(2)
	}
	name := os.Args[1]
	if name == "-h" || name == "--help" || name == "help" {
		usage(os.Stdout)
		return
	}
	for _, c := range commands {
		if c.name == name {
			os.Exit(status(name, c.run(os.Args[2:], os.Stdout)))
		}
	}
	fmt.Fprintf(os.Stderr, "gridbuf: %q is no command\n", name)
	usage(os.Stderr)
	os.Exit(2)
}

// status is the exit status of a command, whose error is printed as one line.
func status(name string, err error) int {
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return 0
	default:
		fmt.Fprintf(os.Stderr, "gridbuf %s: %v\n", name, err)
		return 2
	}
}

func usage(out io.Writer) {
	write(out, "usage: gridbuf COMMAND ...; COMMAND --help has its options\n")
	for _, c := range commands {
		write(out, "  %-9s %s\n", c.name, c.about)
	}
}

// parse reads options. Help goes to the standard output, and an error is printed by the caller
// alone.
func parse(set *flag.FlagSet, arguments []string) error {
	set.SetOutput(io.Discard)
	err := set.Parse(arguments)
	if errors.Is(err, flag.ErrHelp) {
		set.SetOutput(os.Stdout)
		set.Usage()
	}
	return err
}

// write prints help and usage, where a stream that is closed leaves nothing to be said.
func write(out io.Writer, text string, values ...any) {
	_, _ = fmt.Fprintf(out, text, values...)
}

func none(name string, arguments []string) error {
	set := flag.NewFlagSet(name, flag.ContinueOnError)
	set.Usage = func() { write(set.Output(), "usage: gridbuf %s\n", name) }
	if err := parse(set, arguments); err != nil {
		return err
	}
	if set.NArg() > 0 {
		return fmt.Errorf("%q: no arguments are expected", set.Arg(0))
	}
	return nil
}
