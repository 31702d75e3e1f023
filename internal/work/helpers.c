/* helpers.c: the pool of helpers: one lock, one list of loans, one condition under which helpers
 * sleep. */
#define _GNU_SOURCE
#include "helpers.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>

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

void gb_work_together(void (*run)(void *of), void *of, int n) {
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
    if (p.loan.awaited) { /* they would find nothing left to do */
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
