/* halo.c: halo and origin of a result, as storages join them: along each axis the
 * domain is what lies in the domains of all inputs that have it in full. An input that is
 * broadcast along the axis says nothing of where the domain lies. */
#include "gufunc.h"

#include <sys/param.h>

/* The index of a dimension in a Field, which has it in full; -1: it has not. */
static int axis_of(const gb_py_field *f, int32_t name, int64_t size) {
    for (int d = 0; d < f->geometry.ndim; d++)
        if (f->geometry.dims[d] == name) return f->geometry.shape[d] == size ? d : -1;
    return -1;
}

int gb_py_join_halos(gb_py_field *result, const gb_py_invocation *v) {
    int nin = v->gufunc->info.nin, halo = 0, origin = 0;
    for (int i = 0; i < nin; i++) {
        const gb_py_field *f = v->arg[i].field;
        halo |= f && f->halo;
        origin |= f && f->origin;
    }
    if (!halo && !origin) return 0;
    if (gb_py_field_room(result, origin, halo) < 0) return -1;
    for (int d = 0; d < result->geometry.ndim; d++) {
        int64_t low = 0, high = 0, first = 0, size = result->geometry.shape[d];
        for (int i = 0; i < nin; i++) {
            const gb_py_field *f = v->arg[i].field;
            int axis = f ? axis_of(f, result->geometry.dims[d], size) : -1;
            if (axis < 0) continue;
            if (f->halo) low = MAX(low, f->halo[2 * axis]), high = MAX(high, f->halo[2 * axis + 1]);
            if (f->origin) first = MAX(first, f->origin[axis]);
        }
        low = MIN(low, size);
        if (halo) result->halo[2 * d] = low, result->halo[2 * d + 1] = MIN(high, size - low);
        if (origin) result->origin[d] = MIN(first, size);
    }
    return 0;
}
