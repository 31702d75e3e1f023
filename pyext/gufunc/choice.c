/* choice.c: which kernel a call gets. What decides is the types and kinds of the
 * operands and the keywords about types; a combination seen before is found here,
 * a new one is worked out by Python's _choose, which Go and NumPy help. */
#include "gufunc.h"
#include "../core/upcall.h"

#define MOST_CHOICES 256

void gb_py_forget_choices(gb_py_gufunc_object *g) {
    gb_py_choice *old = g->choices;
    int n = g->nchoices;
    g->choices = NULL;
    g->nchoices = 0;
    for (int i = 0; i < n; i++) Py_XDECREF(old[i].signature);
    free(old);
}

/* Equal by looking, without asking the objects; entries of a tuple are types, dtypes or None. */
static int same_signature(PyObject *a, PyObject *b) {
    if (a == b) return 1;
    if (!a || !b) return 0;
    if (PyUnicode_CheckExact(a) && PyUnicode_CheckExact(b)) return PyUnicode_Compare(a, b) == 0;
    if (!PyTuple_CheckExact(a) || !PyTuple_CheckExact(b) || PyTuple_Size(a) != PyTuple_Size(b))
        return 0;
    for (Py_ssize_t i = 0; i < PyTuple_Size(a); i++) {
        PyObject *x = PyTuple_GetItem(a, i), *y = PyTuple_GetItem(b, i);
        if (x != y &&
            !(PyUnicode_CheckExact(x) && PyUnicode_CheckExact(y) && PyUnicode_Compare(x, y) == 0))
            return 0;
    }
    return 1;
}

static void fill_key(const gb_py_invocation *v, gb_py_choice *c) {
    memset(c->key, 0, sizeof c->key);
    for (int i = 0; i < v->nop; i++) {
        const gb_py_arg *a = &v->arg[i];
        c->key[i] = a->weak     ? 0x80 | a->weak
                    : a->absent ? 0
                                : (uint8_t)(a->type | (a->swapped ? GB_BRIDGE_SWAPPED : 0));
    }
}

static int find(gb_py_gufunc_object *g, const gb_py_choice *wanted, gb_py_invocation *v) {
    gb_py_choice *c = g->choices;
    for (int k = 0; k < g->nchoices; k++, c++) {
        if (memcmp(c->key, wanted->key, sizeof c->key) || c->casting != wanted->casting ||
            c->dtype != wanted->dtype)
            continue;
        if (!same_signature(c->signature, wanted->signature)) continue;
        v->kernel = c->kernel;
        memcpy(v->types, c->types, sizeof v->types);
        if (k) { /* what is asked for often comes to the front */
            gb_py_choice up = *c;
            *c = c[-1];
            c[-1] = up;
        }
        return 1;
    }
    return 0;
}

static int remember(gb_py_gufunc_object *g, const gb_py_choice *c) {
    if (c->signature && !PyUnicode_CheckExact(c->signature) && !PyTuple_CheckExact(c->signature))
        return 0;
    if (!g->choices && !(g->choices = calloc(MOST_CHOICES, sizeof *g->choices)))
        return PyErr_NoMemory(), -1;
    gb_py_choice *slot = &g->choices[g->nchoices < MOST_CHOICES ? g->nchoices++ : MOST_CHOICES - 1];
    GB_PY_OWNED PyObject *old = slot->signature;
    Py_XINCREF(c->signature);
    *slot = *c;
    return 0;
}

/* What _choose sees of an operand: its memory, or the number itself. */
static PyObject *seen(const gb_py_invocation *v, int from, int to) {
    PyObject *tuple = PyTuple_New(to - from);
    for (int i = from; tuple && i < to; i++) {
        const gb_py_arg *a = &v->arg[i];
        PyObject *obj = a->absent ? Py_None : a->keep && !a->weak ? a->keep : a->given;
        gb_py_put(&tuple, i - from, Py_NewRef(obj));
    }
    return tuple;
}

