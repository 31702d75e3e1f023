/* entries.c: the entries of a program as Python describes them, each held against its slots once
 * and for all. */
#include "slots.h"
#include "../core/args.h"
#include "../../alloc/strides.h"

enum {
    E_DST,
    E_DST_AT,
    E_DST_STRIDES,
    E_SRC,
    E_SRC_AT,
    E_SRC_STRIDES,
    E_SHAPE,
    E_DTYPE,
    E_MODE,
    E_COUNT
};

typedef struct side {
    const char *name;
    const gb_py_slot *slot;
    int64_t number, at, strides[GB_COPY_DIMS];
} side;

static int read_side(PyObject *tuple, int first, Py_ssize_t number, const gb_py_slot *slots,
                     Py_ssize_t n_slots, int ndim, side *s) {
    char arg[64];
    snprintf(arg, sizeof arg, "entries[%zd]: %s slot", number, s->name);
    if (gb_py_int64(PyTuple_GetItem(tuple, first), arg, "an int", &s->number) < 0) return -1;
    if (s->number < 0 || s->number >= n_slots)
        return gb_py_fail(PyExc_ValueError, "%s: %lld; there are %zd", arg, (long long)s->number,
                          n_slots);
    s->slot = &slots[s->number];
    snprintf(arg, sizeof arg, "entries[%zd]: %s offset", number, s->name);
    if (gb_py_int64(PyTuple_GetItem(tuple, first + 1), arg, "an int", &s->at) < 0) return -1;
    snprintf(arg, sizeof arg, "entries[%zd]: %s strides", number, s->name);
    int n = gb_py_ints(PyTuple_GetItem(tuple, first + 2), arg, s->strides, GB_COPY_DIMS);
    if (n >= 0 && n != ndim)
        PyErr_Format(PyExc_ValueError, "%s: %d of them; the shape has %d sizes", arg, n, ndim);
    return n == ndim ? 0 : -1;
}

/* The box lies inside the slot. Shapes without elements touch nothing. */
static int within(const side *s, Py_ssize_t number, const int64_t *shape, int ndim, int64_t item) {
    int64_t low, end;
    int bad = gb_reach(shape, s->strides, ndim, item, &low, &end) >= 0 ||
              __builtin_add_overflow(low, s->at, &low) || __builtin_add_overflow(end, s->at, &end);
    if (!bad && low >= s->slot->low && end <= s->slot->end) return 0;
    if (bad)
        PyErr_Format(PyExc_ValueError, "entries[%zd]: %s: the box reaches beyond 64 bits", number,
                     s->name);
    else
        PyErr_Format(PyExc_ValueError,
                     "entries[%zd]: %s: bytes %lld to %lld of slot %lld, which has %lld to %lld",
                     number, s->name, (long long)low, (long long)end, (long long)s->number,
                     (long long)s->slot->low, (long long)s->slot->end);
    return -1;
}

/* Position of the sign bit; 0 where the dtype has none. */
static int sign_of(PyArray_Descr *descr, gb_program_copy *copy) {
    int item = (int)copy->item, kind = descr->kind;
    int unit = kind == 'c' ? item / 2 : kind == 'f' ? item : 0, top = unit - 1;
    if (descr->type_num == NPY_LONGDOUBLE || descr->type_num == NPY_CLONGDOUBLE) {
#if defined(__x86_64__) || defined(__i386__)
        top = 9; /* 80 bits, padded */
#endif
    }
    if (descr->type_num >= NPY_USERDEF) {
        GB_PY_OWNED gb_py_dtype *d = gb_py_dtype_of(descr);
        if (!d) return -1;
        int code = d->dl_code;
        unit = code == kDLBfloat ? 2
               : code == kDLFloat8_e3m4 || code == kDLFloat8_e4m3 || code == kDLFloat8_e4m3fn ||
                       code == kDLFloat8_e5m2
                   ? 1
                   : 0;
        top = unit - 1;
    }
    if (unit == 0) return 0;
    int little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
        big = PyArray_ISNBO(descr->byteorder) ? !little : little;
    copy->sign_unit = unit;
    copy->sign_byte = big ? unit - 1 - top : top;
    return 1;
}

