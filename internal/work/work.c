/* work.c: planned work shared by the caller and a pool of helpers, which is one lock, one list of
 * loans and one condition under which helpers sleep; and how many threads work is worth. */
#define _GNU_SOURCE
#include "work.h"
#include "../../alloc/system.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- helpers ---- */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t lent;
    gb_work_loan *first; /* loans with helpers to come */
    int helpers, busy,
        awaited; /* in all; of them inside a function; of the others promised to a loan */
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .lent = PTHREAD_COND_INITIALIZER};

static void remove_loan(gb_work_loan *loan) {
    gb_work_loan **at = &pool.first;
    while (*at != loan) at = &(*at)->next;
    *at = loan->next;
}

static void *help(void *unused) {
#ifdef __linux__
    pthread_setname_np(pthread_self(), "gridbuf");
#endif
    pthread_mutex_lock(&pool.lock);
    for (;;) {
        gb_work_loan *loan = pool.first;
        if (!loan) {
            pthread_cond_wait(&pool.lent, &pool.lock);
            continue;
        }
        void (*run)(void *) = loan->run;
        void *of = loan->of;
        fenv_t environment = loan->environment;
        if (--loan->awaited == 0) remove_loan(loan);
        pool.awaited--;
        pool.busy++;
        pthread_mutex_unlock(&pool.lock);
        fesetenv(&environment);
        run(of); /* the loan may be gone afterwards */
        pthread_mutex_lock(&pool.lock);
        pool.busy--;
    }
    return NULL;
}

/* A new thread inherits the mask of signals. */
static int make_helper(void) {
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};
    sigset_t blocked, before;
    pthread_attr_t detached;
    pthread_t thread;
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) sigdelset(&blocked, faults[i]);
    if (pthread_attr_init(&detached) != 0) return 0;
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    int made = pthread_create(&thread, &detached, help, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&detached);
    return made;
}

/* The caller holds the lock. */
static int lend(gb_work_loan *loan, int n, int most) {
    int asleep = pool.helpers - pool.busy - pool.awaited;
    while (asleep < n && pool.helpers < most && make_helper()) {
        pool.helpers++;
        asleep++;
    }
    int lent = asleep < n ? asleep : n;
    if (lent <= 0) return 0;
    fegetenv(&loan->environment);
    if (loan->awaited == 0) {
        loan->next = pool.first;
        pool.first = loan;
    }
    loan->awaited += lent;
    pool.awaited += lent;
    for (int i = 0; i < lent; i++) pthread_cond_signal(&pool.lent);
    return lent;
}

int gb_work_lend(gb_work_loan *loan, int n, int most) {
    pthread_mutex_lock(&pool.lock);
    int lent = lend(loan, n, most);
    pthread_mutex_unlock(&pool.lock);
    return lent;
}

/* ---- with the caller ---- */

typedef struct party {
    gb_work_loan loan;
    void (*run)(void *of);
    void *of;
    int through;
    pthread_cond_t left;
} party;

static void take_part(void *of) {
    party *p = of;
    p->run(p->of);
    pthread_mutex_lock(&pool.lock);
    p->through++;
    pthread_cond_signal(&p->left);
    pthread_mutex_unlock(&pool.lock);
}

/* run(of) on this thread and on up to n helpers; returns when each that has begun is through. */
static void run_together(void (*run)(void *of), void *of, int n) {
    if (n <= 0) {
        run(of);
        return;
    }
    party p = {.loan = {.run = take_part, .of = &p},
               .run = run,
               .of = of,
               .left = PTHREAD_COND_INITIALIZER};
    int begun = gb_work_lend(&p.loan, n, n);
    run(of);
    if (!begun) return;
    pthread_mutex_lock(&pool.lock);
    if (p.loan.awaited) { /* later workers would find nothing left to do */
        remove_loan(&p.loan);
        pool.awaited -= p.loan.awaited;
        begun -= p.loan.awaited;
    }
    while (p.through < begun) pthread_cond_wait(&p.left, &pool.lock);
    pthread_mutex_unlock(&pool.lock);
    pthread_cond_destroy(&p.left);
}

