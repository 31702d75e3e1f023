/* without_go.c: exports and checks in a program that has no Go runtime, from several
 * threads and from forked children. Prints how often the release function ran. */
#include "tensor.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 8
#define EACH 400 /* of either flavour */

static atomic_int released;

static void release(void *owner) {
    if (*(int *)owner != 7) abort();
    free(owner);
    atomic_fetch_add(&released, 1);
}

static void expect(int ok, const char *what) {
    if (ok) return;
    fprintf(stderr, "failed: %s\n", what);
    exit(1);
}

static int *owner(void) {
    int *o = malloc(sizeof *o);
    *o = 7;
    return o;
}

typedef struct {
    DLManagedTensorVersioned *current[EACH];
    DLManagedTensor *legacy[EACH];
} made;

static double memory[3][4];
static const int64_t shape[] = {3, 4}, transposed[] = {1, 3};

static gb_dlpack_desc describe(void) {
    return (gb_dlpack_desc){.data = memory,
                            .shape = shape,
                            .device = {kDLCPU, 0},
                            .dtype = {kDLFloat, 64, 1},
                            .ndim = 2};
}

static void make(made *m) {
    gb_dlpack_desc d = describe();
    gb_error e;
    for (int i = 0; i < EACH; i++) {
        d.strides = i % 2 ? transposed : NULL;
        m->current[i] = gb_dlpack_versioned(&d, owner(), release);
        m->legacy[i] = gb_dlpack_legacy(&d, owner(), release);
        expect(gb_dlpack_check_versioned(m->current[i], &e) == 0, e.message);
        expect(gb_dlpack_check_legacy(m->legacy[i], &e) == 0, e.message);
        expect(gb_dlpack_check(&m->legacy[i]->dl_tensor, &e) == 0, e.message);
        expect(m->current[i]->dl_tensor.strides[0] == (i % 2 ? 1 : 4), "strides");
    }
}

static void *delete_all(void *arg) {
    made *m = arg;
    for (int i = 0; i < EACH; i++) {
        m->current[i]->deleter(m->current[i]);
        m->legacy[i]->deleter(m->legacy[i]);
    }
    return NULL;
}

static void test_threads(void) { /* made here, deleted there */
    static made all[THREADS];
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) make(&all[i]);
    for (int i = 0; i < THREADS; i++)
        expect(pthread_create(&threads[i], NULL, delete_all, &all[i]) == 0, "thread");
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
}

static void test_fork(void) { /* a child deletes its copy, and makes its own */
    static made before;
    make(&before);
    for (int i = 0; i < 20; i++) {
        pid_t child = fork();
        if (child == 0) {
            atomic_store(&released, 0);
            static made after;
            make(&after);
            delete_all(&before);
            delete_all(&after);
            _exit(atomic_load(&released) == 4 * EACH ? 0 : 1);
        }
        int status;
        expect(waitpid(child, &status, 0) == child && status == 0, "child");
    }
    int in_parent = atomic_load(&released);
    delete_all(&before);
    atomic_store(&released, in_parent);
}

static void test_refusals(void) {
    gb_dlpack_desc d = describe();
    gb_error e;
    d.flags = DLPACK_FLAG_BITMASK_READ_ONLY;
    expect(gb_dlpack_legacy(&d, NULL, NULL) == NULL && errno == EINVAL, "read-only legacy");
    DLTensor t = {.ndim = -1};
    expect(gb_dlpack_check(&t, &e) == -1 && strcmp(e.message, "ndim: -1; allowed are 0 to 32") == 0,
           "a reason");
    expect(gb_dlpack_check(NULL, &e) == -1 && e.kind == GB_VALUE_ERROR &&
               strcmp(e.message, "tensor: NULL") == 0,
           "no tensor");
    d.flags = 0;
    d.ndim = 0;
    DLManagedTensorVersioned *m = gb_dlpack_versioned(&d, NULL, NULL);
    expect(m && m->dl_tensor.shape && m->dl_tensor.data == memory, "0-d");
    m->deleter(m);
}

int main(void) {
    test_threads();
    test_fork();
    test_refusals();
    printf("released %d\n", atomic_load(&released));
    return 0;
}
