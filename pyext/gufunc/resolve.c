/* resolve.c: calls and reductions planned by Go, kept per gufunc under the encoded request: a known
 * one needs no Go, and a forked child can use only these; the choice of a kernel. */
#include "gufunc.h"
#include "../core/upcall.h"

static uint64_t hash_of(const int64_t *encoding, int64_t n) {
    uint64_t h = (uint64_t)n;
    for (int64_t i = 0; i < n; i++) {
        h = (h ^ (uint64_t)encoding[i]) * 0x9E3779B97F4A7C15u;
        h ^= h >> 29;
    }
    return h;
}

static int is_it(const gb_py_entry *e, const int64_t *encoding, int64_t n) {
    return e->n == n && memcmp(e->encoding, encoding, (size_t)n * sizeof *encoding) == 0;
}

/* Move the entry at a place to the front of its set. */
static gb_py_entry *to_front(gb_py_entries *all, gb_py_entry **set, int way, gb_py_entry *e) {
    for (int k = way; k > 0; k--) set[k] = set[k - 1];
    return all->latest = set[0] = e;
}

gb_py_entry *gb_py_entries_find(gb_py_entries *all, const int64_t *encoding, int64_t n,
                                uint64_t *hash) {
    if (all->latest && is_it(all->latest, encoding, n)) {
        all->latest->refs++;
        return all->latest;
    }
    *hash = hash_of(encoding, n);
    gb_py_entry **set = all->sets[*hash % GB_PY_SETS];
    for (int way = 0; way < GB_PY_WAYS && set[way]; way++) {
        gb_py_entry *e = set[way];
        if (e->hash == *hash && is_it(e, encoding, n)) {
            e->refs++;
            return to_front(all, set, way, e);
        }
    }
    return NULL;
}

static const gb_gu_call *entry_of_kernel(const gb_py_entries *all, int kernel) {
    for (int s = 0; s < GB_PY_SETS; s++)
        for (int way = 0; way < GB_PY_WAYS && all->sets[s][way]; way++)
            if (all->sets[s][way]->encoding[0] == kernel) return all->sets[s][way]->call;
    return NULL;
}

gb_py_entry *gb_py_entries_keep(gb_py_entries *all, const int64_t *encoding, int64_t n,
                                uint64_t hash, void *plan, void (*free_plan)(void *)) {
    gb_py_entry *e = malloc(sizeof *e + (size_t)n * sizeof *encoding),
                **set = all->sets[hash % GB_PY_SETS];
    if (!e) {
        free_plan(plan);
        return (gb_py_entry *)PyErr_NoMemory();
    }
    *e = (gb_py_entry){.plan = plan, .free_plan = free_plan, .hash = hash, .refs = 2, .n = n};
    memcpy(e->encoding, encoding, (size_t)n * sizeof *encoding);
    if (set[GB_PY_WAYS - 1]) gb_py_entry_drop(set[GB_PY_WAYS - 1]);
    return to_front(all, set, GB_PY_WAYS - 1, e);
}

void gb_py_entry_drop(gb_py_entry *e) {
    if (--e->refs) return;
    e->free_plan(e->plan);
    free(e);
}

void gb_py_entries_clear(gb_py_entries *all) {
    for (int s = 0; s < GB_PY_SETS; s++)
        for (int way = 0; way < GB_PY_WAYS && all->sets[s][way]; way++)
            gb_py_entry_drop(all->sets[s][way]);
}

/* ---- the kernel of a call ----
 *
 * Types and kinds of the operands and the keywords about types decide. Known combinations are found
 * here; for a new one Python's _choose calls Go and NumPy. */

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
        if (a->weak) c->key[i] = 0x80 | a->weak;
        else if (!a->absent) c->key[i] = (uint8_t)(a->type | (a->swapped ? GB_BRIDGE_SWAPPED : 0));
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
        if (k) { /* move frequent choices to the front */
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
        return gb_py_no_memory();
    gb_py_choice *slot = &g->choices[g->nchoices < MOST_CHOICES ? g->nchoices++ : MOST_CHOICES - 1];
    GB_PY_OWNED PyObject *old = slot->signature;
    Py_XINCREF(c->signature);
    *slot = *c;
    return 0;
}

