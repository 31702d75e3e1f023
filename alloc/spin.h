/* spin.h: a lock for a handful of pointer moves; taken without waiting it costs about half a
 * pthread mutex. */
#pragma once

#include <sched.h>

typedef struct {
    char held;
} gb_spin;

/* Says to the processor that this is a wait: it slows down, and leaves the line to the holder. */
static inline void gb_spin_pause(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory"); /* yield is a no-operation there */
#endif
}

/* Who waits only reads, so that waiting threads do not take the line from each other. */
static inline void gb_spin_lock(gb_spin *s) {
    for (int tries = 0; __atomic_test_and_set(&s->held, __ATOMIC_ACQUIRE);)
        while (__atomic_load_n(&s->held, __ATOMIC_RELAXED))
            if (tries++ < 64) gb_spin_pause();
            else sched_yield(); /* the holder lost its core */
}

static inline void gb_spin_unlock(gb_spin *s) { __atomic_clear(&s->held, __ATOMIC_RELEASE); }
