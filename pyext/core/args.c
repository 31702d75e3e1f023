/* args.c: the arguments of a call sorted into slots, and lists of numbers and dimensions read. */
#include "args.h"
#include "attribute.h"
#include "common.h"
#include "references.h"
#include "upcall.h"

#define KEYWORD_TEXT(name, text, shared) text,
static const char *const names[GB_PY_ARG_COUNT] = {GB_PY_KEYWORDS(KEYWORD_TEXT)};
static PyObject *interned[GB_PY_ARG_COUNT];

int gb_py_args_init(PyObject *module) {
    return gb_py_intern_names(names, interned, GB_PY_ARG_COUNT);
}

void gb_py_error_with_suggestion(PyObject *type, PyObject *word, PyObject *known,
                                 PyObject *message) {
    GB_PY_OWNED PyObject *nearest =
        known && message ? gb_py_upcall_to(GB_PY_UP_SUGGESTION, "(OO)", word, known) : NULL;
    if (nearest) PyErr_Format(type, "%U%U", message, nearest);
    Py_XDECREF(known);
    Py_XDECREF(message);
}

static int unexpected(const gb_py_signature *sig, PyObject *name) {
    PyObject *known = PyList_New(0);
    for (int i = 0; known && i < GB_PY_ARG_COUNT; i++)
        if (sig->allowed & GB_PY_ARG_BIT(i) && PyList_Append(known, interned[i]) < 0)
            Py_CLEAR(known);
    gb_py_error_with_suggestion(
        PyExc_TypeError, name, known,
        PyUnicode_FromFormat("%s() got an unexpected keyword argument %R", sig->name, name));
    return -1;
}

void gb_py_unknown_keyword(const char *function, PyObject *kwargs, char **takes) {
    Py_ssize_t at = 0;
    PyObject *each = NULL, *name = NULL,
             *known = PyErr_ExceptionMatches(PyExc_TypeError) ? PyList_New(0) : NULL;
    for (; known && *takes; takes++) gb_py_append(&known, PyUnicode_FromString(*takes));
    while (known && !name && kwargs && PyDict_Next(kwargs, &at, &each, NULL))
        if (PyUnicode_Check(each) && PySequence_Contains(known, each) == 0) name = Py_NewRef(each);
    if (!name) return Py_XDECREF(known);
    PyErr_Clear();
    const char *more =
        gb_py_find_name(interned, GB_PY_ARG_COUNT, name) < 0 ? "" : ", which is for new memory";
    gb_py_error_with_suggestion(
        PyExc_TypeError, name, known,
        PyUnicode_FromFormat("%s() got an unexpected keyword argument %R%s", function, name, more));
    Py_DECREF(name);
}

int gb_py_args(const gb_py_signature *sig, PyObject *const *args, Py_ssize_t nargs,
               PyObject *kwnames, PyObject **slots) {
    memset(slots, 0, GB_PY_ARG_COUNT * sizeof *slots);
    if (nargs > sig->n_positional)
        return gb_py_fail(PyExc_TypeError,
                          "%s() takes at most %d positional arguments (%zd given); the others "
                          "need their names",
                          sig->name, sig->n_positional, nargs);
    for (Py_ssize_t i = 0; i < nargs; i++) slots[sig->positional[i]] = args[i];
    Py_ssize_t nkw = kwnames ? PyTuple_Size(kwnames) : 0;
    for (Py_ssize_t i = 0; i < nkw; i++) {
        PyObject *name = PyTuple_GetItem(kwnames, i);
        int slot = gb_py_find_name(interned, GB_PY_ARG_COUNT, name);
        if (slot < 0 || !(sig->allowed & GB_PY_ARG_BIT(slot))) return unexpected(sig, name);
        if (slots[slot])
            return gb_py_fail(PyExc_TypeError, "%s() got multiple values for argument %R",
                              sig->name, name);
        slots[slot] = args[nargs + i];
    }
    for (int i = 0; i < sig->n_required; i++)
        if (!slots[sig->positional[i]])
            return gb_py_fail(PyExc_TypeError, "%s() is missing the required argument '%s'",
                              sig->name, names[sig->positional[i]]);
    return 0;
}