/* Operands for _choose: their memory, or the number itself. */
static PyObject *seen(const gb_py_invocation *v, int from, int to) {
    PyObject *tuple = PyTuple_New(to - from);
    for (int i = from; tuple && i < to; i++) {
        const gb_py_arg *a = &v->arg[i];
        PyObject *obj = a->keep && !a->weak ? a->keep : a->given;
        if (a->absent) obj = Py_None;
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
        if (!dtype) PyErr_Clear(); /* _choose raises it and names dtype */
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

/* ---- the resolved call ---- */

static int64_t encode(int64_t *encoding, const gb_py_invocation *v) {
    int64_t *w = encoding;
    *w++ = v->kernel;
    *w++ = v->nop | v->has_where * GB_BRIDGE_MASK | v->arrangement;
    for (int i = 0; i < v->nop + v->has_where; i++) {
        const gb_py_arg *a = &v->arg[i];
        w = gb_py_encode_operand(w, GB_PY_HEAD(a->type, a->swapped, a->misaligned, a->absent),
                                 a->ndim, a->shape, a->strides,
                                 !a->absent && a->ndims >= 0 ? a->dims : NULL);
    }
    memcpy(w, v->axes, (size_t)v->naxes * sizeof *w);
    return w + v->naxes - encoding;
}

/* Append core sizes that neither operands nor the signature have: the method _sizes gets them from
 * output_dims or NumPy. They depend only on shapes, which are in the encoding, so they are computed
 * once. */
static int64_t add_sizes(gb_py_invocation *v, int64_t *encoding, int64_t n) {
    int64_t turned[GB_PY_MOST_WORDS], *w = turned + 2;
    gb_error error;
    memcpy(turned, encoding, (size_t)n * sizeof *turned);
    if (v->arrangement && GB_PY_ENTER_GO(&error, gb_py_go->gufunc_turn_shapes(
                                                     v->gufunc->info.id, turned, n, &error)) < 0)
        return -1;
    GB_PY_OWNED PyObject *shapes = PyTuple_New(v->nop), *sizes = NULL;
    for (int i = 0; shapes && i < v->nop; i++) {
        const gb_py_arg *a = &v->arg[i];
        gb_py_put(&shapes, i, a->absent ? Py_NewRef(Py_None) : gb_py_ints_tuple(w + 1, a->ndim));
        w += 1 + (w[0] & GB_BRIDGE_O_NAMED ? 3 : 2) * a->ndim;
    }
    if (shapes)
        sizes = gb_py_upcall_on((PyObject *)v->gufunc, GB_PY_OF_GUFUNC_SIZES, "(Oi)", shapes,
                                v->kernel);
    int known = sizes ? gb_py_ints(sizes, "output_dims", encoding + n, GB_GU_MAXCORE) : -1;
    if (known > 0) encoding[1] |= GB_BRIDGE_SIZES;
    return known < 0 ? -1 : n + known;
}

static gb_py_entry *refuse_fork(gb_py_invocation *v) {
    GB_PY_OWNED PyObject *name = gb_py_upcall_of((PyObject *)v->gufunc, GB_PY_OF_GUFUNC_NAME);
    if (name)
        PyErr_Format(PyExc_RuntimeError,
                     "%S: a call with these types, and with these core sizes and axes where it has "
                     "any, was not made before the fork, and "
                     "a new one needs the Go runtime, which a forked child does not have; make it "
                     "once in the parent, or start "
                     "processes with multiprocessing's 'spawn' or 'forkserver'",
                     name);
    return NULL;
}

static void free_call(void *call) { gb_gu_call_free(call); }

/* In a forked child: cut a call of the same kernel to other sizes. 1: made, 0: none is known, or it
 * has core dimensions or axes; -1: an error. */
static int like_one_before(const gb_py_invocation *v, gb_gu_call **call, gb_error *e) {
    const gb_gu_call *known =
        v->arrangement ? NULL : entry_of_kernel(v->gufunc->entries, v->kernel);
    gb_gu_view view[GB_GU_MAXARGS + 1];
    if (!known || known->ncore) return 0;
    for (int i = 0; i < v->nop + v->has_where; i++) {
        const gb_py_arg *a = &v->arg[i];
        view[i] = (gb_gu_view){a->type,
                               a->swapped,
                               a->misaligned,
                               a->absent,
                               a->absent ? 0 : a->ndim,
                               a->shape,
                               a->strides,
                               a->ndims >= 0 ? a->dims : NULL};
    }
    *call = gb_gu_call_like(known, view, v->has_where, v->named, e);
    return *call ? 1 : -1;
}

gb_py_entry *gb_py_entry_for(gb_py_invocation *v) {
    int64_t encoding[GB_PY_MOST_WORDS];
    uint64_t hash;
    int64_t n = encode(encoding, v), asked = n, flags = encoding[1];
    gb_py_entry *e = gb_py_entries_find(v->gufunc->entries, encoding, n, &hash);
    if (e) return e;
    gb_error error;
    gb_gu_call *call = NULL;
    if (gb_py_go_lost()) {
        int known = like_one_before(v, &call, &error);
        if (known == 0) return refuse_fork(v);
        if (known > 0)
            return gb_py_entries_keep(v->gufunc->entries, encoding, n, hash, call, free_call);
        gb_py_raise(&error);
        return NULL;
    }
    if (v->gufunc->asks_sizes && (asked = add_sizes(v, encoding, n)) < 0) return NULL;
    if (GB_PY_ENTER_GO(&error, gb_py_go->gufunc_resolve(v->gufunc->info.id, encoding, asked, &call,
                                                        &error)) < 0)
        return NULL;
    encoding[1] = flags;
    return gb_py_entries_keep(v->gufunc->entries, encoding, n, hash, call, free_call);
}
