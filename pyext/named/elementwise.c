/* elementwise.c: see elementwise.h. */
#include "elementwise.h"
#include "operators.h"
#include "../../alloc/strides.h"

#define PY_UFUNC_UNIQUE_SYMBOL gridbuf_UFUNC_API
#include <numpy/ufuncobject.h>

#define MOST_ARGS (GB_PY_ELEMENTWISE_INPUTS + 1) /* the output is the last */
#define WITHOUT_GIL 500 /* elements from which NumPy gives the GIL away, too */

/* NumPy 2's PyUFunc_GiveFloatingpointErrors(name, flags), which headers for NumPy 1 do not declare.
 */
#define GIVE_ERRORS ((int (*)(const char *, int))PyUFunc_API[46])

int gb_py_elementwise_init(PyObject *module) { return _import_umath(); }

/* ---- operands ---- */

gb_py_elements gb_py_elements_at(char *data, const int64_t *strides, int ndim, PyArray_Descr *descr,
                                 uintptr_t alignment) {
    uintptr_t bits = (uintptr_t)data;
    for (int i = 0; i < ndim; i++) bits |= (uintptr_t)strides[i];
    return (gb_py_elements){data, strides, bits & (alignment - 1) ? -1 : gb_py_code_of(descr)};
}

gb_py_elements gb_py_elements_of_array(PyArrayObject *array) {
    int type = PyArray_ISALIGNED(array) ? gb_py_code_of(PyArray_DESCR(array)) : -1;
    return (gb_py_elements){PyArray_BYTES(array), (const int64_t *)PyArray_STRIDES(array), type};
}

/* A float32 that stands for v without an overflow or an underflow. */
static int fits_float(double v) {
    float narrow = (float)v;
    return v != v || v == 0.0 ||
           (narrow - narrow == 0.0f ? (narrow < 0 ? -narrow : narrow) >= 0x1p-126f : v - v != 0.0);
}

gb_py_elements gb_py_elements_of_number(PyObject *number, int type, void *room,
                                        const int64_t *strides) {
    gb_py_elements e = {room, strides, -1};
    if (PyArray_IsScalar(number, Generic)) {
        GB_PY_OWNED PyArray_Descr *descr = PyArray_DescrFromScalar(number);
        if (descr && gb_py_code_of(descr) == type && PyDataType_ELSIZE(descr) <= 16) {
            PyArray_ScalarAsCtype(number, room);
            e.type = type;
        }
        PyErr_Clear();
        return e;
    }
    double v = 0.0;
    int overflow = 1;
    long long whole = 0;
    if (PyFloat_CheckExact(number)) {
        v = PyFloat_AsDouble(number);
        overflow = 0;
    } else if (PyLong_CheckExact(number)) {
        whole = PyLong_AsLongLongAndOverflow(number, &overflow);
        v = (double)whole;
        overflow |= whole > 1LL << 24 || whole < -(1LL << 24); /* larger ones may be rounded */
    }
    if (overflow) return e;
    if (type == NPY_DOUBLE) {
        *(double *)room = v;
        e.type = type;
    } else if (type == NPY_FLOAT && fits_float(v)) {
        *(float *)room = (float)v;
        e.type = type;
    }
    return e;
}

/* ---- short rows: NumPy's own loops spend on each call what 30 to 100 elements take ---- */

#define SHORT_ROW                                                                                \
    96 /* elements below which NumPy's iterator, which copies rows together, is quicker than its \
          loops are row by row */
#define VECTOR 32 /* bytes; two registers where they have 16 */

typedef double doubles __attribute__((vector_size(VECTOR), aligned(8), may_alias));
typedef float floats __attribute__((vector_size(VECTOR), aligned(4), may_alias));

/* The two fastest indices: n elements a row, `rows` of them. at[], step[] and next[]: an operand's
 * first element, bytes from one element and from one row to the next. */
typedef struct {
    char *at[MOST_ARGS];
    npy_intp n, rows, step[MOST_ARGS], next[MOST_ARGS];
} plane;

