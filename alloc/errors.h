/* errors.h: a refusal as it travels from the rooms below to Python. */
#pragma once

#include <stdint.h>

/* Families of errors. The first four are alloc.Kind; rooms above use the others. */
enum {
    GB_VALUE_ERROR = 1,
    GB_TYPE_ERROR,
    GB_MEMORY_ERROR,
    GB_RUNTIME_ERROR,
    GB_BUFFER_ERROR,
    GB_BACKEND_ERROR,
    GB_PANIC,
    GB_SIGNATURE_ERROR
};

typedef struct gb_error {
    int32_t kind;
    char message[1020];
} gb_error;

/* Fill in e; -1. A text longer than the room is cut between characters, not inside one. */
__attribute__((format(printf, 3, 4))) int gb_refuse(gb_error *e, int32_t kind, const char *format,
                                                    ...);

/* Lists as Go prints them, "[1 2 3]"; each needs room for n entries. They return out. */
#define GB_TEXT(n) ((n) * 21 + 3)
char *gb_text_ints(char *out, const int64_t *values, int n);
char *gb_text_ranks(char *out, const int32_t *values, int n);
char *gb_text_dim(char *out, int32_t dim);
char *gb_text_dims(char *out, const int32_t *dims, int n);

/* The text in quotes, with what cannot be read escaped; at most room bytes. Returns out. */
char *gb_quoted(char *out, int64_t room, const char *text);
