package share

import (
	"bufio"
	"context"
	"errors"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"gridbuf/alloc"
	"gridbuf/internal/stop"
)

// Access tells whether clients may write an array.
type Access bool

// The ways to offer an array, and to attach it.
const (
	ReadOnly  Access = false
	ReadWrite Access = true
)

// Options of a server; the zero value has the defaults.
type Options struct {
	Mode os.FileMode // permissions of the socket; 0: 0600
}

// Server offers arrays at a socket. Its methods may be called by any goroutine.
type Server struct {
	listener *net.UnixListener
	file     string
	made     os.FileInfo // of the socket file
	running  sync.WaitGroup
	mu       sync.Mutex // of what follows
	closed   bool
	offers   map[string]*offer
	listed   int                        // bytes of the names of all offers in an answer
	clients  map[*net.UnixConn][]*offer // offers held by each client
	changed  chan struct{}              // closed and made anew when a client lets go
}

// offer is an array that clients attach. Its descriptors are open until it is withdrawn and no
// client holds it.
type offer struct {
	messages  map[Access][]byte // the descriptions
	files     map[Access]int
	holders   int
	attached  bool // at least once
	withdrawn bool
}

// Listen makes the socket of an address, such as "unix:/run/user/1000/ocean", and answers there
// until Close. A socket file that is there already is asked whether a server answers: the context
// ends that wait, and nothing after it.
func Listen(ctx context.Context, address string, o Options) (*Server, error) {
	if err := stop.Asked(ctx); err != nil {
		return nil, err
	}
	file, err := path(address)
	if err != nil {
		return nil, err
	}
	if o.Mode == 0 {
		o.Mode = 0o600
	}
	absolute, err := filepath.Abs(file) // for Close, whatever folder the process is in then
	if err != nil {
		return nil, refused(file, err)
	}
	listener, err := listen(ctx, file, o.Mode)
	if err != nil {
		return nil, err
	}
	made, err := os.Lstat(absolute)
	if err != nil {
		_ = listener.Close() // the first error counts
		return nil, refused(file, err)
	}
	s := &Server{
		listener: listener, file: absolute, made: made, offers: map[string]*offer{},
		clients: map[*net.UnixConn][]*offer{}, changed: make(chan struct{}),
	}
	s.running.Add(1)
	go s.accept()
	return s, nil
}

// Offer gives clients an array under a name, 1 to 200 bytes of UTF-8 that can be printed. With
// ReadWrite clients may ask for an array that they can write. The first offer of an array decides
// for good. The memory stays until Withdraw or Close, also after Free.
func (s *Server) Offer(name string, a *Array, access Access) error {
	if err := checkName(name); err != nil {
		return err
	}
	if a == nil {
		return alloc.ErrInvalid.Errorf("array: it is nil; give one of share.New")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.offers == nil:
		return alloc.ErrInvalid.Errorf("share.Server: the zero value offers nothing; use share.Listen")
	case s.closed:
		return alloc.ErrInvalid.Errorf("share.Server: it is used after Close")
	case s.offers[name] != nil:
		return alloc.ErrInvalid.Errorf("name: %q is offered already; Withdraw ends that", name)
	case s.listed+listed(name) > longest:
		return alloc.ErrInvalid.Errorf("name: %q does not fit the list of all names, which has at "+
			"most %d bytes; Withdraw others", name, int(longest))
	}
	o, err := a.offer(access)
	if err != nil {
		return err
	}
	s.offers[name] = o
	s.listed += listed(name)
	return nil
}

// listed is the bytes of a name in the answer to a request for names, and a few more.
func listed(name string) int { return len(encode(name)) }

// offer duplicates the descriptors of an array, and then decides for good whether clients may write
// it: an offer that fails decides nothing.
func (a *Array) offer(access Access) (*offer, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if fault := a.memory.Fault(); fault != "" {
		return nil, alloc.ErrInvalid.Errorf("array: %s; give one of share.New", fault)
	}
	if a.file < 0 {
		return nil, alloc.ErrInvalid.Errorf(
			"array: it was freed, or attached; give one of share.New")
	}
	if a.sealed && a.clientsWrite != access {
		return nil, alloc.ErrInvalid.Errorf(
			"access: it differs from that of an earlier offer of the array, which is permanent")
	}
	o := &offer{messages: map[Access][]byte{}, files: map[Access]int{}}
	var err error
	o.files[ReadOnly], err = openReadOnly(a.file)
	if err == nil && access == ReadWrite {
		o.files[ReadWrite], err = duplicate(a.file)
	}
	if err != nil {
		o.close()
		return nil, alloc.ErrUnavailable.Errorf(
			"array: its descriptor cannot be opened again: %v", err)
	}
	if !a.sealed {
		if err := sealForGood(a.file, access == ReadOnly); err != nil {
			o.close()
			return nil, err
		}
		a.sealed, a.clientsWrite = true, access
	}
	for each := range o.files {
		o.messages[each] = encode(describe(a, bool(each)))
	}
	return o, nil
}

func duplicate(file int) (int, error) {
	fd, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(file), syscall.F_DUPFD_CLOEXEC, 0)
	if errno != 0 {
		return -1, errno
	}
	return int(fd), nil
}

func (o *offer) close() {
	for access, file := range o.files {
		if file >= 0 {
			closeFile(file)
		}
		delete(o.files, access)
	}
}

// Withdraw ends an offer: new clients do not find it, those that hold the array keep it.
func (s *Server) Withdraw(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.offers[name]
	if o == nil {
		return s.unknown(name)
	}
	s.end(name, o)
	return nil
}

