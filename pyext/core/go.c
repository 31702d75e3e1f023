/* go.c: the library of Go, loaded by the first call that needs it, and errors of Go as exceptions.
 */
#define _GNU_SOURCE
#include "go.h"
#include "upcall.h"

#include "../../alloc/system.h"

#include <docs.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

PyObject *gb_py_BackendError;
const gb_bridge_go *gb_py_go;
int gb_py_go_process;

int gb_py_go_init(PyObject *module) {
    GB_PY_OWNED PyObject *bases = PyTuple_Pack(2, PyExc_ValueError, PyExc_RuntimeError);
    gb_py_BackendError = bases ? PyErr_NewExceptionWithDoc("gridbuf.BackendError",
                                                           GB_PY_DOC_BackendError, bases, NULL)
                               : NULL;
    return gb_py_BackendError ? PyModule_AddObjectRef(module, "BackendError", gb_py_BackendError)
                              : -1;
}

static int refuse(gb_error *e, const char *format, ...) {
    va_list args;
    va_start(args, format);
    e->kind = GB_RUNTIME_ERROR;
    vsnprintf(e->message, sizeof e->message, format, args);
    va_end(args);
    return -1;
}

/* ---- room for Go: its runtime ends the process where it cannot make a thread, or reserve
 * addresses ---- */

/* Threads of Go's runtime beside one for each processor, and most of all (bridge/exports.go). */
enum { BESIDES = 8, MOST_THREADS = 64 };
/* Addresses that the runtime reserves, beside the stacks; and the C library for the malloc of each
 * thread. */
static const size_t RUNTIME = (size_t)1 << 30, THREAD = (size_t)128 << 20;

static void *wait_for_unlock(void *lock) {
    pthread_mutex_lock(lock);
    pthread_mutex_unlock(lock);
    return NULL;
}

/* Addresses that one call of Go may want, beside what the runtime has: an arena of its heap is
 * 64 MiB, and as much again is for what other threads map meanwhile. */
enum { CALL_MIB = 128 };

static int can_map(size_t bytes, int protection, int flags) {
    void *addresses = mmap(NULL, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
    return addresses != MAP_FAILED && munmap(addresses, bytes) == 0;
}

/* Make as many threads as Go's runtime may want, at one time, and end them again. */
static int has_room(gb_error *e) {
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    pthread_t made[MOST_THREADS];
    const char *asked = gb_setting("GOMAXPROCS");
    long processors = sysconf(_SC_NPROCESSORS_ONLN), others = asked ? atol(asked) : 0;
    if (processors < others) processors = others;
    int wanted = processors + BESIDES < MOST_THREADS ? (int)processors + BESIDES : MOST_THREADS;
    int n = 0;
    pthread_mutex_lock(&gate);
    while (n < wanted && pthread_create(&made[n], NULL, wait_for_unlock, &gate) == 0) n++;
    size_t reserved = RUNTIME + (size_t)wanted * THREAD;
    int addresses = can_map(reserved, PROT_NONE, MAP_NORESERVE);
    pthread_mutex_unlock(&gate);
    for (int i = 0; i < n; i++) pthread_join(made[i], NULL);
    if (n < wanted)
        return refuse(e,
                      "gridbuf: this needs the Go runtime, which starts up to %d threads, and the "
                      "system makes only %d: a limit "
                      "of processes (ulimit -u), of the control group (pids.max) or of addresses "
                      "(ulimit -v) stands in the way",
                      wanted, n);
    if (!addresses)
        return refuse(e,
                      "gridbuf: this needs the Go runtime, which reserves %zu MiB of addresses "
                      "beside the stacks of its threads, "
                      "and the limit of addresses (ulimit -v) leaves less",
                      reserved >> 20);
    return 0;
}

/* ---- the library, which lies beside the extension ---- */

static int open_library(gb_error *e) {
    static const gb_bridge_host host = {
#define GB_BRIDGE_HOST_ENTRY(result, name, parameters, arguments) .name = name,
        GB_BRIDGE_HOST_FUNCTIONS(GB_BRIDGE_HOST_ENTRY)};
    static const char name[] = "_go.so";
    Dl_info extension;
    char path[4096];
    const char *slash = dladdr(&gb_py_go, &extension) ? strrchr(extension.dli_fname, '/') : NULL;
    size_t folder = slash ? (size_t)(slash + 1 - extension.dli_fname) : 0;
    if (folder + sizeof name > sizeof path)
        return refuse(e, "gridbuf: the path of the extension is too long");
    if (slash) memcpy(path, extension.dli_fname, folder);
    memcpy(path + folder, name, sizeof name);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) return refuse(e, "gridbuf: Go's library cannot be loaded: %s", dlerror());
    const gb_bridge_go *(*opened)(const gb_bridge_host *) =
        (const gb_bridge_go *(*)(const gb_bridge_host *))dlsym(library, "gbridge_open");
    if (!opened) return refuse(e, "gridbuf: %s is another library", path);
    const gb_bridge_go *go = opened(&host);
    if (go->start(e) < 0) return -1; /* waits until the runtime has started */
    gb_py_go_process = gb_forked;
    __atomic_store_n(&gb_py_go, go, __ATOMIC_RELEASE);
    return 0;
}

