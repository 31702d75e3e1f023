/* control.c: calls the fake driver's own functions, which lie in a library of their own. */
#include "control.h"

#include "../../cuda.h"
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define POINTER(type, name, parameters, arguments) static type(*the_##name) parameters;
CONTROLS(POINTER)
#define FORWARD(type, name, parameters, arguments) \
    type fake_##name parameters { return the_##name arguments; }
CONTROLS(FORWARD)

static int (*the_init)(unsigned);
int other_init(void) { return the_init(0); }

const char *fake_open(const char *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) return dlerror();
#define FIND(type, name, parameters, arguments)            \
    *(void **)&the_##name = dlsym(library, "fake_" #name); \
    if (!the_##name) return "fake_" #name " is missing";
    CONTROLS(FIND)
    *(void **)&the_init = dlsym(library, "cuInit");
    return NULL;
}

void *host(uint64_t address) { return (void *)(uintptr_t)address; }

/* Go does not survive fork: what the child does is C. */
int in_child(uint64_t old, char *text, int room) {
    int ends[2], status = -1;
    if (pipe(ends)) return -1;
    pid_t child = fork();
    if (child == 0) {
        gb_cuda_request want = {.span = 64, .boundary = 256};
        gb_cuda_block *block = NULL;
        gb_cuda_error e = {0};
        if (old) gb_cuda_release((gb_cuda_block *)(uintptr_t)gb_cuda_find(old));
        gb_cuda_alloc(&want, &block, &e);
        ssize_t n = write(ends[1], e.text, strlen(e.text));
        _exit(n < 0 ? 99 : e.status);
    }
    close(ends[1]);
    ssize_t n = read(ends[0], text, (size_t)room - 1);
    text[n < 0 ? 0 : n] = 0;
    close(ends[0]);
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
