/* larger_pages.c: preloaded, a kernel whose pages are larger than this one's. PAGES=65536 (and
 * HUGE=536870912) make the C library's calls answer as Linux does there: a start that is not on a
 * page is refused with EINVAL, and a length is rounded up, so that discarding half a page discards
 * all of it. What the C library and Go ask of the kernel themselves is as it was. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static uintptr_t page(void) {
    static uintptr_t bytes;
    if (!bytes) bytes = strtoul(getenv("PAGES"), NULL, 10);
    return bytes;
}

static uintptr_t up(uintptr_t n) { return (n + page() - 1) & -page(); }

static int refused(const void *p) {
    if (((uintptr_t)p & (page() - 1)) == 0) return 0;
    errno = EINVAL;
    return 1;
}

long sysconf(int name) {
    long (*real)(int) = (long (*)(int))dlsym(RTLD_NEXT, "sysconf");
    if (name == _SC_PAGESIZE) return (long)page();
    return name == _SC_PHYS_PAGES ? real(name) * 4096 / (long)page() : real(name);
}

int getpagesize(void) { return (int)page(); }

void *mmap(void *at, size_t bytes, int protection, int flags, int file, off_t offset) {
    if (flags & MAP_FIXED)
        return (void *)syscall(SYS_mmap, at, bytes, protection, flags, file, offset);
    size_t whole = up(bytes);
    if (!whole || whole + page() < whole) return errno = ENOMEM, MAP_FAILED;
    char *p = (char *)syscall(SYS_mmap, at, whole + page(), PROT_NONE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, (off_t)0);
    if (p == MAP_FAILED) return p;
    char *start = (char *)up((uintptr_t)p);
    if (start > p) syscall(SYS_munmap, p, (size_t)(start - p));
    syscall(SYS_munmap, start + whole, (size_t)(p + page() - start));
    void *mapped = (void *)syscall(SYS_mmap, start, file < 0 ? whole : bytes, protection,
                                   flags | MAP_FIXED, file, offset);
    if (mapped == MAP_FAILED) {
        int why = errno;
        syscall(SYS_munmap, start, whole);
        errno = why;
    }
    return mapped;
}

void *mmap64(void *at, size_t bytes, int protection, int flags, int file, off_t offset) {
    return mmap(at, bytes, protection, flags, file, offset);
}

int munmap(void *p, size_t bytes) {
    return refused(p) ? -1 : (int)syscall(SYS_munmap, p, up(bytes));
}
int madvise(void *p, size_t bytes, int advice) {
    return refused(p) ? -1 : (int)syscall(SYS_madvise, p, up(bytes), advice);
}
int mprotect(void *p, size_t bytes, int protection) {
    return refused(p) ? -1 : (int)syscall(SYS_mprotect, p, up(bytes), protection);
}

/* The size of a huge page is read from a file. */
int open(const char *path, int flags, ...) {
    int (*real)(const char *, int, ...) =
        (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open64");
    va_list rest;
    va_start(rest, flags);
    int mode = va_arg(rest, int);
    va_end(rest);
    const char *huge = getenv("HUGE");
    if (!huge || !strstr(path, "/hpage_pmd_size")) return real(path, flags, mode);
    int file = memfd_create("hpage_pmd_size", MFD_CLOEXEC);
    if (write(file, huge, strlen(huge)) < 0) return -1;
    lseek(file, 0, SEEK_SET);
    return file;
}

int open64(const char *path, int flags, ...) __attribute__((alias("open")));