static int read_mode(PyObject *obj, Py_ssize_t number, PyArray_Descr *descr,
                     gb_program_copy *copy) {
    int64_t mode;
    char arg[64];
    snprintf(arg, sizeof arg, "entries[%zd]: mode", number);
    if (gb_py_int64(obj, arg, "an int", &mode) < 0) return -1;
    if (mode & ~(int64_t)(GB_PROGRAM_SIGN | GB_PROGRAM_ADD | GB_PROGRAM_CLEAR))
        return gb_py_fail(PyExc_ValueError, "%s: %R is no sum of SIGN, ADD and CLEAR", arg, obj);
    copy->mode = (int)mode;
    copy->type = PyArray_ISNBO(descr->byteorder) ? gb_py_type_of_descr(descr) : GB_RAW;
    int has = mode & GB_PROGRAM_SIGN ? sign_of(descr, copy) : 1;
    if (has == 0 && mode & GB_PROGRAM_ADD && (descr->kind == 'i' || descr->kind == 'u'))
        return 0; /* integers are subtracted */
    if (has == 0)
        PyErr_Format(PyExc_TypeError, "entries[%zd]: elements of dtype %S have no sign bit to flip",
                     number, descr);
    return has == 1 ? 0 : -1;
}

static int read_tuple(PyObject *tuple, Py_ssize_t number, const gb_py_slot *slots,
                      Py_ssize_t n_slots, PyArray_Descr *descr, gb_program *program) {
    char arg[64];
    int64_t shape[GB_COPY_DIMS];
    side dst = {.name = "target"}, src = {.name = "source"};
    snprintf(arg, sizeof arg, "entries[%zd]: shape", number);
    int n = gb_py_ints(PyTuple_GetItem(tuple, E_SHAPE), arg, shape, GB_COPY_DIMS - 1), empty = 0;
    if (n < 0 || read_side(tuple, E_DST, number, slots, n_slots, n, &dst) < 0) return -1;
    if (read_side(tuple, E_SRC, number, slots, n_slots, n, &src) < 0) return -1;
    gb_program_copy copy = {
        .dst_slot = (int32_t)dst.number,
        .src_slot = (int32_t)src.number,
        .dst_at = dst.at,
        .src_at = src.at,
        .item = PyDataType_ELSIZE(descr),
        .ndim = n,
        .shape = shape,
        .dst_strides = dst.strides,
        .src_strides = src.strides,
    };
    if (read_mode(PyTuple_GetItem(tuple, E_MODE), number, descr, &copy) < 0) return -1;
    for (int i = 0; i < n; i++) {
        if (shape[i] < 0)
            return gb_py_fail(PyExc_ValueError, "%s: a size of %lld", arg, (long long)shape[i]);
        empty |= shape[i] == 0;
    }
    for (int i = 0; i < n; i++)
        if (!empty && shape[i] > 1 &&
            (dst.strides[i] == 0 || (src.strides[i] == 0 && copy.mode & GB_PROGRAM_CLEAR)))
            return gb_py_fail(
                PyExc_ValueError,
                "entries[%zd]: %s strides: 0 along axis %d would write one place %lld times",
                number, dst.strides[i] ? "source" : "target", i, (long long)shape[i]);
    if (!dst.slot->writable || (copy.mode & GB_PROGRAM_CLEAR && !src.slot->writable))
        return gb_py_fail(PyExc_ValueError, "entries[%zd]: %s: slot %lld is not writable", number,
                          dst.slot->writable ? "source" : "target",
                          (long long)(dst.slot->writable ? src.number : dst.number));
    if (empty) return 0;
    if (within(&dst, number, shape, n, copy.item) < 0 ||
        within(&src, number, shape, n, copy.item) < 0)
        return -1;
    switch (gb_program_append(program, &copy)) {
    case GB_COPY_OK: return 0;
    case GB_COPY_NO_MEMORY: return gb_py_no_memory();
    case GB_COPY_NO_CAST:
        return gb_py_fail(PyExc_TypeError, "entries[%zd]: elements of dtype %S cannot be added",
                          number, descr);
    default: return gb_py_fail(PyExc_ValueError, "%s: more elements than 64 bits can count", arg);
    }
}

int gb_py_entry_read(PyObject *obj, Py_ssize_t number, const gb_py_slot *slots, Py_ssize_t n_slots,
                     gb_program *program) {
    GB_PY_OWNED PyArray_Descr *descr = NULL;
    GB_PY_OWNED PyObject *tuple = PySequence_Tuple(obj);
    if (!tuple) return -1;
    if (PyTuple_Size(tuple) != E_COUNT)
        return gb_py_fail(PyExc_ValueError,
                          "entries[%zd]: %zd items; there are %d: target slot, offset, strides, "
                          "source slot, offset, "
                          "strides, shape, dtype, mode",
                          number, PyTuple_Size(tuple), E_COUNT);
    if (!PyArray_DescrConverter(PyTuple_GetItem(tuple, E_DTYPE), &descr)) return -1;
    if (gb_py_descr_trivially_copyable(descr))
        return read_tuple(tuple, number, slots, n_slots, descr, program);
    return gb_py_fail(PyExc_TypeError, "entries[%zd]: elements of dtype %R are not plain bytes",
                      number, descr);
}
