/* axes.c: axis=, axes= and keepdims=: core dimensions that are not the last ones.
 * Operands are turned so that they are; for new outputs it is noted where they go. */
#include "gufunc.h"

typedef struct entry { int n; int64_t axis[GB_GU_MAXCORE]; } entry;

static int refuse(const gb_py_invocation *v, const char *format) {   /* format has one %S, for the signature */
    GB_PY_OWNED PyObject *signature = PyObject_GetAttrString((PyObject *)v->gufunc, "signature");
    if (signature) gb_py_setup_error(format, signature);
    return -1;
}

static int outputs_with_core(const gb_bridge_gufunc_info *info) {
    for (int i = info->nin; i < info->nin + info->nout; i++)
        if (info->core_n[i]) return 1;
    return 0;
}

static int check_keepdims(const gb_py_invocation *v) {
    const gb_bridge_gufunc_info *info = &v->gufunc->info;
    int ok = !outputs_with_core(info) && info->nin && info->core_n[0];
    for (int i = 1; i < info->nin; i++) ok = ok && info->core_n[i] == info->core_n[0];
    return ok ? 0 : refuse(v, "keepdims: %S needs inputs with the same number of core dimensions and outputs with none");
}

/* axis=: one core dimension, which every operand that has one shares. */
static int check_axis(const gb_py_invocation *v) {
    const gb_bridge_gufunc_info *info = &v->gufunc->info;
    int shared = -1;
    for (int i = 0; i < v->nop; i++) {
        if (!info->core_n[i]) continue;
        if (info->core_n[i] > 1 || (shared >= 0 && info->core[i][0] != shared)) shared = -2;
        if (shared == -2) break;
        shared = info->core[i][0];
    }
    return shared >= 0 ? 0 : refuse(v, "axis: %S needs one core dimension that its operands share; use axes");
}

static int read_entry(PyObject *obj, entry *e) {
    if (PyIndex_Check(obj) && !PySequence_Check(obj))
        return e->n = 1, gb_py_int64(obj, "axes", "an int or a tuple of ints for each operand", &e->axis[0]);
    e->n = gb_py_ints(obj, "axes", e->axis, GB_GU_MAXCORE);
    return e->n < 0 ? -1 : 0;
}

static int read_axes(const gb_py_invocation *v, PyObject *axes, int keepdims, entry *e) {
    const gb_bridge_gufunc_info *info = &v->gufunc->info;
    GB_PY_OWNED PyObject *list = PySequence_Tuple(axes);
    if (!list) {
        if (!PyErr_ExceptionMatches(PyExc_TypeError)) return -1;
        PyErr_Clear();
        return PyErr_Format(PyExc_TypeError, "axes: expected a list with an entry for each operand, got %R", axes), -1;
    }
    int n = (int)PyTuple_Size(list), rc = 0;
    int short_form = n == info->nin && !outputs_with_core(info);
    if (!short_form && n != v->nop) rc = gb_py_setup_error("axes: %d entries for %d operands", n, v->nop);
    for (int i = 0; rc == 0 && i < n; i++) rc = read_entry(PyTuple_GetItem(list, i), &e[i]);
    for (int i = info->nin; rc == 0 && i < v->nop; i++) {
        if (short_form) e[i].n = 0;
        if (keepdims && e[i].n == 0) e[i] = e[0];
    }
    return rc;
}

/* "input 0", "out" for messages. */
static const char *name_of(const gb_py_invocation *v, int i, char *room, size_t size) {
    if (i < v->gufunc->info.nin) PyOS_snprintf(room, size, "input %d", i);
    else if (v->gufunc->info.nout == 1) PyOS_snprintf(room, size, "out");
    else PyOS_snprintf(room, size, "out[%d]", i - v->gufunc->info.nin);
    return room;
}

static int normal(const gb_py_invocation *v, int i, entry *e) {
    char name[24];
    int ndim = v->arg[i].ndim;
    for (int k = 0; k < e->n; k++) {
        if (e->axis[k] < -ndim || e->axis[k] >= ndim)
            return gb_py_setup_error("axis: %lld is out of range for %s, which has %d dimensions", (long long)e->axis[k],
                                  name_of(v, i, name, sizeof name), ndim);
        if (e->axis[k] < 0) e->axis[k] += ndim;
        for (int j = 0; j < k; j++)
            if (e->axis[j] == e->axis[k]) return gb_py_setup_error("axes: %s names an axis twice", name_of(v, i, name, sizeof name));
    }
    return 0;
}

