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
        return gb_py_fail(PyExc_ValueError, "entries[%zd]: %s: the box reaches beyond 64 bits",
                          number, s->name);
    return gb_py_fail(PyExc_ValueError,
                      "entries[%zd]: %s: bytes %lld to %lld of slot %lld, which has %lld to %lld",
                      number, s->name, (long long)low, (long long)end, (long long)s->number,
                      (long long)s->slot->low, (long long)s->slot->end);
}

/* Bytes of each number with a sign bit; 0: the dtype has no sign bit; -1 with an error. *top: the
 * byte of the sign, counted from the lowest. */
static int float_bytes(PyArray_Descr *descr, int item, int *top) {
    if (descr->type_num >= NPY_USERDEF) {
        GB_PY_OWNED gb_py_dtype *d = gb_py_dtype_of(descr);
        if (!d) return -1;
        int unit = 0;
        switch (d->dl_code) {
        case kDLBfloat: unit = 2; break;
        case kDLFloat8_e3m4:
        case kDLFloat8_e4m3:
        case kDLFloat8_e4m3fn:
        case kDLFloat8_e5m2: unit = 1; break;
        }
        *top = unit - 1;
        return unit;
    }
    int unit = descr->kind == 'c' ? item / 2 : descr->kind == 'f' ? item : 0;
    *top = unit - 1;
#if defined(__x86_64__) || defined(__i386__)
    if (descr->type_num == NPY_LONGDOUBLE || descr->type_num == NPY_CLONGDOUBLE)
        *top = 9; /* 80 bits, padded */
#endif
    return unit;
}

/* Set the position of the sign bit: 1; 0: the dtype has none; -1 with an error. */
static int set_sign(PyArray_Descr *descr, gb_program_copy *copy) {
    int top, unit = float_bytes(descr, (int)copy->item, &top);
    if (unit <= 0) return unit;
    int little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
    int big = PyArray_ISNBO(descr->byteorder) ? !little : little;
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
    int has = mode & GB_PROGRAM_SIGN ? set_sign(descr, copy) : 1;
    if (has == 0 && mode & GB_PROGRAM_ADD && (descr->kind == 'i' || descr->kind == 'u'))
        return 0; /* integers are subtracted */
    if (has == 0)
        PyErr_Format(PyExc_TypeError, "entries[%zd]: elements of dtype %S have no sign bit to flip",
                     number, descr);
    return has == 1 ? 0 : -1;
}

/* Sizes of the box: their number, or -1. *empty: one of them is 0. */
static int read_shape(PyObject *sizes, Py_ssize_t number, int64_t *shape, int *empty) {
    char arg[64];
    snprintf(arg, sizeof arg, "entries[%zd]: shape", number);
    int n = gb_py_ints(sizes, arg, shape, GB_COPY_DIMS - 1);
    *empty = 0;
    for (int i = 0; i < n; i++) {
        if (shape[i] < 0)
            return gb_py_fail(PyExc_ValueError, "%s: a size of %lld", arg, (long long)shape[i]);
        *empty |= shape[i] == 0;
    }
    return n;
}

/* Refuse a side that the copy writes to: one that is read-only, or whose strides lead several
 * elements to one place. */
static int check_written(const side *s, Py_ssize_t number, const int64_t *shape, int n) {
    int empty = 0;
    for (int i = 0; i < n; i++) empty |= shape[i] == 0;
    for (int i = 0; i < n && !empty; i++)
        if (shape[i] > 1 && s->strides[i] == 0)
            return gb_py_fail(
                PyExc_ValueError,
                "entries[%zd]: %s strides: 0 along axis %d would write one place %lld times",
                number, s->name, i, (long long)shape[i]);
    if (s->slot->writable) return 0;
    return gb_py_fail(PyExc_ValueError, "entries[%zd]: %s: slot %lld is not writable", number,
                      s->name, (long long)s->number);
}

static int append(gb_program *program, const gb_program_copy *copy, Py_ssize_t number,
                  PyArray_Descr *descr) {
    switch (gb_program_append(program, copy)) {
    case GB_COPY_OK: return 0;
    case GB_COPY_NO_MEMORY: return gb_py_no_memory();
    case GB_COPY_NO_CAST:
        return gb_py_fail(PyExc_TypeError, "entries[%zd]: elements of dtype %S cannot be added",
                          number, descr);
    default:
        return gb_py_fail(PyExc_ValueError,
                          "entries[%zd]: shape: more elements than 64 bits can count", number);
    }
}

static int read_tuple(PyObject *tuple, Py_ssize_t number, const gb_py_slot *slots,
                      Py_ssize_t n_slots, PyArray_Descr *descr, gb_program *program) {
    int64_t shape[GB_COPY_DIMS];
    int empty;
    side dst = {.name = "target"}, src = {.name = "source"};
    int n = read_shape(PyTuple_GetItem(tuple, E_SHAPE), number, shape, &empty);
    if (n < 0) return -1;
    if (read_side(tuple, E_DST, number, slots, n_slots, n, &dst) < 0) return -1;
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
    if (check_written(&dst, number, shape, n) < 0) return -1;
    if (copy.mode & GB_PROGRAM_CLEAR && check_written(&src, number, shape, n) < 0) return -1;
    if (empty) return 0;
    if (within(&dst, number, shape, n, copy.item) < 0) return -1;
    if (within(&src, number, shape, n, copy.item) < 0) return -1;
    return append(program, &copy, number, descr);
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
