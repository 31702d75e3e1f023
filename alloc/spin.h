/* spin.h: a lock for a handful of pointer moves; about half a pthread mutex. */
#ifndef GRIDBUF_SPIN_H
#define GRIDBUF_SPIN_H

#include <sched.h>

typedef struct { char held; } gb_spin;

static inline void gb_lock(gb_spin *s) {
    for (int tries = 0; __atomic_test_and_set(&s->held, __ATOMIC_ACQUIRE); tries++)
        if (tries > 64) sched_yield();      /* the holder lost its core */
}

static inline void gb_unlock(gb_spin *s) { __atomic_clear(&s->held, __ATOMIC_RELEASE); }

#endif
