/* on_gpu.c: programs of a GPU, queued on the thread's stream there. */
#include "program.h"

/* What is not of our pools nobody else would know to be in use. */
static int wait_here(gb_cuda_queue on) {
    GB_PY_OWNED gb_py_async_copy *all = gb_py_async_copy_new(on, on);
    return all && gb_py_async_copy_record(all) == 0 && gb_py_async_copy_wait(all, -1) > 0 ? 0 : -1;
}

int gb_py_program_launch(gb_cuda_program *program, int device, char *const *base,
                         PyObject *const *objects, int64_t n) {
    gb_cuda_error e;
    gb_cuda_queue on = gb_py_queue_for(device);
    uint64_t *bases = malloc((size_t)(n + 1) * (sizeof *bases + sizeof(gb_cuda_block *)));
    if (!bases) return PyErr_NoMemory(), -1;
    gb_cuda_block **blocks = (gb_cuda_block **)(bases + n + 1);
    int foreign = 0;
    for (int64_t i = 0; i < n; i++) {
        const gb_py_field *f = (gb_py_field *)objects[i];
        bases[i] = (uintptr_t)base[i];
        blocks[i] = gb_py_field_block(f);
        foreign |= !blocks[i] && f->geometry.nbytes > 0;
    }
    int rc = gb_cuda_program_run(program, bases, blocks, n, on, &e) < 0 ? gb_py_cuda_raise(&e) : 0;
    free(bases);
    return rc == 0 && foreign ? wait_here(on) : rc;
}

/* wait_for(*fields): until our own work on these Fields of one GPU is done, on whatever stream. */
PyObject *gb_py_cuda_wait_for(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    gb_cuda_error e;
    gb_cuda_queue on = {0};
    for (Py_ssize_t i = 0; i < n; i++) {
        if (!gb_py_is_field(args[i]))
            return PyErr_Format(PyExc_TypeError, "expected Fields, got %R", Py_TYPE(args[i]));
        gb_py_field *f = (gb_py_field *)args[i];
        gb_cuda_block *block = gb_py_field_block(f);
        if (i == 0) on = gb_py_queue_for(f->location.device);
        if (block && gb_cuda_stream_wait_block(block, on, &e) < 0)
            return gb_py_cuda_raise(&e), NULL;
    }
    return n && wait_here(on) < 0 ? NULL : Py_NewRef(Py_None);
}
