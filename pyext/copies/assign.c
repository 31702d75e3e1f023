/* assign.c: gridbuf.copyto, gridbuf.fill and the values of ones, full and their like. Each copy
 * goes to the kernels on the host, to the driver, or, for what neither does (objects, strings of
 * another length, ...), to NumPy. */
#include "../core/references.h"
#include "../core/upcall.h"
#include "../device/device.h"
#include "../exchange/exchange.h"
#include "../storage/storage.h"

/* A storage with memory on two sides marks its host side as modified. Takes the reference. */
static PyObject *mark_written(PyObject *dst, PyObject *done) {
    if (!done || !gb_py_is_storage(dst)) return done;
    Py_DECREF(done);
    return gb_py_upcall_on(dst, GB_PY_OF_STORAGE_WRITTEN, "()");
}

/* Store a Python number in memory of any type, or of floats. 1: done; 0: not this simply; -1: an
 * error. */
static int put_number(PyObject *dst, PyObject *value, int floats, PyObject *progress) {
    gb_py_memory m;
    int number = PyFloat_CheckExact(value) || PyLong_CheckExact(value);
    if (!number || !gb_py_memory_of(dst, &m) || (floats && !PyTypeNum_ISFLOAT(m.descr->type_num)))
        return 0;
    return gb_py_refuse_readonly(&m) < 0 ? -1
                                         : gb_py_fill_number(&m.view, m.descr, value, progress);
}

/* ---- copyto ---- */

/* Keywords of copyto (casting and progress) or, with casting NULL, of fill (progress). */
static int read_keywords(const char *has, PyObject *const *values, PyObject *kwnames,
                         PyObject **casting, PyObject **progress) {
    for (Py_ssize_t i = 0; i < PyTuple_Size(kwnames); i++) {
        PyObject *name = PyTuple_GetItem(kwnames, i);
        if (casting && PyUnicode_CompareWithASCIIString(name, "casting") == 0) *casting = values[i];
        else if (PyUnicode_CompareWithASCIIString(name, "progress") == 0)
            *progress = values[i] == Py_None ? NULL : values[i];
        else
            return gb_py_fail(PyExc_TypeError,
                              "%s() has no argument %R; it has dst, %s and progress",
                              casting ? "copyto" : "fill", name, has);
    }
    if (*progress && !PyCallable_Check(*progress))
        return gb_py_fail(PyExc_TypeError,
                          "progress: expected a function of a float from 0 to 1, got %R",
                          *progress);
    return 0;
}

/* Copy by position: names have been matched before. */
static PyObject *copied(PyObject *to, PyObject *from, NPY_CASTING rule, PyObject *casting,
                        PyObject *progress) {
    int done = rule == NPY_SAME_KIND_CASTING || rule == NPY_UNSAFE_CASTING
                   ? put_number(to, from, 1, progress)
                   : 0;
    if (!done) done = gb_py_copy_objects(to, from, rule, progress);
    if (done) return done < 0 ? NULL : Py_NewRef(Py_None);
    int on_device = gb_py_has_cuda_interface(to);
    if (on_device == 0) on_device = gb_py_has_cuda_interface(from);
    if (on_device > 0) on_device = gb_py_device_copyto(to, from, rule, progress);
    if (on_device) return on_device < 0 ? NULL : mark_written(to, Py_NewRef(Py_None));
    /* NumPy copies any other kind of memory or dtype. */
    return mark_written(to, gb_py_upcall_to(GB_PY_UP_COPYTO, "(OOOO)", to, from,
                                            casting ? casting : Py_None,
                                            progress ? progress : Py_None));
}

PyObject *gb_py_copyto(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    PyObject *casting = NULL, *progress = NULL;
    if (nargs != 2)
        return PyErr_Format(PyExc_TypeError,
                            "copyto() takes dst and src, got %zd positional arguments", nargs);
    if (kwnames && read_keywords("src, casting", args + nargs, kwnames, &casting, &progress) < 0)
        return NULL;
    NPY_CASTING rule = NPY_SAME_KIND_CASTING;
    if (casting && !PyArray_CastingConverter(casting, &rule)) return NULL;
    GB_PY_OWNED PyObject *values = gb_py_fitted(args[0], args[1], "src");
    return values ? copied(args[0], values, rule, casting, progress) : NULL;
}

/* ---- fill ---- */

/* Fill by the kernels. 1: done; 0: no kernel for this dtype; -1: an error. The value is converted
 * before dst's memory is looked at. */
static int fill(PyObject *dst, PyObject *value, const char *argument, PyObject *progress) {
    gb_py_memory m;
    int done = put_number(dst, value, 0, progress);
    if (done) return done;
    if (!gb_py_memory_of(dst, &m) || !gb_py_descr_trivially_copyable(m.descr)) return 0;
    if (gb_py_refuse_readonly(&m) < 0) return -1;
    GB_PY_OWNED PyArray_Descr *descr = (PyArray_Descr *)Py_NewRef((PyObject *)m.descr);
    GB_PY_OWNED PyArrayObject *one = gb_py_element(descr, value);
    int rc = -1;
    gb_copy copy;
    if (!one) gb_py_prefix_error(argument, 1);
    if (one && gb_py_memory_of(dst, &m) && gb_py_refuse_readonly(&m) == 0) {
        if (m.descr != descr)
            PyErr_SetString(PyExc_RuntimeError,
                            "dst: its dtype changed while the value was converted");
        else
            rc = gb_py_copy_finish(
                &copy,
                gb_copy_plan_fill(&copy, &m.view, PyArray_DATA(one), GB_RAW, m.view.itemsize),
                progress);
    }
    return rc < 0 ? -1 : 1;
}

int gb_py_assign(PyObject *target, PyObject *value) {
    int filled = gb_py_is_one_value(value) ? fill(target, value, "fill_value", NULL) : 0;
    if (filled) return filled < 0 ? -1 : 0;
    if (gb_py_is_field(target) && gb_py_needs_driver(&((gb_py_field *)target)->location))
        return gb_py_device_assign(target, value);
    GB_PY_OWNED PyObject *array =
        gb_py_is_field(target) ? gb_py_field_numpy(target, NULL) : Py_NewRef(target);
    GB_PY_OWNED PyObject *checked = array ? gb_py_values_of(value) : NULL;
    int rc = checked ? PyArray_CopyObject((PyArrayObject *)array, checked) : -1;
    if (rc < 0) gb_py_prefix_error("fill_value", 1);
    return rc;
}

PyObject *gb_py_fill(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    PyObject *progress = NULL;
    if (nargs != 2)
        return PyErr_Format(PyExc_TypeError,
                            "fill() takes dst and value, got %zd positional arguments", nargs);
    if (kwnames && read_keywords("value", args + nargs, kwnames, NULL, &progress) < 0) return NULL;
    int on_device = gb_py_has_cuda_interface(args[0]);
    if (on_device > 0) on_device = gb_py_device_fill(args[0], args[1]);
    if (on_device < 0) {
        gb_py_prefix_error("dst", 0);
        return NULL;
    }
    if (on_device && progress) return PyObject_CallFunction(progress, "d", 1.0);
    if (on_device) Py_RETURN_NONE;
    int filled = fill(args[0], args[1], "value", progress);
    if (filled == 0)
        return mark_written(args[0], gb_py_upcall_to(GB_PY_UP_FILL, "(OOO)", args[0], args[1],
                                                     progress ? progress : Py_None));
    return filled < 0 ? NULL : Py_NewRef(Py_None);
}
