package share

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"gridbuf/alloc"
	"gridbuf/internal/stop"
)

// patience is how long a client and a server wait for one another.
const patience = 10 * time.Second

// connection is a client's reference to one array. Once the array is freed, the connection waits
// for the next Attach.
type connection struct {
	*net.UnixConn
	server os.FileInfo // of the socket file: another server at the path has another file
}

var idle struct {
	sync.Mutex
	connections []connection
}

const mostIdle = 4

// connect takes a connection that waits, or makes one; used says that the server may have ended it
// meanwhile.
func connect(ctx context.Context, file string) (c connection, used bool, err error) {
	server, err := os.Stat(file)
	if err != nil {
		return connection{}, false, refused(file, err)
	}
	for c, ok := takeIdle(); ok; c, ok = takeIdle() {
		if os.SameFile(c.server, server) {
			return c, true, nil
		}
		closeConn(c.UnixConn)
	}
	conn, err := dial(ctx, file)
	return connection{conn, server}, false, err
}

func takeIdle() (c connection, ok bool) {
	idle.Lock()
	defer idle.Unlock()
	n := len(idle.connections)
	if n == 0 {
		return connection{}, false
	}
	c, idle.connections = idle.connections[n-1], idle.connections[:n-1]
	return c, true
}

// release tells the server that the array of a connection is not used any more.
func (c connection) release() {
	err := c.SetWriteDeadline(time.Now().Add(patience))
	if err == nil {
		err = send(c.UnixConn, encode(request{Version: version, Op: "release"}), -1)
	}
	idle.Lock()
	defer idle.Unlock()
	if err != nil || len(idle.connections) == mostIdle {
		closeConn(c.UnixConn)
		return
	}
	idle.connections = append(idle.connections, c)
}

// ended says whether an error is that of a connection which the server has closed.
func ended(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.EPIPE) ||
		errors.Is(err, syscall.ECONNRESET)
}

func dial(ctx context.Context, file string) (*net.UnixConn, error) {
	if ctx == nil {
		ctx = context.Background()
	}
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var d net.Dialer
	conn, err := d.DialContext(within, "unix", file)
	for errors.Is(err, syscall.EAGAIN) && within.Err() == nil { // too many wait to be accepted
		time.Sleep(time.Millisecond)
		conn, err = d.DialContext(within, "unix", file)
	}
	switch deadline, has := ctx.Deadline(); {
	case err == nil:
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case has && !time.Now().Before(deadline): // the dialer saw it first
		return nil, context.DeadlineExceeded
	default:
		return nil, refused(file, err)
	}
	return conn.(*net.UnixConn), nil
}

// ask sends a request and reads the answer; an answer that is an error is one.
func ask(ctx context.Context, conn *net.UnixConn, r request, got *answer) (file int, err error) {
	file, err = exchange(ctx, conn, r, got)
	switch {
	case err != nil && stop.Asked(ctx) != nil:
		return -1, ctx.Err()
	case errors.Is(err, alloc.ErrInvalid):
		return -1, alloc.ErrInvalid.Errorf("the server answers with %v", err)
	case errors.Is(err, alloc.ErrUnavailable): // an answer came, its descriptor did not
		return -1, err
	case err != nil:
		return -1, silent(err)
	case got.Version != version:
		err = alloc.ErrInvalid.Errorf(
			"the server has version %d of the protocol; this client has %d",
			got.Version, int(version))
	case got.Error != "":
		err = alloc.ErrInvalid.Errorf("%s", got.Error)
	}
	if err != nil && file >= 0 {
		closeFile(file)
		file = -1
	}
	return file, err
}

// exchange gives no descriptor with an error.
func exchange(ctx context.Context, conn *net.UnixConn, r request, got *answer) (file int,
	err error) {
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return -1, err
	}
	through := stop.When(ctx, func() { _ = conn.SetDeadline(time.Now()) }) // ends reading
	defer func() { _ = through() }()                                       // the answer counts
	if err := send(conn, encode(r), -1); err != nil {
		return -1, err
	}
	return receiveFile(conn, got)
}

func silent(err error) error {
	return &systemError{alloc.ErrUnavailable.Errorf("the server does not answer: %v", err), err}
}