func (s *Server) end(name string, o *offer) {
	delete(s.offers, name)
	s.listed -= listed(name)
	o.withdrawn = true
	if o.holders == 0 {
		o.close()
	}
	s.announce()
}

func (s *Server) announce() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// mostNamed is how many offers an error names.
const mostNamed = 20

func (s *Server) unknown(name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	names := s.names()
	if len(names) == 0 {
		return alloc.ErrInvalid.Errorf("name: %q is not offered; nothing is", name)
	}
	if more := len(names) - mostNamed; more > 0 {
		names = append(names[:mostNamed], "and "+strconv.Itoa(more)+" more")
	}
	return alloc.ErrInvalid.Errorf("name: %q is not offered; offered are %s", name,
		strings.Join(names, ", "))
}

func (s *Server) names() []string { return slices.Sorted(maps.Keys(s.offers)) }

// Holders is how many references clients have to an array: one for each Attach that Free has not
// ended.
func (s *Server) Holders(name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.offers[name]; o != nil {
		return o.holders
	}
	return 0
}

// Wait returns when an array has been attached and no client holds the array any more, because all
// of them freed it or have ended. Their writes are seen then. The context, which may be nil, is
// asked first and while the server waits.
func (s *Server) Wait(ctx context.Context, name string) error {
	for {
		if err := stop.Asked(ctx); err != nil {
			return err
		}
		s.mu.Lock()
		o, changed := s.offers[name], s.changed
		if o == nil {
			defer s.mu.Unlock()
			return s.unknown(name)
		}
		through := o.attached && o.holders == 0
		s.mu.Unlock()
		if through {
			return nil
		}
		select {
		case <-stop.Done(ctx):
			return ctx.Err()
		case <-changed:
		}
	}
}

// Close ends all offers and connections and removes the socket; what clients hold stays theirs. A
// second Close does nothing.
func (s *Server) Close() error {
	s.mu.Lock()
	first := !s.closed
	s.closed = true
	for name, o := range s.offers {
		s.end(name, o)
	}
	for conn := range s.clients {
		closeConn(conn)
	}
	s.mu.Unlock()
	var err error
	if first {
		err = errors.Join(s.removeSocket(), s.listener.Close())
	}
	s.running.Wait()
	return err
}

// removeSocket leaves the socket of another server that has taken the path.
func (s *Server) removeSocket() error {
	if found, err := os.Lstat(s.file); err != nil || !os.SameFile(found, s.made) {
		return nil
	}
	return os.Remove(s.file)
}

func (s *Server) accept() {
	defer func() {
		_ = recover() // a panic here must not end the program
		s.running.Done()
	}()
	for {
		conn, err := s.listener.AcceptUnix()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // no descriptor is left, for now
			time.Sleep(10 * time.Millisecond)
			continue
		}
		s.mu.Lock()
		if s.closed {
			closeConn(conn)
		} else {
			s.clients[conn] = nil
			s.running.Add(1)
			go s.serve(conn)
		}
		s.mu.Unlock()
	}
}

// serve answers a client until it lets go.
func (s *Server) serve(conn *net.UnixConn) {
	defer func() {
		_ = recover() // the client is let go
		closeConn(conn)
		s.leave(conn)
		s.running.Done()
	}()
	in := bufio.NewReaderSize(conn, 512)
	for {
		var r request
		if err := receive(in, &r); err != nil {
			if errors.Is(err, alloc.ErrInvalid) {
				_ = send(conn, failure(err), -1) // to a client that is let go anyway
			}
			return
		}
		reply, file := s.reply(conn, &r)
		if reply == nil {
			continue
		}
		err := conn.SetWriteDeadline(time.Now().Add(patience)) // of a client that does not read
		if err == nil {
			err = send(conn, reply, file)
		}
		if err != nil {
			return
		}
	}
}

// reply is the answer to a request and the descriptor that goes with it, or -1; a release has no
// answer. What a client attaches is held for it from here on.
func (s *Server) reply(conn *net.UnixConn, r *request) (reply []byte, file int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case r.Version != version:
		return failure(alloc.ErrInvalid.Errorf(
			"version %d of the protocol is asked for; this server "+
				"has version %d", r.Version, int(version))), -1
	case r.Op == "names":
		return encode(answer{Version: version, Names: s.names()}), -1
	case r.Op == "release":
		s.release(conn)
		return nil, -1
	case r.Op != "attach":
		return failure(alloc.ErrInvalid.Errorf("op %q is not known; known are attach, names "+
			"and release",
			r.Op[:min(len(r.Op), 40)])), -1
	}
	o := s.offers[r.Name]
	if o == nil {
		return failure(s.unknown(r.Name)), -1
	}
	file, ok := o.files[Access(r.Writable)]
	if !ok {
		return failure(alloc.ErrInvalid.Errorf(
			"writable: %q is offered for reading only", r.Name)), -1
	}
	o.holders++
	o.attached = true
	s.clients[conn] = append(s.clients[conn], o)
	return o.messages[Access(r.Writable)], file
}

func failure(err error) []byte { return encode(answer{Version: version, Error: err.Error()}) }

// leave ends what a client holds, and forgets it.
func (s *Server) leave(conn *net.UnixConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.release(conn)
	delete(s.clients, conn)
}

// release ends what a client holds.
func (s *Server) release(conn *net.UnixConn) {
	held := s.clients[conn]
	s.clients[conn] = nil
	for _, o := range held {
		o.holders--
		if o.holders == 0 && o.withdrawn {
			o.close()
		}
	}
	if len(held) > 0 {
		s.announce()
	}
}