/* Turn an operand so that the axes of e are the last ones. */
static void turn(gb_py_arg *a, const entry *e) {
    gb_py_arg old;
    memcpy(old.shape, a->shape, sizeof *old.shape * (size_t)a->ndim);
    memcpy(old.strides, a->strides, sizeof *old.strides * (size_t)a->ndim);
    memcpy(old.dims, a->dims, sizeof *old.dims * (size_t)a->ndim);
    int to = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int d = 0; d < (pass ? e->n : a->ndim); d++) {
            int from = pass ? (int)e->axis[d] : d, taken = 0;
            for (int k = 0; !pass && k < e->n; k++) taken |= e->axis[k] == d;
            if (taken) continue;
            a->shape[to] = old.shape[from], a->strides[to] = old.strides[from];
            if (a->ndims >= 0) a->dims[to] = old.dims[from];
            to++;
        }
}

static int find_name(const gb_py_invocation *v, int i, int32_t code, PyObject *axis, entry *e) {
    const gb_py_arg *a = &v->arg[i];
    char name[24];
    for (int d = 0; a->ndims >= 0 && d < a->ndim; d++)
        if (a->dims[d] == code) return e->axis[0] = d, 0;
    if (a->ndims < 0) return gb_py_setup_error("axis: %S is a name, and %s has none", axis, name_of(v, i, name, sizeof name));
    return gb_py_setup_error("axis: %s has no dimension %S", name_of(v, i, name, sizeof name), axis);
}

/* A given output that keeps axes of size 1 is worked on without them. */
static int without_kept(gb_py_invocation *v, int i, const entry *e) {
    gb_py_arg *a = &v->arg[i];
    char name[24];
    for (int k = 0; k < e->n; k++)
        if (a->shape[--a->ndim] != 1)
            return gb_py_setup_error("%s: keepdims needs the kept axes to have size 1", name_of(v, i, name, sizeof name));
    if (a->ndims >= 0) a->ndims = a->ndim;
    return 0;
}

static int arrange_output(gb_py_invocation *v, int i, entry *e, int keepdims, int by_name) {
    gb_py_arg *a = &v->arg[i];
    const gb_py_arg *first = &v->arg[0];
    if (!a->absent) {
        if (normal(v, i, e) < 0) return -1;
        turn(a, e);
        return keepdims ? without_kept(v, i, e) : 0;
    }
    gb_py_placing *p = &v->placing[i];
    p->n = e->n;
    p->keep = keepdims;
    p->named = by_name;
    for (int k = 0; k < e->n; k++) {
        p->axis[k] = (int32_t)e->axis[k];
        p->name[k] = first->ndims >= 0 ? first->dims[first->ndim - e->n + k] : 0;
    }
    return 0;
}

int gb_py_arrange(gb_py_invocation *v, const gb_py_keywords *k) {
    const gb_bridge_gufunc_info *info = &v->gufunc->info;
    int keepdims = k->keepdims ? PyObject_IsTrue(k->keepdims) : 0;
    for (int i = info->nin; i < v->nop; i++) v->placing[i].n = 0;
    if (keepdims < 0) return -1;
    if (!k->axes && !k->axis && !keepdims) return 0;
    entry e[GB_GU_MAXARGS];
    int32_t code = 0;
    int by_name = k->axis && PyUnicode_Check(k->axis);
    if (k->axes && k->axis) return gb_py_setup_error("axes: it cannot be given together with axis");
    if (keepdims && check_keepdims(v) < 0) return -1;
    if (k->axis && check_axis(v) < 0) return -1;
    if (by_name && gb_py_dims(k->axis, "axis", &code, 1) != 1) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "axis: expected an int or one name");
        return -1;
    }
    if (k->axes && read_axes(v, k->axes, keepdims, e) < 0) return -1;
    for (int i = 0; i < v->nop && !k->axes; i++) {
        e[i].n = keepdims && i >= info->nin ? info->core_n[0] : info->core_n[i];
        for (int d = 0; d < e[i].n; d++) e[i].axis[d] = d - e[i].n;
        if (!k->axis || e[i].n == 0) continue;
        if (by_name && !v->arg[i].absent && find_name(v, i, code, k->axis, &e[i]) < 0) return -1;
        if (!by_name && gb_py_int64(k->axis, "axis", "an int or a name", &e[i].axis[0]) < 0) return -1;
    }
    for (int i = 0; i < info->nin; i++) {
        if (e[i].n != info->core_n[i])
            return gb_py_setup_error("axes: entry %d has %d axes, the operand's core has %d", i, e[i].n, info->core_n[i]);
        if (normal(v, i, &e[i]) < 0) return -1;
        turn(&v->arg[i], &e[i]);
    }
    for (int i = info->nin; i < v->nop; i++) {
        if (!keepdims && e[i].n != info->core_n[i])
            return gb_py_setup_error("axes: an output's entry has %d axes, its core has %d", e[i].n, info->core_n[i]);
        if (arrange_output(v, i, &e[i], keepdims, by_name) < 0) return -1;
    }
    return 0;
}
