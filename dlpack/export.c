/* export.c: managed tensors, each one block of C memory. */
#include "export.h"
#include "../alloc/strides.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* The managed struct comes first, so that its deleter finds the rest; manager_ctx is
 * the owner. */
typedef struct {
    DLManagedTensorVersioned managed;
    gb_dlpack_release release;
    int64_t lists[];
} versioned;

typedef struct {
    DLManagedTensor managed;
    gb_dlpack_release release;
    int64_t lists[];
} legacy;

static void delete_versioned(DLManagedTensorVersioned *self) {
    versioned *v = (versioned *)self;
    if (v->release) v->release(self->manager_ctx);
    free(v);
}

static void delete_legacy(DLManagedTensor *self) {
    legacy *l = (legacy *)self;
    if (l->release) l->release(self->manager_ctx);
    free(l);
}

static void fill(DLTensor *t, const gb_dlpack_desc *d, int64_t *lists) {
    size_t n = (size_t)d->ndim;
    t->data = d->data;
    t->device = d->device;
    t->ndim = d->ndim;
    t->dtype = d->dtype;
    t->shape = lists;
    t->strides = lists + n;
    t->byte_offset = 0; /* older consumers never look at it */
    if (n == 0) return; /* the lists stay valid pointers, which is what some consumers expect */
    for (size_t i = 0; i < n; i++) {   /* few: a call of memcpy costs more */
        t->shape[i] = d->shape[i];
        if (d->strides) t->strides[i] = d->strides[i];
        if (d->shape[i] == 0) t->data = NULL; /* the standard's word for no elements */
    }
    if (!d->strides) gb_c_strides(t->strides, d->shape, d->ndim, 1);
}

DLManagedTensorVersioned *gb_dlpack_versioned(const gb_dlpack_desc *d, void *owner, gb_dlpack_release release) {
    versioned *v = malloc(sizeof *v + 2 * (size_t)(d->ndim ? d->ndim : 1) * sizeof *v->lists);
    if (!v) return NULL;
    v->managed.version = (DLPackVersion){DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
    v->managed.manager_ctx = owner;
    v->managed.deleter = delete_versioned;
    v->managed.flags = d->flags;
    v->release = release;
    fill(&v->managed.dl_tensor, d, v->lists);
    return &v->managed;
}

DLManagedTensor *gb_dlpack_legacy(const gb_dlpack_desc *d, void *owner, gb_dlpack_release release) {
    if (d->flags & DLPACK_FLAG_BITMASK_READ_ONLY) return errno = EINVAL, NULL;
    legacy *l = malloc(sizeof *l + 2 * (size_t)(d->ndim ? d->ndim : 1) * sizeof *l->lists);
    if (!l) return NULL;
    l->managed.manager_ctx = owner;
    l->managed.deleter = delete_legacy;
    l->release = release;
    fill(&l->managed.dl_tensor, d, l->lists);
    return &l->managed;
}