/* ---- numbers ---- */

int gb_py_int64(PyObject *obj, const char *arg, const char *expected, int64_t *out) {
    int overflow = 0;
    if (PyLong_CheckExact(obj)) {
        *out = PyLong_AsLongLongAndOverflow(obj, &overflow);
    } else {
        PyObject *number = PyBool_Check(obj) ? NULL : PyNumber_Index(obj);
        if (!number) {
            if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_TypeError)) return -1;
            PyErr_Clear();
            return gb_py_fail(PyExc_TypeError, "%s: expected %s, got %R", arg, expected, obj);
        }
        *out = PyLong_AsLongLongAndOverflow(number, &overflow);
        Py_DECREF(number);
    }
    if (!overflow) return *out == -1 && PyErr_Occurred() ? -1 : 0;
    return gb_py_fail(PyExc_ValueError, "%s: %R does not fit in 64 bits", arg, obj);
}

int gb_py_bytes(PyObject *obj, const char *arg, const char **out, Py_ssize_t *size) {
    if (!PyBytes_Check(obj)) {
        PyErr_Format(PyExc_TypeError, "%s: expected bytes, got %R", arg, obj);
        return -1;
    }
    return PyBytes_AsStringAndSize(obj, (char **)out, size);
}

int gb_py_bool(PyObject *obj, const char *arg, const char *expected) {
    if (PyBool_Check(obj) || PyArray_IsScalar(obj, Bool)) return PyObject_IsTrue(obj);
    return gb_py_fail(PyExc_TypeError, "%s: expected %s, got %R", arg, expected, obj);
}

int gb_py_read_copy(PyObject *obj) {
    return !obj || obj == Py_None ? -2 : gb_py_bool(obj, "copy", "True, False or None");
}

/* Make a tuple, or NULL with a TypeError: a list could change while its entries are converted; sets
 * have no order. New reference. */
static PyObject *as_sequence(PyObject *obj, const char *arg, const char *expected, int room) {
    if (PyTuple_Check(obj)) return Py_NewRef(obj);
    if (PyList_Check(obj)) return PyList_AsTuple(obj);
    if (!PyUnicode_Check(obj) && !PyBytes_Check(obj) && !PyAnySet_Check(obj) &&
        !PyDict_Check(obj)) {
        PyObject *tuple =
            gb_py_upcall_to(GB_PY_UP_FIRST_ENTRIES, "(Oi)", obj,
                            room + 1); /* one entry more than allowed: an iterator may never end */
        if (tuple || !PyErr_ExceptionMatches(PyExc_TypeError)) return tuple;
        PyErr_Clear();
    }
    return PyErr_Format(PyExc_TypeError, "%s: expected %s, got %R", arg, expected, obj);
}

static int too_many(const char *arg, Py_ssize_t n, int room) {
    return gb_py_fail(PyExc_ValueError, "%s: %zd entries; at most %d are allowed", arg, n, room);
}

int gb_py_ints(PyObject *obj, const char *arg, int64_t *out, int room) {
    GB_PY_OWNED PyObject *sequence = as_sequence(obj, arg, "a sequence of ints", room);
    if (!sequence) return -1;
    Py_ssize_t n = PyTuple_Size(sequence);
    if (n > room) return too_many(arg, n, room);
    for (Py_ssize_t i = 0; i < n; i++)
        if (gb_py_int64(PyTuple_GetItem(sequence, i), arg, "a sequence of ints", &out[i]) < 0)
            return -1;
    return (int)n;
}

/* One int for all dims. */
static int one_halo(PyObject *obj, const char *expected, int ndim, int64_t *out) {
    int64_t width;
    if (gb_py_int64(obj, "halo", expected, &width) < 0) return -1;
    if (width < 0)
        return gb_py_fail(PyExc_ValueError, "halo: %lld is negative; 0 or more is allowed",
                          (long long)width);
    for (int i = 0; i < 2 * ndim; i++) out[i] = width;
    return ndim;
}

