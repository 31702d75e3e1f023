/* table.h: the loops of this package that suit the machine best. */
#ifndef GRIDBUF_KERNELS_TABLE_H
#define GRIDBUF_KERNELS_TABLE_H

typedef struct gb_shipped {
    const char *name, *types;   /* types as NumPy's characters */
    int form;                   /* gufunc.Form */
    void *loop;
} gb_shipped;

/* A reduction with a state; its rows kernel is in the other table under the same name. */
typedef struct gb_shipped_state {
    const char *name, *types;
    const void *init;
    long size, align;
    void *step, *merge, *final;
} gb_shipped_state;

const gb_shipped *gb_shipped_loops(int base, int *n);   /* base: those for every machine */
const gb_shipped_state *gb_shipped_states(int *n);
const char *gb_shipped_set(void);   /* "base", "avx2", ... */

#endif
