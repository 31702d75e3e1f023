package share

import (
	"encoding/binary"
	"encoding/json"
	"io"
	"net"
	"slices"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"gridbuf/alloc"
)

const (
	version     = 1
	headerBytes = 4
	longest     = 1 << 20 // bytes of a message
	longestPath = 107
	longestName = 200
)

// request is what a client sends.
type request struct {
	Version  int    `json:"version"`
	Op       string `json:"op"`
	Name     string `json:"name,omitempty"`
	Writable bool   `json:"writable,omitempty"`
}

// answer is what a server sends: an error, names, or a description.
type answer struct {
	Version int          `json:"version"`
	Error   string       `json:"error,omitempty"`
	Names   []string     `json:"names,omitempty"`
	Array   *description `json:"array,omitempty"`
}

// description is an array in a memfd.
type description struct {
	Bytes    int64      `json:"bytes"`
	Offset   int64      `json:"offset"`
	Typestr  string     `json:"typestr"`
	Shape    []int64    `json:"shape"`
	Strides  []int64    `json:"strides"`
	Dims     []string   `json:"dims"`
	Halo     [][2]int64 `json:"halo"`
	Writable bool       `json:"writable"`
}

// encode is a message with its length before it.
func encode(content any) []byte {
	text, err := json.Marshal(content)
	if err != nil {
		panic("share: " + err.Error()) // all contents are numbers, texts and lists of them
	}
	return append(binary.LittleEndian.AppendUint32(nil, uint32(len(text))), text...)
}

// send writes a message, with a descriptor on its first byte where file is not negative.
func send(conn *net.UnixConn, message []byte, file int) error {
	var rights []byte
	if file >= 0 {
		rights = syscall.UnixRights(file)
	}
	n, _, err := conn.WriteMsgUnix(message, rights, nil)
	if err == nil && n < len(message) {
		_, err = conn.Write(message[n:])
	}
	return err
}

// closeFile gives a descriptor back. Linux does so also where it answers with an error.
func closeFile(file int) { _ = syscall.Close(file) }

// closeConn ends a connection, whose other end may have done so before.
func closeConn(conn *net.UnixConn) { _ = conn.Close() }

// receive reads a message; descriptors that come in are dropped.
func receive(from io.Reader, into any) error {
	var header [headerBytes]byte
	if _, err := io.ReadFull(from, header[:]); err != nil {
		return err
	}
	return receiveBody(from, header[:], into)
}

func receiveBody(from io.Reader, header []byte, into any) error {
	size := binary.LittleEndian.Uint32(header)
	if size > longest {
		return alloc.ErrInvalid.Errorf("a message of %d bytes; at most %d are allowed", int64(size),
			int(longest))
	}
	text := make([]byte, size)
	if _, err := io.ReadFull(from, text); err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return alloc.ErrInvalid.Errorf("a message that is not the JSON expected: %v", err)
	}
	return nil
}

// receiveFile reads a message and the descriptor that comes with it; -1 without one.
func receiveFile(conn *net.UnixConn, into any) (file int, err error) {
	var header [headerBytes]byte
	room := make([]byte, syscall.CmsgSpace(4))
	n, rights, flags, _, err := conn.ReadMsgUnix(header[:], room)
	if err != nil {
		return -1, err
	}
	file = firstFile(room[:rights])
	if _, err = io.ReadFull(conn, header[n:]); err == nil {
		err = receiveBody(conn, header[:], into)
	}
	if err == nil && file < 0 && flags&syscall.MSG_CTRUNC != 0 {
		return -1, &systemError{alloc.ErrUnavailable.Errorf("the descriptor of the memory cannot be "+
			"taken: %v; free arrays, or raise the limit of open files", syscall.EMFILE),
			syscall.EMFILE}
	}
	if err != nil && file >= 0 {
		closeFile(file)
		file = -1
	}
	return file, err
}

// firstFile is the first descriptor of control messages; others are closed.
func firstFile(control []byte) int {
	messages, _ := syscall.ParseSocketControlMessage(control)
	first := -1
	for i := range messages {
		files, _ := syscall.ParseUnixRights(&messages[i])
		for _, file := range files {
			if first < 0 {
				first = file
			} else {
				closeFile(file)
			}
		}
	}
	return first
}

// describe is what clients are told of an array.
func describe(a *Array, writable bool) answer {
	d := &description{
		Bytes: int64(len(a.mapping)), Offset: a.offset, Typestr: typestr(&a.view),
		Shape:   a.view.Shape,
		Strides: a.view.Strides, Dims: make([]string, len(a.dims)), Writable: writable,
	}
	for i, dim := range a.dims {
		d.Dims[i] = dim.String()
	}
	for _, h := range a.halo {
		d.Halo = append(d.Halo, [2]int64{h.Before, h.After})
	}
	return answer{Version: version, Array: d}
}

// checkName refuses names that JSON or a terminal would not show as they are.
func checkName(name string) error {
	if len(name) > longestName {
		return alloc.ErrInvalid.Errorf("name: it has %d bytes; give 1 to %d bytes that can be printed",
			len(name), int(longestName))
	}
	hidden := func(r rune) bool { return !unicode.IsPrint(r) }
	if name == "" || !utf8.ValidString(name) || strings.ContainsFunc(name, hidden) {
		return alloc.ErrInvalid.Errorf("name: %q; give 1 to %d bytes that can be printed", name,
			int(longestName))
	}
	return nil
}

// path is the file that an address names.
func path(address string) (string, error) {
	file, ok := strings.CutPrefix(address, "unix:")
	if !ok || file == "" || file[0] == '@' || slices.Contains([]byte(file), 0) {
		return "", alloc.ErrInvalid.Errorf("address: %q; give \"unix:\" and a socket's path", address)
	}
	if len(file) > longestPath {
		return "", alloc.ErrInvalid.Errorf("address: a path of %d bytes; a socket's has at most %d",
			len(file), int(longestPath))
	}
	return file, nil
}
