/* work.h: planned work as pieces, any range of which may be done by any thread; the threads of C
 * that help any room with it; and how many of them work is worth. */
#pragma once

#include <fenv.h>
#include <stdint.h>

typedef struct gb_work {
    void (*run)(void *of, int64_t first, int64_t end);
    void *of;
    int64_t pieces, at; /* at: the first piece that no thread has begun */
    int64_t batch;      /* pieces worth taking at a time */
    int threads;        /* threads that pay */
} gb_work;

/* Go on for about as long as the budget says, on the caller's thread and helpers, a batch at a
 * time. All pieces below the one where it stops are done. 1: all are done. */
int gb_work_resume(gb_work *work, int64_t nanoseconds);

/* How many threads share large work: gb_work_set_thread_count, else GRIDBUF_NUM_THREADS, else the
 * processors of this process: those of its affinity mask, and no more than the CPU quota of its
 * control groups. The one answer for C, Go and Python. */
int gb_work_thread_count(void);
void gb_work_set_thread_count(int n); /* below 1: forget the setting */
/* Processors that the control groups allow, the process's own and those above it (versions 2 and
 * 1); 0: all. root is where /proc and /sys are. */
double gb_work_cpu_quota(const char *root);

/* How many of them so many bytes are worth, where from `enough` on several threads are: waking one
 * costs 10 to 50 us. */
int gb_work_threads(int64_t bytes, int64_t enough);
/* How many pieces lie between two looks at the clock, where `worth` bytes are worth one. */
int64_t gb_work_batch(int64_t bytes, int64_t pieces, int64_t worth);

/* ---- helpers ----
 *
 * A helper sleeps until it is lent to a function, and is made when a call first wants it. Where the
 * system makes no more threads there are fewer helpers, or none, and the caller works alone:
 * nothing fails. A forked child begins without helpers and makes its own. Helpers block all signals
 * but those that a fault raises, and work in the floating-point environment of the thread they are
 * lent by. */

/* A function that waits for helpers; it stays where it is until the last one has begun, or
 * gb_work_take_back. */
typedef struct gb_work_loan {
    void (*run)(void *of);
    void *of;
    int awaited; /* helpers that are to come and have not begun */
    fenv_t environment;
    struct gb_work_loan *next;
} gb_work_loan;

/* Lend up to n helpers: those that sleep, and new ones while there are fewer than `most`. How many
 * will come; each runs loan->run(loan->of) once. loan is zeroed but for run and of, or one that was
 * lent before. */
int gb_work_lend(gb_work_loan *loan, int n, int most);
