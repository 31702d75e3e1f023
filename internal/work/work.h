/* work.h: planned work as pieces, any range of which may be done by any thread, and how many
 * threads it is worth. */
#pragma once

#include <stdint.h>

typedef struct gb_work {
    void (*run)(void *of, int64_t first, int64_t end);
    void *of;
    int64_t pieces, at; /* at: the first piece that no thread has begun */
    int64_t batch;      /* pieces worth taking at a time */
    int threads;        /* that the work is worth */
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