int gb_py_halo(PyObject *obj, int ndim, int64_t *out, int room) {
    static const char expected[] = "a sequence with an int or a (low, high) pair for each index, "
                                   "such as (3, 3, 0), or one int for all";
    if (PyIndex_Check(obj) && !PySequence_Check(obj) && ndim <= room)
        return one_halo(obj, expected, ndim, out);
    GB_PY_OWNED PyObject *sequence = as_sequence(obj, "halo", expected, room);
    if (!sequence) return -1;
    Py_ssize_t n = PyTuple_Size(sequence);
    if (n > room) n = too_many("halo", n, room);
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *entry = PyTuple_GetItem(sequence, i);
        if (PyIndex_Check(entry) && !PySequence_Check(entry)) {
            if (gb_py_int64(entry, "halo", expected, &out[2 * i]) < 0) n = -1;
            else out[2 * i + 1] = out[2 * i];
        } else {
            int pair = gb_py_ints(entry, "halo", &out[2 * i], 2);
            if (pair >= 0 && pair != 2)
                PyErr_Format(PyExc_ValueError,
                             "halo: entry %R has %d numbers; give an int or a (low, high) pair",
                             entry, pair);
            if (pair != 2) n = -1;
        }
    }
    for (Py_ssize_t i = 0; i < 2 * n; i++)
        if (out[i] < 0) {
            PyErr_Format(PyExc_ValueError, "halo: %R has a negative entry; entries count elements",
                         obj);
            n = -1;
        }
    return (int)n;
}

/* ---- dimensions ---- */

enum { NO_DIM = GB_DIM_I - 1 };

/* Names of the user's own, in the order of first use. Forked children go on with a copy. */
enum { MOST_NAMES = 4096 };
static char *own_names[MOST_NAMES];
static int32_t known_names;

const char *gb_py_own_name(int32_t code) { return own_names[code - GB_DIM_NAMED]; }

/* Code of an identifier; "IJ" is two names. NO_DIM: `name` is none, or there is an error. */
static int32_t code_of_own(PyObject *name, const char *text) {
    if (!PyUnicode_IsIdentifier(name) || text[strspn(text, "IJK")] == 0) return NO_DIM;
    for (int32_t i = 0; i < known_names; i++)
        if (strcmp(own_names[i], text) == 0) return GB_DIM_NAMED + i;
    if (known_names == MOST_NAMES) {
        PyErr_Format(PyExc_ValueError, "dims: %R is one name more than the %d of a process", name,
                     MOST_NAMES);
        return NO_DIM;
    }
    char *copy = strdup(text);
    if (!copy) {
        PyErr_NoMemory();
        return NO_DIM;
    }
    own_names[known_names] = copy;
    return GB_DIM_NAMED + known_names++;
}

/* Code of I, J, K or a number, or NO_DIM. */
static int32_t dim_code(const char *s, Py_ssize_t n) {
    if (n == 1 && s[0] >= 'I' && s[0] <= 'K') return GB_DIM_OF(s[0]);
    if (n < 1 || n > 9 || (s[0] == '0' && n > 1)) return NO_DIM;
    int32_t code = 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        if (s[i] < '0' || s[i] > '9') return NO_DIM;
        code = code * 10 + (s[i] - '0');
    }
    return code;
}

int gb_py_in_ranks(PyObject *layout) {
    if (PyTuple_Check(layout) && PyTuple_Size(layout))
        return PyNumber_Check(PyTuple_GetItem(layout, 0));
    if (PyList_Check(layout) && PyList_Size(layout))
        return PyNumber_Check(PyList_GetItem(layout, 0));
    return !PyUnicode_Check(layout);
}

static int bad_dim(const char *arg, PyObject *obj) {
    if (!PyErr_Occurred())
        PyErr_Format(PyExc_ValueError,
                     "%s: %R has an unknown name; allowed are 'I', 'J', 'K' (capitals) and '0', "
                     "'1', '2', ...; other names stand in a tuple, such as ('cell', 'K')",
                     arg, obj);
    return -1;
}

static int repeated(const char *arg, PyObject *obj, const int32_t *dims, int n) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            if (dims[i] == dims[j])
                return gb_py_fail(PyExc_ValueError, "%s: %R names a dimension twice", arg, obj);
    return n;
}

