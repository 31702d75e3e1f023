/* control.h: the fake driver's own functions, found with dlsym. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define CONTROLS(X)                                                            \
    X(void, fail, (const char *name, int64_t nth, int code, int sticky),       \
      (name, nth, code, sticky))                                               \
    X(int, failures, (void), ())                                               \
    X(void, no_failures, (void), ())                                           \
    X(int64_t, count, (const char *name), (name))                              \
    X(int64_t, misuses, (void), ())                                            \
    X(const char *, last_misuse, (void), ())                                   \
    X(void, shut_down, (int code), (code))                                     \
    X(void, destroy_context, (int device, int destroyed), (device, destroyed)) \
    X(void, set_memory, (int64_t bytes), (bytes))                              \
    X(void, watch, (int watch), (watch))                                       \
    X(void, awaited, (int questions), (questions))                             \
    X(uint64_t, stream_on, (int device, int blocking), (device, blocking))     \
    X(void, clear_misuses, (void), ())                                         \
    X(void, reset, (void), ())                                                 \
    X(void, hold, (int hold), (hold))                                          \
    X(void, run_every, (int microseconds), (microseconds))                     \
    X(int64_t, pump, (uint64_t stream, int64_t most), (stream, most))          \
    X(int64_t, balance, (void), ())                                            \
    X(uint64_t, foreign_stream, (void), ())                                    \
    X(int64_t, launched, (const char *name), (name))                           \
    X(const char *, module, (void), ())                                        \
    X(int64_t, blocks, (void), ())                                             \
    X(int64_t, open_events, (void), ())                                        \
    X(int64_t, open_streams, (void), ())                                       \
    X(void *, look, (uint64_t address, size_t bytes), (address, bytes))

#define DECLARE(type, name, parameters, arguments) type fake_##name parameters;
CONTROLS(DECLARE)
#undef DECLARE

const char *fake_open(const char *path); /* NULL, or what is wrong */
int other_init(void);
int in_child(uint64_t old, char *text, int room);
void *host(uint64_t address);
