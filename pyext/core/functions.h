/* functions.h: the functions of gridbuf._core. In C each is called gb_py_ and its
 * name. X(METH_..., name); D is the same for those that have a docstring. */
#pragma once

#include <Python.h>

/* clang-format off */
#define GB_PY_FUNCTIONS(X, D) \
    X(O, values) \
    D(O, host_array) \
    X(O, import_capsule) \
    D(NAMED, from_dlpack) \
    X(VARARGS, described_memory) \
    X(FASTCALL, is_mapped) \
    X(VARARGS, set_default_backend) \
    X(NOARGS, registrations) \
    D(NOARGS, backends) \
    X(FASTCALL, preset) \
    D(NAMED, register_backend) \
    D(NAMED, empty) \
    D(NAMED, zeros) \
    D(NAMED, ones) \
    D(NAMED, full) \
    D(NAMED, plan) \
    X(NAMED, empty_elements) \
    X(FASTCALL, like) \
    X(VARARGS, explain) \
    X(NAMED, unmet) \
    X(O, typestr_bytes) \
    D(NAMED, copyto) \
    D(NAMED, fill) \
    D(NOARGS, get_num_threads) \
    X(O, cpu_quota) \
    D(O, set_num_threads) \
    X(NOARGS, numpy_handler) \
    X(VARARGS, run_with_handler) \
    X(O, set_numpy_handler) \
    X(VARARGS, memory_stats) \
    X(VARARGS, memory_set_limit) \
    X(VARARGS, memory_trim) \
    X(O, memory_live) \
    D(O, memory_id) \
    X(NOARGS, numpy_allocations) \
    X(NOARGS, machine) \
    X(VARARGS, watch_start) \
    X(NOARGS, watch_stop) \
    X(NOARGS, watch_lines) \
    X(O, watch_block) \
    X(NOARGS, watch_total) \
    X(NOARGS, watch_enter) \
    X(O, watch_leave) \
    X(O, watch_apart) \
    X(NOARGS, watch_depth) \
    X(VARARGS, watch_stand_in) \
    X(FASTCALL, elementwise) \
    X(FASTCALL, reduced) \
    X(O, constant) \
    X(FASTCALL, host_arrays) \
    X(O, host_description) \
    X(FASTCALL, known_storage) \
    X(FASTCALL, known_like) \
    X(FASTCALL, known_around) \
    X(FASTCALL, exact_add) \
    X(FASTCALL, exact_merge) \
    X(FASTCALL, checksum) \
    X(FASTCALL, spans_meet) \
    X(O, gufunc_loops) \
    X(O, fuse) \
    X(VARARGS, idle_ufunc) \
    X(O, gufunc_capsule) \
    X(NOARGS, gufunc_builtins) \
    X(VARARGS, gufunc_scalar_loop) \
    X(NOARGS, gufunc_go_names) \
    X(O, gufunc_go_kernel) \
    X(NOARGS, gufunc_panic_text) \
    X(NOARGS, cuda_start) \
    X(NOARGS, cuda_started) \
    X(NOARGS, cuda_devices) \
    X(NOARGS, cuda_count) \
    X(O, cuda_synchronize) \
    X(NOARGS, cuda_exports) \
    X(VARARGS, cuda_block) \
    X(O, cuda_set_stream) \
    X(NOARGS, cuda_get_stream) \
    X(VARARGS, cuda_copy_begin) \
    X(VARARGS, cuda_copy_sides) \
    X(FASTCALL, cuda_wait_for)
/* Parameters by kind. NAMED: METH_FASTCALL | METH_KEYWORDS. */
#define GB_PY_GIVEN_NOARGS (PyObject *self, PyObject *none)
#define GB_PY_GIVEN_O (PyObject *self, PyObject *object)
#define GB_PY_GIVEN_VARARGS (PyObject *self, PyObject *args)
#define GB_PY_GIVEN_FASTCALL (PyObject *self, PyObject *const *args, Py_ssize_t nargs)
#define GB_PY_GIVEN_NAMED \
    (PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
/* clang-format on */
#define GB_PY_DECLARE_FUNCTION_(given, name) PyObject *gb_py_##name GB_PY_GIVEN_##given;
GB_PY_FUNCTIONS(GB_PY_DECLARE_FUNCTION_, GB_PY_DECLARE_FUNCTION_)
