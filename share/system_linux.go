package share

// #cgo CFLAGS: -Wall -Wextra
// #include <linux/fcntl.h>
// #include <linux/memfd.h>
// #include <sys/syscall.h>
// #ifndef F_SEAL_FUTURE_WRITE
// #define F_SEAL_FUTURE_WRITE 0x0010
// #endif
import "C"

import (
	"strconv"
	"syscall"
	"unsafe"

	"gridbuf/alloc"
)

// createMemory makes a memfd that can neither grow nor shrink.
func createMemory(size int64) (file int, err error) {
	name := []byte("gridbuf\x00")
	fd, _, errno := syscall.Syscall(C.SYS_memfd_create, uintptr(unsafe.Pointer(&name[0])),
		C.MFD_CLOEXEC|C.MFD_ALLOW_SEALING, 0)
	if errno != 0 {
		return -1, alloc.ErrUnavailable.Errorf("memfd_create: %v", errno)
	}
	err = syscall.Ftruncate(int(fd), size)
	if err == nil {
		err = seal(int(fd), C.F_SEAL_SHRINK|C.F_SEAL_GROW)
	}
	if err != nil {
		closeFile(int(fd))
		return -1, alloc.ErrNoMemory.Errorf("cannot make %d bytes of shared memory: %v", size, err)
	}
	return int(fd), nil
}

// sealForGood settles whether clients may write: with readOnly no process maps it for writing any
// more, and only mappings that exist write. No other seal is added later.
func sealForGood(file int, readOnly bool) error {
	if readOnly {
		if err := seal(file, C.F_SEAL_FUTURE_WRITE); err != nil {
			return alloc.ErrUnavailable.Errorf(
				"access: memory cannot be sealed against writing: %v "+
					"(Linux 5.1 or newer does)", err)
		}
	}
	if err := seal(file, C.F_SEAL_SEAL); err != nil {
		return alloc.ErrUnavailable.Errorf("array: its memory cannot be sealed: %v", err)
	}
	return nil
}

// makeSocket makes a socket that no child inherits, whenever the child starts.
func makeSocket() (int, error) {
	return syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
}

func seal(file int, seals uintptr) error {
	_, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(file), C.F_ADD_SEALS, seals)
	if errno != 0 {
		return errno
	}
	return nil
}

// keepsItsSize says whether no process can take pages of a file away.
func keepsItsSize(file int) bool {
	seals, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(file), C.F_GET_SEALS, 0)
	return errno == 0 && seals&C.F_SEAL_SHRINK != 0
}

// openReadOnly opens the same memory again, for reading alone.
func openReadOnly(file int) (int, error) {
	own := "/proc/self/fd/" + strconv.Itoa(file)
	return syscall.Open(own, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
}