/* An operand whose step is 0 is one number. The output may be an operand, element for element. */
#define ROW(name, type, vector, OP, processor)                                                    \
    processor static void name(const plane *p) {                                                  \
        const char *at_a = p->at[0], *at_b = p->at[1];                                            \
        char *at_out = p->at[2];                                                                  \
        npy_intp n = p->n, width = VECTOR / (npy_intp)sizeof(type), each_a = !!p->step[0],        \
                 each_b = !!p->step[1];                                                           \
        for (npy_intp row = 0; row < p->rows; row++) {                                            \
            const type *a = (const type *)at_a, *b = (const type *)at_b, first = *a, second = *b; \
            type *out = (type *)at_out;                                                           \
            npy_intp i = 0;                                                                       \
            if (each_a && each_b) {                                                               \
                for (; i + width <= n; i += width)                                                \
                    *(vector *)(out + i) = *(const vector *)(a + i) OP * (const vector *)(b + i); \
            } else if (each_a) {                                                                  \
                for (; i + width <= n; i += width)                                                \
                    *(vector *)(out + i) = *(const vector *)(a + i) OP second;                    \
            } else if (each_b) {                                                                  \
                for (; i + width <= n; i += width)                                                \
                    *(vector *)(out + i) = first OP * (const vector *)(b + i);                    \
            }                                                                                     \
            for (; i < n; i++) out[i] = a[i * each_a] OP b[i * each_b];                           \
            at_a += p->next[0];                                                                   \
            at_b += p->next[1];                                                                   \
            at_out += p->next[2];                                                                 \
        }                                                                                         \
    }
