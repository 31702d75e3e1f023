/* slow_kernels.c: kernels whose elements are slow, meet, wait or raise flags; the tests
 * compile it. None of them says anything about how long things take: they wait for each
 * other, for at most ten seconds, and say whether what they waited for came. */
#define _GNU_SOURCE
#include <fenv.h>
#include <signal.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

static int inside, met, flag, calls, ran;

static void nap(double ms) {
    struct timespec t = {0, (long)(ms * 1e6)};
    if (ms > 0) nanosleep(&t, 0);
}

static int wait_for(int *what, int least) {
    for (int i = 0; i < 10000 && __atomic_load_n(what, __ATOMIC_SEQ_CST) < least; i++) nap(1);
    return __atomic_load_n(what, __ATOMIC_SEQ_CST) >= least;
}

/* The number of ms that x says; -1 waits until another thread is here too, -2 for the
 * flag, -3 sends SIGINT to the process, -4 SIGUSR1. -9: what was waited for did not come. */
double element(double x) {
    __atomic_fetch_add(&ran, 1, __ATOMIC_SEQ_CST);
    if (x >= 0) {
        nap(x);
        return 2 * x;
    }
    if (x == -1) {
        if (__atomic_add_fetch(&inside, 1, __ATOMIC_SEQ_CST) > 1)
            __atomic_store_n(&met, 1, __ATOMIC_SEQ_CST);
        int ok = wait_for(&met, 1);
        __atomic_sub_fetch(&inside, 1, __ATOMIC_SEQ_CST);
        return ok ? -2 : -9;
    }
    if (x == -2) return wait_for(&flag, 1) ? -4 : -9;
    if (x == -3) kill(getpid(), SIGINT);
    if (x == -4) kill(getpid(), SIGUSR1);
    return 2 * x;
}

void numpy_form(char **args, intptr_t const *dims, intptr_t const *steps, void *data) {
    __atomic_fetch_add(&calls, 1, __ATOMIC_SEQ_CST);
    for (intptr_t e = 0; e < dims[0]; e++)
        *(double *)(args[1] + e * steps[1]) = element(*(double *)(args[0] + e * steps[0]));
}

intptr_t status_form(char **args, intptr_t const *dims, intptr_t const *steps, void *data,
                     uint8_t *status) {
    numpy_form(args, dims, steps, data);
    intptr_t failed = 0;
    for (intptr_t e = 0; e < dims[0]; e++)
        failed += status[e] = *(double *)(args[1] + e * steps[1]) == -9;
    return failed;
}

void sum_form(char **args, intptr_t const *dims, intptr_t const *steps, void *data) {
    for (intptr_t e = 0; e < dims[0]; e++)
        *(double *)(args[2] + e * steps[2]) =
            *(double *)(args[0] + e * steps[0]) + *(double *)(args[1] + e * steps[1]);
}

/* Reductions with a state: the sum of the elements, or of what they say. */
void sum_step(void *state, intptr_t first, intptr_t n, char **args, intptr_t const *steps,
              void *data) {
    for (intptr_t i = 0; i < n; i++) *(double *)state += *(double *)(args[0] + i * steps[0]);
}
void meeting_step(void *state, intptr_t first, intptr_t n, char **args, intptr_t const *steps,
                  void *data) {
    for (intptr_t i = 0; i < n; i++)
        *(double *)state += element(*(double *)(args[0] + i * steps[0]));
}
void sum_merge(void *state, void const *later, void *data) {
    *(double *)state += *(double const *)later;
}
int sum_final(void const *state, char **outs, void *data) {
    *(double *)outs[0] = *(double const *)state;
    return *(double const *)state < 0;
}

void reset(void) { inside = met = flag = calls = ran = 0; }
void set_flag(void) { __atomic_store_n(&flag, 1, __ATOMIC_SEQ_CST); }
int elements_run(void) { return ran; }
int kernel_calls(void) { return calls; }

/* ---- flags: 1 invalid, 2 division by zero, 4 overflow, in the three ways there are ---- */

static int exceptions(int code) {
    return (code & 1 ? FE_INVALID : 0) | (code & 2 ? FE_DIVBYZERO : 0) |
           (code & 4 ? FE_OVERFLOW : 0);
}

double by_feraiseexcept(double code) {
    feraiseexcept(exceptions((int)code));
    return code;
}

#define ARITHMETIC(name, type, largest)                         \
    double name(double code) {                                  \
        volatile type zero = 0, one = 1, big = largest, result; \
        if ((int)code & 1) result = zero / zero;                \
        if ((int)code & 2) result = one / zero;                 \
        if ((int)code & 4) result = big * big;                  \
        (void)result;                                           \
        return code;                                            \
    }
ARITHMETIC(by_double, double, 0x1p1000)
ARITHMETIC(by_float, float, 0x1p100f)
#if __LDBL_MAX_EXP__ > 1024
ARITHMETIC(by_long_double, long double, 0x1p16000L)
#else
ARITHMETIC(by_long_double, long double, 0x1p1000L)
#endif

void raise_flags(int code) { feraiseexcept(exceptions(code)); }
void clear_flags(void) { feclearexcept(FE_ALL_EXCEPT); }
int raised_flags(void) {
    int f = fetestexcept(FE_ALL_EXCEPT);
    return (f & FE_INVALID ? 1 : 0) | (f & FE_DIVBYZERO ? 2 : 0) | (f & FE_OVERFLOW ? 4 : 0);
}