/* ---- fork: a child has none of the helpers, and loans of other threads are nothing to it ---- */

static void before_fork(void) { pthread_mutex_lock(&pool.lock); }
static void after_fork_parent(void) { pthread_mutex_unlock(&pool.lock); }

static void after_fork_child(void) {
    pthread_mutex_init(&pool.lock, NULL);
    pthread_cond_init(&pool.lent, NULL);
    pool.first = NULL;
    pool.helpers = pool.busy = pool.awaited = 0;
}

__attribute__((constructor)) static void start(void) {
    pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

/* ---- batches ---- */

typedef struct share {
    const gb_work *work;
    int64_t next, deadline; /* next: atomic */
} share;

static void take_batches(void *of) {
    share *s = of;
    const gb_work *work = s->work;
    for (;;) {
        int64_t first = __atomic_fetch_add(&s->next, work->batch, __ATOMIC_RELAXED),
                end = first + work->batch;
        if (first >= work->pieces) return;
        work->run(work->of, first, end < work->pieces ? end : work->pieces);
        if (gb_nanoseconds() >= s->deadline) return;
    }
}

int gb_work_resume(gb_work *work, int64_t nanoseconds) {
    share s = {work, work->at, gb_nanoseconds() + nanoseconds};
    run_together(take_batches, &s, work->threads - 1);
    work->at = s.next < work->pieces ? s.next : work->pieces;
    return work->at == work->pieces;
}

/* ---- how many threads ---- */

static int chosen; /* 0: not set */

/* ---- control groups ---- */

/* Processors that the limits in one folder allow; 0: no limit. */
static double quota_of(const char *folder) {
    char path[GB_GROUP_PATH + 32];
    double quota = 0, period = 0;
    snprintf(path, sizeof path, "%s/cpu.max", folder);
    FILE *f = fopen(path, "re");
    if (f) { /* "max 100000" or "150000 100000" */
        int n = fscanf(f, "%lf %lf", &quota, &period);
        fclose(f);
        return n == 2 && quota > 0 && period > 0 ? quota / period : 0;
    }
    double *const into[] = {&quota, &period};
    static const char *const names[] = {"quota", "period"};
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/cpu.cfs_%s_us", folder, names[i]);
        f = fopen(path, "re");
        int n = f ? fscanf(f, "%lf", into[i]) : 0;
        if (f) fclose(f);
        if (n != 1) return 0;
    }
    return quota > 0 && period > 0 ? quota / period : 0;
}

double gb_work_cpu_quota(const char *root) { return gb_group_limit(root, "cpu", quota_of); }

/* ---- processors ---- */

static int processors(void) {
    static int allowed; /* by the control groups, asked once; 0: not yet */
    int n = 0, most = __atomic_load_n(&allowed, __ATOMIC_RELAXED);
#ifdef __linux__
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) n = CPU_COUNT(&set);
#endif
    if (n < 1) n = (int)sysconf(_SC_NPROCESSORS_ONLN);
    if (!most) {
        double quota = gb_work_cpu_quota("");
        most = quota > 0 && quota < 1 << 16 ? (int)ceil(quota) : 1 << 16;
        __atomic_store_n(&allowed, most, __ATOMIC_RELAXED);
    }
    if (n > most) n = most;
    return n > 0 ? n : 1;
}

int gb_work_thread_count(void) {
    int n = __atomic_load_n(&chosen, __ATOMIC_RELAXED);
    if (n > 0) return n;
    const char *asked = gb_setting("GRIDBUF_NUM_THREADS");
    n = asked ? atoi(asked) : 0;
    return n > 0 ? n : processors();
}

void gb_work_set_thread_count(int n) { __atomic_store_n(&chosen, n, __ATOMIC_RELAXED); }

int gb_work_threads(int64_t bytes, int64_t enough) {
    if (bytes < enough) return 1;
    int64_t most = bytes / (enough / 2), n = gb_work_thread_count();
    return (int)(most < n ? most : n);
}

int64_t gb_work_batch(int64_t bytes, int64_t pieces, int64_t worth) {
    int64_t mean = pieces ? bytes / pieces : 1;
    return mean >= worth ? 1 : worth / (mean + 1) + 1;
}
