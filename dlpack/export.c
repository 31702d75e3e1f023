/* export.c: managed tensors, each one block of C memory. */
#include "tensor.h"
#include "../alloc/strides.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

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
    for (size_t i = 0; i < n; i++) { /* few: a call of memcpy costs more */
        t->shape[i] = d->shape[i];
        if (d->strides) t->strides[i] = d->strides[i];
        if (d->shape[i] == 0) t->data = NULL; /* the standard's word for no elements */
    }
    if (!d->strides) gb_c_strides(t->strides, d->shape, d->ndim, 1);
}

/* The managed struct comes first, so that its deleter finds the rest; manager_ctx is the owner. */
#define FLAVOUR(name, Managed)                                                                \
    typedef struct {                                                                          \
        Managed managed;                                                                      \
        gb_dlpack_release release;                                                            \
        int64_t lists[];                                                                      \
    } name;                                                                                   \
    static void delete_##name(Managed *self) {                                                \
        name *m = (name *)self;                                                               \
        if (m->release) m->release(self->manager_ctx);                                        \
        free(m);                                                                              \
    }                                                                                         \
    static inline Managed *make_##name(const gb_dlpack_desc *d, void *owner,                  \
                                       gb_dlpack_release release) {                           \
        name *m = malloc(sizeof *m + 2 * (size_t)(d->ndim ? d->ndim : 1) * sizeof *m->lists); \
        if (!m) return NULL;                                                                  \
        m->managed.manager_ctx = owner;                                                       \
        m->managed.deleter = delete_##name;                                                   \
        m->release = release;                                                                 \
        fill(&m->managed.dl_tensor, d, m->lists);                                             \
        return &m->managed;                                                                   \
    }
FLAVOUR(versioned, DLManagedTensorVersioned)
FLAVOUR(legacy, DLManagedTensor)

DLManagedTensorVersioned *gb_dlpack_versioned(const gb_dlpack_desc *d, void *owner,
                                              gb_dlpack_release release) {
    DLManagedTensorVersioned *m = make_versioned(d, owner, release);
    if (m)
        m->version = (DLPackVersion){DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION},
        m->flags = d->flags;
    return m;
}

DLManagedTensor *gb_dlpack_legacy(const gb_dlpack_desc *d, void *owner, gb_dlpack_release release) {
    if (d->flags & DLPACK_FLAG_BITMASK_READ_ONLY) return errno = EINVAL, NULL;
    return make_legacy(d, owner, release);
}
