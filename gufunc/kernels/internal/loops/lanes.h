/* lanes.h: vectors whose lanes are neighbouring elements of a stack. Included by the
 * templates once per type (REAL, WORD: an integer of its size) and instruction set. */
#pragma once

#ifdef __clang__
#pragma clang fp contract(fast) /* as gcc does where the processor has fused instructions */
#else
#pragma GCC optimize("no-math-errno")
#endif

typedef REAL vec __attribute__((vector_size(LANE_BYTES)));
typedef WORD mask __attribute__((vector_size(LANE_BYTES)));
#define LANES ((int)(LANE_BYTES / sizeof(REAL)))
#define INLINE static inline __attribute__((always_inline))

INLINE vec splat(REAL v) { return v - (vec){0}; }
INLINE vec choose(mask m, vec a, vec b) { return (vec)(((mask)a & m) | ((mask)b & ~m)); }
INLINE void exchange(mask m, vec *a, vec *b) {
    mask difference = ((mask)*a ^ (mask)*b) & m;
    *a = (vec)((mask)*a ^ difference);
    *b = (vec)((mask)*b ^ difference);
}
INLINE vec magnitude(vec a) { return (vec)((mask)a & ~((mask)splat((REAL)-0.0))); }

/* LANES elements, step bytes apart. */
INLINE vec load(const char *p, intptr_t step) {
    vec v;
    if (step == sizeof(REAL)) {
        memcpy(&v, p, sizeof v);
        return v;
    }
    for (int l = 0; l < LANES; l++) v[l] = *(const REAL *)(p + l * step);
    return v;
}
INLINE void store(char *p, intptr_t step, vec v) {
    if (step == sizeof(REAL)) {
        memcpy(p, &v, sizeof v);
        return;
    }
    for (int l = 0; l < LANES; l++) *(REAL *)(p + l * step) = v[l];
}
/* The last few elements: missing lanes repeat the first, and are not stored. */
INLINE vec load_some(const char *p, intptr_t step, int n) {
    vec v = splat(*(const REAL *)p);
    for (int l = 1; l < n; l++) v[l] = *(const REAL *)(p + l * step);
    return v;
}
INLINE void store_some(char *p, intptr_t step, vec v, int n) {
    for (int l = 0; l < n; l++) *(REAL *)(p + l * step) = v[l];
}
INLINE vec get(const char *p, intptr_t step, int n) {
    return n == LANES ? load(p, step) : load_some(p, step, n);
}
INLINE void put(char *p, intptr_t step, vec v, int n) {
    if (n == LANES) store(p, step, v);
    else store_some(p, step, v, n);
}

/* A lane is good when its value is finite. */
INLINE mask is_finite(vec v) { return v - v == (vec){0}; }

/* Report lanes that failed; returns how many. */
INLINE intptr_t report(mask good, uint8_t *status, int n) {
    intptr_t failed = 0;
    for (int l = 0; l < n; l++)
        if (!good[l]) {
            failed++;
            if (status) status[l] = 1;
        }
    return failed;
}