/* Name of a gt4py axis or dimension (gridbuf.names.own_name), or None. */
static PyObject *own_name(PyObject *obj) {
    if (PyUnicode_Check(obj) || PyTuple_Check(obj) || PyList_Check(obj) || PyLong_Check(obj))
        return Py_NewRef(Py_None);
    return gb_py_upcall_to(GB_PY_UP_OWN_NAME, "(O)", obj);
}

static PyObject *name_of(PyObject *entry) {
    GB_PY_OWNED PyObject *own = own_name(entry);
    return own == Py_None ? PyObject_Str(entry) : Py_XNewRef(own);
}

/* A name is a str, an int or an object with a text (an Axis of gt4py, a member of an enum), but no
 * list, array or float. */
static int is_name(const char *arg, PyObject *entry) {
    if (PyUnicode_Check(entry) || PyLong_Check(entry) || PyArray_IsScalar(entry, Integer)) return 1;
    if (!PyFloat_Check(entry) && !PyList_Check(entry) && !PyTuple_Check(entry) &&
        !PyObject_HasAttrString(entry, "dtype"))
        return 1;
    PyErr_Format(PyExc_TypeError, "%s: expected names of indices, got %R for one", arg, entry);
    return 0;
}

/* Names in one str, a letter each. */
static int read_letters(PyObject *obj, const char *arg, int32_t *out, int room) {
    Py_ssize_t n;
    const char *s = PyUnicode_AsUTF8AndSize(obj, &n);
    if (!s) return -1;
    if (n > room) return too_many(arg, n, room);
    for (Py_ssize_t i = 0; i < n; i++)
        if ((out[i] = dim_code(s + i, 1)) == NO_DIM) return bad_dim(arg, obj);
    return repeated(arg, obj, out, (int)n);
}

int gb_py_dims(PyObject *obj, const char *arg, int32_t *out, int room) {
    if (PyUnicode_Check(obj)) return read_letters(obj, arg, out, room);
    GB_PY_OWNED PyObject *alone = own_name(obj);
    if (!alone) return -1;
    GB_PY_OWNED PyObject *sequence =
        alone != Py_None ? PyTuple_Pack(1, alone)
                         : as_sequence(obj, arg, "dimension names such as \"IJK\"", room);
    if (!sequence) return -1;
    Py_ssize_t n = PyTuple_Size(sequence);
    if (n > room) n = too_many(arg, n, room);
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *entry = PyTuple_GetItem(sequence, i);
        PyObject *name = is_name(arg, entry) ? name_of(entry) : NULL;
        Py_ssize_t len = 0;
        const char *s = name ? PyUnicode_AsUTF8AndSize(name, &len) : NULL;
        if (s) out[i] = dim_code(s, len);
        if (s && out[i] == NO_DIM) out[i] = code_of_own(name, s);
        if (!s || out[i] == NO_DIM) n = bad_dim(arg, obj);
        Py_XDECREF(name);
    }
    return n < 0 ? -1 : repeated(arg, obj, out, (int)n);
}

static PyObject *dim_name(int32_t dim) {
    if (dim >= GB_DIM_NAMED) return PyUnicode_FromString(gb_py_own_name(dim));
    if (dim >= 0) return PyUnicode_FromFormat("%d", dim);
    return PyUnicode_FromStringAndSize(&(char){GB_DIM_LETTER(dim)}, 1);
}

PyObject *gb_py_dims_tuple(const int32_t *dims, int ndim) {
    PyObject *tuple = PyTuple_New(ndim);
    for (int i = 0; tuple && i < ndim; i++) gb_py_put(&tuple, i, dim_name(dims[i]));
    return tuple;
}

PyObject *gb_py_ints_tuple(const int64_t *values, int n) {
    PyObject *tuple = PyTuple_New(n);
    for (int i = 0; tuple && i < n; i++) gb_py_put(&tuple, i, PyLong_FromLongLong(values[i]));
    return tuple;
}

PyObject *gb_py_pairs_tuple(const int64_t *pairs, int n) {
    PyObject *tuple = PyTuple_New(n);
    for (int i = 0; tuple && i < n; i++) gb_py_put(&tuple, i, gb_py_ints_tuple(&pairs[2 * i], 2));
    return tuple;
}
