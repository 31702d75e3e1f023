/* errors.c: the texts of refusals, the same as Go writes (errors.go). */
#include "errors.h"
#include "numbers.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int gb_refuse(gb_error *e, int32_t kind, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int length = vsnprintf(e->message, sizeof e->message, format, args);
    va_end(args);
    if (length >= (int)sizeof e->message) { /* NumPy and Python refuse half a character */
        size_t n = strlen(e->message);
        while (n > 0 && ((unsigned char)e->message[n - 1] & 0xC0) == 0x80) n--;
        if (n > 0 && (unsigned char)e->message[n - 1] >= 0xC0) e->message[n - 1] = 0;
    }
    e->kind = kind;
    return -1;
}

char *gb_text_ints(char *out, const int64_t *values, int n) {
    char *at = out;
    *at++ = '[';
    for (int i = 0; i < n; i++) at += sprintf(at, "%s%" PRId64, i ? " " : "", values[i]);
    strcpy(at, "]");
    return out;
}

char *gb_text_ranks(char *out, const int32_t *values, int n) {
    int64_t wide[64];
    for (int i = 0; i < n; i++) wide[i] = values[i];
    return gb_text_ints(out, wide, n);
}

char *gb_text_dim(char *out, int32_t dim) {
    if (dim < GB_DIM_I) sprintf(out, "Dim(%" PRId32 ")", dim);
    else if (dim < 0) sprintf(out, "%c", GB_DIM_LETTER(dim));
    else sprintf(out, "%" PRId32, dim);
    return out;
}

char *gb_text_dims(char *out, const int32_t *dims, int n) {
    char *at = out;
    *at++ = '[';
    for (int i = 0; i < n; i++) {
        if (i) *at++ = ' ';
        at += strlen(gb_text_dim(at, dims[i]));
    }
    strcpy(at, "]");
    return out;
}

char *gb_quoted(char *out, int64_t room, const char *text) {
    char *at = out, *end = out + room - 8; /* one escape, the quote and the zero */
    *at++ = '"';
    for (; *text && at < end; text++) {
        unsigned char c = (unsigned char)*text;
        static const char letters[] = "abtnvfr";
        if (c == '"' || c == '\\') *at++ = '\\', *at++ = (char)c;
        else if (c >= 7 && c <= 13) *at++ = '\\', *at++ = letters[c - 7];
        else if (c < ' ' || c == 0x7f) at += sprintf(at, "\\x%02x", c);
        else *at++ = (char)c;
    }
    strcpy(at, "\"");
    return out;
}