static int ask(gb_py_invocation *v, const gb_py_keywords *k, gb_py_choice *c) {
    gb_py_gufunc_object *g = v->gufunc;
    GB_PY_OWNED PyObject *inputs = seen(v, 0, g->info.nin), *outs = seen(v, g->info.nin, v->nop),
                         *number = NULL;
    if (inputs && outs)
        number =
            gb_py_upcall_on((PyObject *)g, GB_PY_OF_GUFUNC_CHOOSE, "(OOOOs)", inputs, outs,
                            k->dtype ? k->dtype : Py_None, k->signature ? k->signature : Py_None,
                            gb_gu_casting_name(c->casting));
    long n = number ? PyLong_AsLong(number) : -1;
    if (n < 0 || n >= g->info.nkernels) {
        if (!PyErr_Occurred())
            PyErr_Format(PyExc_ValueError, "_choose: kernel %ld of %d", n, g->info.nkernels);
        return -1;
    }
    v->kernel = c->kernel = (int32_t)n;
    memcpy(c->types, g->kernel_types[n], sizeof c->types);
    memcpy(v->types, c->types, sizeof v->types);
    return remember(g, c);
}

static int choose(gb_py_invocation *v, const gb_py_keywords *k) {
    gb_py_choice c = {.signature = k->signature};
    int casting = gb_py_read_casting(k->casting), cacheable = 1;
    if (casting < 0) return -1;
    c.casting = (uint8_t)casting;
    if (k->dtype) {
        int64_t none[1];
        int n;
        GB_PY_OWNED gb_py_dtype *dtype = gb_py_dtype_parse(k->dtype, none, 0, &n);
        if (!dtype) PyErr_Clear(); /* _choose says it with the word dtype */
        c.dtype = dtype ? gb_py_type_of_descr(dtype->descr) : 0;
        cacheable = c.dtype != 0;
    }
    fill_key(v, &c);
    return cacheable && find(v->gufunc, &c, v) ? 0 : ask(v, k, &c);
}

/* Numbers that do not fit simply: an array of the kernel's type, or another number, with
 * which a kernel is looked for again. */
static int ask_numbers(gb_py_invocation *v, int *again) {
    int nin = v->gufunc->info.nin, rc = -1;
    GB_PY_OWNED PyObject *numbers = PyTuple_New(nin), *found = NULL;
    for (int i = 0; numbers && i < nin; i++)
        gb_py_put(&numbers, i, Py_NewRef(v->arg[i].weak ? v->arg[i].given : Py_None));
    if (numbers)
        found = gb_py_upcall_on((PyObject *)v->gufunc, GB_PY_OF_GUFUNC_NUMBERS, "(ON)", numbers,
                                PyBytes_FromStringAndSize((const char *)v->types, nin));
    if (found && PyTuple_CheckExact(found) && PyTuple_Size(found) == nin) {
        rc = 0;
        for (int i = 0; i < nin; i++) {
            gb_py_arg *a = &v->arg[i];
            PyObject *each = PyTuple_GetItem(found, i);
            if (!a->weak || each == Py_None) continue;
            if (PyArray_CheckExact(each)) {
                gb_py_arg_array(a, (PyArrayObject *)each);
                continue;
            }
            *again = 1;
            a->weak = PyLong_CheckExact(each) ? GB_GU_WEAK_INT : GB_GU_WEAK_FLOAT;
            gb_py_arg_keep(a, each);
            a->given = a->keep;
        }
    } else if (found) {
        PyErr_SetString(PyExc_TypeError, "_numbers: expected one answer for each input");
    }
    return rc;
}

int gb_py_choose(gb_py_invocation *v, const gb_py_keywords *k) {
    for (int again = 1, rounds = 0; again && rounds < 2; rounds++) {
        again = 0;
        if (choose(v, k) < 0) return -1;
        int simple = 1;
        for (int i = 0; i < v->gufunc->info.nin; i++)
            if (v->arg[i].weak) simple &= gb_py_arg_number(&v->arg[i], v->types[i]);
        if (!simple && ask_numbers(v, &again) < 0) return -1;
    }
    return 0;
}