#define ROWS(type, vector, set, processor)                  \
    ROW(add_##vector##set, type, vector, +, processor)      \
    ROW(subtract_##vector##set, type, vector, -, processor) \
    ROW(multiply_##vector##set, type, vector, *, processor) \
    ROW(divide_##vector##set, type, vector, /, processor)
ROWS(double, doubles, , )
ROWS(float, floats, , )
#ifdef __x86_64__
#define AVX2 __attribute__((target("avx2")))
#define HAS_AVX2 __builtin_cpu_supports("avx2")
ROWS(double, doubles, _avx2, AVX2)
ROWS(float, floats, _avx2, AVX2)
#else
#define HAS_AVX2 0
#endif

typedef void (*rows_function)(const plane *p);

/* NULL where there is none. */
static rows_function rows_of(PyObject *ufunc, int type) {
    static const rows_function rows[][4] = {
#ifdef __x86_64__
#define BOTH(name) {name##_doubles, name##_floats, name##_doubles_avx2, name##_floats_avx2}
#else
#define BOTH(name) {name##_doubles, name##_floats}
#endif
        [GB_PY_U_ADD] = BOTH(add),
        [GB_PY_U_SUBTRACT] = BOTH(subtract),
        [GB_PY_U_MULTIPLY] = BOTH(multiply),
        [GB_PY_U_TRUE_DIVIDE] = BOTH(divide),
    };
    if (type != NPY_DOUBLE && type != NPY_FLOAT) return NULL;
    for (int i = GB_PY_U_ADD; i <= GB_PY_U_TRUE_DIVIDE; i++)
        if (ufunc == gb_py_ufuncs[i]) return rows[i][(type == NPY_FLOAT) + (HAS_AVX2 ? 2 : 0)];
    return NULL;
}

/* ---- the loop ---- */

/* The loop of exactly these types, or -1. */
static int find_loop(const PyUFuncObject *u, const gb_py_elements *args) {
    for (int loop = 0; u->functions && loop < u->ntypes; loop++) {
        int k = 0;
        while (k < u->nargs && u->types[loop * u->nargs + k] == args[k].type) k++;
        if (k == u->nargs) return u->functions[loop] ? loop : -1;
    }
    return -1;
}

static int is_number(int type) {
    return (type >= 0 && type <= NPY_CLONGDOUBLE) || type == NPY_HALF;
}

/* Elementwise loops may write where they read, element for element. */
static int apart(const gb_py_elements *in, int64_t item, const gb_py_elements *out,
                 int64_t out_item, const int64_t *shape, int ndim) {
    intptr_t low, end, out_low, out_end;
    if (!gb_extent(in->data, shape, in->strides, ndim, item, &low, &end)) return 1;
    if (!gb_extent(out->data, shape, out->strides, ndim, out_item, &out_low, &out_end)) return 1;
    if (end <= out_low || out_end <= low) return 1;
    return in->data == out->data && item == out_item &&
           memcmp(in->strides, out->strides, (size_t)ndim * sizeof *shape) == 0;
}

/* ---- indices, the one with the largest stride of the output first, merged where all operands go
 * on as one row ---- */

typedef struct {
    int64_t size, step[MOST_ARGS];
} axis;

static int64_t magnitude(int64_t step) { return step < 0 ? -step : step; }

static int merged_axes(const gb_py_elements *args, int nargs, const int64_t *shape, int ndim,
                       axis *axes) {
    int n = 0;
    for (int i = 0; i < ndim; i++) {
        axis a = {.size = shape[i]};
        if (a.size == 1) continue;
        for (int k = 0; k < nargs; k++) a.step[k] = args[k].strides[i];
        int at = n++;
        for (; at > 0 && magnitude(axes[at - 1].step[nargs - 1]) < magnitude(a.step[nargs - 1]);
             at--)
            axes[at] = axes[at - 1];
        axes[at] = a;
    }
    int last = 0;
    for (int i = 1; i < n; i++) {
        int goes_on = 1;
        for (int k = 0; k < nargs; k++)
            goes_on &= axes[last].step[k] == axes[i].step[k] * axes[i].size;
        if (goes_on) {
            axes[i].size *= axes[last].size;
            axes[last] = axes[i];
        } else {
            axes[++last] = axes[i];
        }
    }
    return n ? last + 1 : 0;
}

/* Row by row by NumPy's loop, which may move the pointers that it is given. */
static void by_loop(const plane *p, int nargs, PyUFuncGenericFunction loop, void *data) {
    for (npy_intp row = 0; row < p->rows; row++) {
        char *at[MOST_ARGS];
        for (int k = 0; k < nargs; k++) at[k] = p->at[k] + row * p->next[k];
        loop(at, &p->n, p->step, data);
    }
}

static void run(rows_function rows, PyUFuncGenericFunction loop, void *data,
                const gb_py_elements *args, int nargs, const axis *axes, int n) {
    plane p = {.n = n ? axes[n - 1].size : 1, .rows = n > 1 ? axes[n - 2].size : 1};
    int64_t counter[GB_MAXDIMS] = {0};
    for (int k = 0; k < nargs; k++) {
        p.at[k] = args[k].data;
        if (n) p.step[k] = axes[n - 1].step[k];
        if (n > 1) p.next[k] = axes[n - 2].step[k];
    }
    for (;;) {
        if (rows) rows(&p);
        else by_loop(&p, nargs, loop, data);
        int i = n - 3;
        for (; i >= 0; i--) {
            for (int k = 0; k < nargs; k++) p.at[k] += axes[i].step[k];
            if (++counter[i] < axes[i].size) break;
            for (int k = 0; k < nargs; k++) p.at[k] -= axes[i].step[k] * axes[i].size;
            counter[i] = 0;
        }
        if (i < 0) return;
    }
}

int gb_py_elementwise_into(PyObject *ufunc, const gb_py_elements *in, int n,
                           const gb_py_elements *out, const int64_t *shape, int ndim) {
    PyUFuncObject *u = (PyUFuncObject *)ufunc;
    gb_py_elements args[MOST_ARGS];
    int64_t items[MOST_ARGS], size = 1;
    if (!gb_py_weak_numbers || Py_TYPE(ufunc) != Py_TYPE(gb_py_ufuncs[GB_PY_U_ADD])) return 0;
    if (n > GB_PY_ELEMENTWISE_INPUTS || ndim > GB_MAXDIMS || u->nin != n || u->nout != 1 ||
        u->core_enabled)
        return 0;
    for (int k = 0; k <= n; k++) {
        args[k] = k < n ? in[k] : *out;
        if (!is_number(args[k].type)) return 0;
        GB_PY_OWNED PyArray_Descr *descr = PyArray_DescrFromType(args[k].type);
        items[k] = PyDataType_ELSIZE(descr);
    }
    int loop = find_loop(u, args);
    if (loop < 0) return 0;
    for (int i = 0; i < ndim; i++) size *= shape[i];
    if (size == 0) return 1;
    for (int k = 0; k < n; k++)
        if (!apart(&args[k], items[k], out, items[n], shape, ndim)) return 0;
    axis axes[GB_MAXDIMS];
    int naxes = merged_axes(args, n + 1, shape, ndim, axes);
    for (int k = 0; naxes && k <= n; k++) {
        int64_t step = axes[naxes - 1].step[k];
        if (step != items[k] && (step != 0 || k == n)) return 0;
    }
    int is_short = naxes > 1 && axes[naxes - 1].size < SHORT_ROW;
    rows_function rows = is_short ? rows_of(ufunc, out->type) : NULL;
    if (is_short && !rows) return 0;
    PyThreadState *state = size > WITHOUT_GIL ? PyEval_SaveThread() : NULL;
    PyUFunc_clearfperr();
    run(rows, u->functions[loop], u->data ? u->data[loop] : NULL, args, n + 1, axes, naxes);
    int flags = PyUFunc_getfperr();
    if (state) PyEval_RestoreThread(state);
    if (PyErr_Occurred()) return -1;
    return flags && GIVE_ERRORS(u->name, flags) < 0 ? -1 : 1;
}

/* The strides with which an array repeats itself within the shape; 0 where it does not fit. */
static int repeated(PyArrayObject *array, const int64_t *shape, int ndim, int64_t *strides) {
    int missing = ndim - PyArray_NDIM(array);
    for (int i = 0; i < ndim; i++) {
        npy_intp size = i < missing ? 1 : PyArray_DIM(array, i - missing);
        if (size != 1 && size != shape[i]) return 0;
        strides[i] = size == 1 ? 0 : PyArray_STRIDE(array, i - missing);
    }
    return missing >= 0;
}

int gb_py_elementwise_arrays(PyObject *ufunc, PyObject *const *in, int n, PyObject *out) {
    static const int64_t zeros[GB_MAXDIMS];
    _Alignas(16) char room[GB_PY_ELEMENTWISE_INPUTS][16];
    int64_t strides[GB_PY_ELEMENTWISE_INPUTS][GB_MAXDIMS];
    gb_py_elements args[GB_PY_ELEMENTWISE_INPUTS], target;
    int type = -1;
    if (!PyArray_CheckExact(out) || !PyArray_ISWRITEABLE((PyArrayObject *)out)) return 0;
    int ndim = PyArray_NDIM((PyArrayObject *)out);
    const int64_t *shape = (const int64_t *)PyArray_DIMS((PyArrayObject *)out);
    if (n > GB_PY_ELEMENTWISE_INPUTS || ndim > GB_MAXDIMS) return 0;
    target = gb_py_elements_of_array((PyArrayObject *)out);
    for (int i = 0; i < n; i++) {
        if (!PyArray_CheckExact(in[i])) continue;
        args[i] = gb_py_elements_of_array((PyArrayObject *)in[i]);
        if (!repeated((PyArrayObject *)in[i], shape, ndim, strides[i])) return 0;
        args[i].strides = strides[i];
        type = args[i].type;
    }
    for (int i = 0; i < n; i++)
        if (!PyArray_CheckExact(in[i]))
            args[i] = gb_py_elements_of_number(in[i], type, room[i], zeros);
    return gb_py_elementwise_into(ufunc, args, n, &target, shape, ndim);
}

/* elementwise(ufunc, inputs, out): whether it was done; else for NumPy. */
PyObject *gb_py_elementwise(PyObject *self, PyObject *const *args, Py_ssize_t nargs) {
    if (nargs != 3 || !PyTuple_Check(args[1]))
        return PyErr_Format(PyExc_TypeError,
                            "elementwise() takes ufunc, a tuple of inputs and out");
    PyObject *in[GB_PY_ELEMENTWISE_INPUTS];
    Py_ssize_t n = PyTuple_Size(args[1]);
    if (n < 1 || n > GB_PY_ELEMENTWISE_INPUTS) Py_RETURN_FALSE;
    for (Py_ssize_t i = 0; i < n; i++) in[i] = PyTuple_GetItem(args[1], i);
    int done = gb_py_elementwise_arrays(args[0], in, (int)n, args[2]);
    return done < 0 ? NULL : PyBool_FromLong(done);
}
