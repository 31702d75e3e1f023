package share

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"gridbuf/alloc"
	"gridbuf/internal/stop"
)

// backlog is how many clients may wait to be accepted; the system may allow fewer.
const backlog = 4096

// listen makes the socket file. The socket of a server that is gone is replaced, one where a server
// answers is refused, and so is any other file.
func listen(ctx context.Context, file string, mode os.FileMode) (*net.UnixListener, error) {
	if mode&^os.ModePerm != 0 {
		return nil, alloc.ErrInvalid.Errorf("mode: %q; give permission bits, such as 0600", mode)
	}
	unlock, err := lock(ctx, file, patience)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := removeStale(ctx, file); err != nil {
		return nil, err
	}
	socket, err := makeSocket()
	if err != nil {
		return nil, refused(file, err)
	}
	held := os.NewFile(uintptr(socket), file)
	defer func() { _ = held.Close() }() // the listener has a descriptor of its own
	if err := syscall.Bind(socket, &syscall.SockaddrUnix{Name: file}); err != nil {
		return nil, refused(file, err)
	}
	// No process connects before Listen, so that the permissions hold from the first connection on.
	if err = os.Chmod(file, mode); err == nil {
		err = syscall.Listen(socket, backlog)
	}
	var made net.Listener
	if err == nil {
		made, err = net.FileListener(held)
	}
	if err != nil {
		_ = os.Remove(file) // the first error counts
		return nil, refused(file, err)
	}
	return made.(*net.UnixListener), nil
}

// lock keeps other servers from the folder of a file until unlock, so that two which start at the
// same time do not both replace one socket. A lock of others is waited for, as long as within.
func lock(
	ctx context.Context, file string, within time.Duration,
) (unlock func(), err error) {
	f, err := os.Open(filepath.Dir(file))
	if err != nil {
		return nil, refused(file, err)
	}
	for until := time.Now().Add(within); ; {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = f.Close() }, nil
		}
		ended, taken := stop.Asked(ctx), errors.Is(err, syscall.EWOULDBLOCK)
		again := taken && time.Now().Before(until) || errors.Is(err, syscall.EINTR)
		if ended == nil && again {
			time.Sleep(time.Millisecond)
			continue
		}
		_ = f.Close() // the first error counts
		switch {
		case ended != nil:
			return nil, ended
		case taken:
			return nil, alloc.ErrUnavailable.Errorf("address: unix:%s: another process holds the "+
				"lock of folder %s; end it, or give another path", file, filepath.Dir(file))
		}
		return nil, refused(file, err)
	}
}

func removeStale(ctx context.Context, file string) error {
	found, err := os.Lstat(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return refused(file, err)
	}
	if found.Mode().Type() != os.ModeSocket {
		return alloc.ErrInvalid.Errorf(
			"address: %s is a file and no socket; give another path", file)
	}
	conn, err := dial(ctx, file)
	if err != nil && !errors.Is(err, alloc.ErrUnavailable) {
		return err // the context's
	}
	if err == nil {
		_ = conn.Close() // the server that answers is not asked
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return alloc.ErrInvalid.Errorf("address: a server answers at %s; give another path", file)
	}
	if err := os.Remove(file); err != nil {
		return refused(file, err)
	}
	return nil
}

// refused is an error of the system, which errors.Is finds in it.
func refused(file string, err error) error {
	return &systemError{alloc.ErrUnavailable.Errorf("address: unix:%s: %v", file, err), err}
}

type systemError struct {
	error
	cause error
}

func (e *systemError) Unwrap() []error { return []error{e.error, e.cause} }
