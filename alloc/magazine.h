/* magazine.h: what each thread keeps of the heap for itself, where Python has no GIL
 * (GB_HEAP_MAGAZINES, which setup.py says).
 *
 * A thread's free blocks are used for whoever counts slabs: they lie in its magazines, linked by
 * where their data was, with their slab in the header. Its lock, which nobody else takes in a hot
 * call, lets others count and collect. Locks are taken in this order: the list of threads, the
 * threads, the heap. */
#pragma once

#include "slab.h"

#ifdef GB_HEAP_MAGAZINES
/* The whole heap, counters of all threads added up. */
void gb_heap_lock_all(void);
void gb_heap_unlock_all(void);

/* The caller holds all locks. */
void gb_heap_empty_magazines(void);      /* every block back into its slab */
void gb_heap_allow_magazines(int allow); /* or from now on every call asks the heap */
void gb_heap_forget_threads(void);       /* all but this one have ended (fork) */
#else
static inline void gb_heap_lock_all(void) { gb_spin_lock(&gb_heap_state.lock); }
static inline void gb_heap_unlock_all(void) { gb_spin_unlock(&gb_heap_state.lock); }
static inline void gb_heap_empty_magazines(void) {}
static inline void gb_heap_allow_magazines(int allow) { (void)allow; }
static inline void gb_heap_forget_threads(void) {}
#endif
