/* device_stream.c: what cuda/ reports, as Python's exception; where this thread's work on a GPU
 * goes, and order between streams. */
#include "driver.h"

int gb_py_cuda_raise(const gb_cuda_error *e) {
    PyObject *type = e->status == GB_CUDA_NO_MEMORY || e->status == GB_CUDA_OVER_LIMIT
                         ? PyExc_MemoryError
                     : e->status == GB_CUDA_ARGUMENT ? PyExc_ValueError
                                                     : PyExc_RuntimeError;
    return PyErr_SetString(type, e->text), -1;
}

static __thread gb_py_thread_stream current = {0, GB_PY_EVERY_GPU};

gb_cuda_stream gb_py_current_stream(void) { return current.stream; }

gb_py_thread_stream gb_py_use_stream(gb_cuda_stream stream) {
    gb_py_thread_stream before = current;
    current = (gb_py_thread_stream){stream, stream <= 2 ? GB_PY_EVERY_GPU : GB_PY_NOT_ASKED};
    return before;
}

void gb_py_use_again(gb_py_thread_stream before) { current = before; }

/* The driver is asked once, and not at all where there is one GPU. */
gb_cuda_queue gb_py_queue_for(int device) {
    gb_cuda_error e;
    if (current.device == GB_PY_NOT_ASKED && gb_cuda_owner(current.stream, &current.device, &e) < 0)
        current.device = GB_PY_EVERY_GPU; /* its first use says why */
    return (gb_cuda_queue){device,
                           current.device >= 0 && current.device != device ? 0 : current.stream};
}

int gb_py_queue_of(gb_cuda_stream stream, int device, gb_cuda_queue *queue) {
    gb_cuda_error e;
    int owner;
    if (gb_cuda_owner(stream, &owner, &e) < 0) return gb_py_cuda_raise(&e);
    *queue = (gb_cuda_queue){owner < 0 ? device : owner, stream};
    return 0;
}

int gb_py_queue_wait(gb_cuda_queue later, gb_cuda_queue earlier) {
    gb_cuda_error e;
    return gb_cuda_stream_wait_stream(later, earlier, &e) < 0 ? gb_py_cuda_raise(&e) : 0;
}
