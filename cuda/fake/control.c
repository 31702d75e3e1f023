/* control.c: how tests steer the fake driver.
 * FAKE_CUDA="devices=2,memory=1048576,version=12040,pools=0,hold=1,init=100,refuse=222" sets it up
 * before cuInit; fake_reset() brings that back. */
#include "fake.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

fake_settings fake;
static const char *const names[] = {
#define NAME(name, parameters) #name,
    GB_CU_ENTRIES(NAME, NAME)};
static int64_t counts[FAKE_ENTRIES], calls, misuses;
static struct {
    int entry;
    int64_t nth;
    int code, sticky;
} failures[16];
static int gone; /* the code that everything answers with: the driver is shut down */
static char last_misuse[256];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int number(const char *text, const char *key, int64_t *value) {
    const char *at = text ? strstr(text, key) : NULL;
    if (at) *value = strtoll(at + strlen(key), NULL, 0);
    return at != NULL;
}

static int index_of(const char *name) {
    for (int i = 0; i < FAKE_ENTRIES; i++)
        if (strcmp(names[i], name) == 0) return i;
    return -1; /* any */
}

/* ---- for tests ---- */

EXPORT void fake_fail(const char *name, int64_t nth, int code, int sticky) {
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < sizeof failures / sizeof *failures; i++)
        if (!failures[i].code) {
            int entry = index_of(name);
            failures[i].entry = entry;
            failures[i].nth = (entry < 0 ? calls : counts[entry]) + nth;
            failures[i].code = code;
            failures[i].sticky = sticky;
            break;
        }
    pthread_mutex_unlock(&lock);
}

EXPORT int fake_failures(void) { /* that have not happened yet */
    int n = 0;
    for (size_t i = 0; i < sizeof failures / sizeof *failures; i++) n += failures[i].code != 0;
    return n;
}

EXPORT void fake_no_failures(void) { memset(failures, 0, sizeof failures); }
EXPORT int64_t fake_count(const char *name) {
    int entry = index_of(name);
    return entry < 0 ? __atomic_load_n(&calls, __ATOMIC_RELAXED)
                     : __atomic_load_n(&counts[entry], __ATOMIC_RELAXED);
}
EXPORT int64_t fake_misuses(void) { return misuses; }
EXPORT void fake_clear_misuses(void) { misuses = 0; }
EXPORT const char *fake_last_misuse(void) { return last_misuse; }
EXPORT void fake_shut_down(int code) {
    gone = code;
} /* what a process that ends sees; 0: back again */
EXPORT void fake_set_memory(int64_t bytes) { fake.memory = bytes; }
EXPORT void fake_slow(int device) { fake.slow = device; } /* -1: none */
EXPORT void fake_watch(int watch) { fake.watch = watch; }
EXPORT void fake_late(int late) { fake.late = late; }
EXPORT void fake_awaited(int questions) { fake.awaited = questions; }

EXPORT void fake_reset(void) {
    const char *text = getenv("FAKE_CUDA");
    int64_t value;
    fake = (fake_settings){
        .devices = 1, .version = 12040, .pools = 1, .slow = -1, .memory = (int64_t)8 << 30};
    if (number(text, "devices=", &value)) fake.devices = (int)value;
    if (number(text, "version=", &value)) fake.version = (int)value;
    if (number(text, "pools=", &value)) fake.pools = (int)value;
    if (number(text, "hold=", &value)) fake.hold = (int)value;
    if (number(text, "memory=", &value)) fake.memory = value;
    if (number(text, "refuse=", &value)) fake.refuse = (int)value;
    fake_no_failures();
    if (number(text, "init=", &value)) fake_fail("cuInit", 1, (int)value, 1);
    memset(counts, 0, sizeof counts);
    calls = misuses = gone = 0;
}

__attribute__((constructor)) static void start(void) { fake_reset(); }

/* ---- for the other files ---- */

int fake_enter(int entry) {
    pthread_mutex_lock(&lock);
    __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&counts[entry], 1, __ATOMIC_RELAXED);
    if (gone) return gone;
    for (size_t i = 0; i < sizeof failures / sizeof *failures; i++) {
        int64_t count = failures[i].entry < 0 ? calls : counts[failures[i].entry];
        if (!failures[i].code || (failures[i].entry >= 0 && failures[i].entry != entry) ||
            count < failures[i].nth)
            continue;
        int code = failures[i].code;
        if (!failures[i].sticky) failures[i].code = 0;
        return code;
    }
    return 0;
}

int fake_leave(int code) {
    pthread_mutex_unlock(&lock);
    return code;
}

void fake_misuse(const char *format, ...) {
    va_list values;
    va_start(values, format);
    vsnprintf(last_misuse, sizeof last_misuse, format, values);
    va_end(values);
    misuses++;
    fprintf(stderr, "fake CUDA driver: %s\n", last_misuse);
    if (getenv("FAKE_CUDA_ABORT")) abort();
}

/* For fake_pump and its like, which are no entry points. */
void fake_lock(void) { pthread_mutex_lock(&lock); }
void fake_unlock(void) { pthread_mutex_unlock(&lock); }