int gb_py_go_load(gb_error *e) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    if (gb_py_go && gb_forked != gb_py_go_process)
        return refuse(e, "gridbuf: this needs the Go runtime, which a forked child does not have "
                         "once its parent has used it. Make the "
                         "call once before the fork, or start processes with multiprocessing's "
                         "'spawn' or 'forkserver'.");
    pthread_mutex_lock(&lock);
    /* Go's os package raises the soft limit of open files, which child processes would inherit. */
    struct rlimit before, now;
    int limited = getrlimit(RLIMIT_NOFILE, &before);
    int rc = 0;
    if (!gb_py_go) rc = has_room(e) < 0 ? -1 : open_library(e);
    if (limited == 0 && getrlimit(RLIMIT_NOFILE, &now) == 0 && now.rlim_cur != before.rlim_cur) {
        now.rlim_cur = before.rlim_cur;
        setrlimit(RLIMIT_NOFILE, &now);
    }
    pthread_mutex_unlock(&lock);
    return rc;
}

static int limited(int resource) {
    struct rlimit limit;
    return getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

int gb_py_go_enter(gb_error *e) {
    if (!limited(RLIMIT_AS) && !limited(RLIMIT_DATA)) return 0;
    if (can_map((size_t)CALL_MIB << 20, PROT_READ | PROT_WRITE, 0)) return 0;
    refuse(e,
           "gridbuf: this call enters the Go runtime, which may want %d MiB of addresses, and "
           "the limit of addresses or data (ulimit -v, -d) leaves less",
           CALL_MIB);
    e->kind = GB_MEMORY_ERROR;
    return -1;
}

/* gridbuf.gufunc.SignatureError is a Python class, imported at its first use. */
int gb_py_setup_error(const char *format, ...) {
    va_list args;
    va_start(args, format);
    PyObject *type = gb_py_upcall_get(GB_PY_UP_SIGNATURE_ERROR);
    GB_PY_OWNED PyObject *text = type ? PyUnicode_FromFormatV(format, args) : NULL;
    va_end(args);
    if (text) PyErr_SetObject(type, text);
    return -1;
}

int gb_py_raise(const gb_error *e) {
    PyObject *const types[] = {[GB_VALUE_ERROR] = PyExc_ValueError,
                               [GB_TYPE_ERROR] = PyExc_TypeError,
                               [GB_MEMORY_ERROR] = PyExc_MemoryError,
                               [GB_BUFFER_ERROR] = PyExc_BufferError,
                               [GB_BACKEND_ERROR] = gb_py_BackendError};
    if (e->kind == GB_SIGNATURE_ERROR) return gb_py_setup_error("%s", e->message);
    PyObject *type = (size_t)e->kind < sizeof types / sizeof *types ? types[e->kind] : NULL;
    return gb_py_fail(type ? type : PyExc_RuntimeError, "%s", e->message);
}
