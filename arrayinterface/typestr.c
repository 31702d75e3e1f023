/* typestr.c: the type of an item, read as strictly as the array interface defines it. np.dtype
 * would take much more: Python objects over foreign bytes, names that describe no array, and
 * "<M8[s/0]", which divides by zero. */
#include "interface.h"
#include "../alloc/elements.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char native = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? '<' : '>';

__attribute__((format(printf, 4, 5))) static int wrong(const char *text, size_t n, gb_error *e,
                                                       const char *format, ...) {
    char cut[64], quoted[256], why[256];
    va_list args;
    if (n >= sizeof cut) n = sizeof cut - 1;
    memcpy(cut, n ? text : "", n);
    cut[n] = 0;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    return gb_refuse(e, GB_VALUE_ERROR, "typestr: %s %s", gb_quoted(quoted, sizeof quoted, cut),
                     why);
}

/* The sizes that a kind can have, as a sum of powers of two; 0: any. */
static int64_t sizes_of(char kind) {
    int64_t sizes = 0;
    for (int type = GB_RAW + 1; type < GB_TYPES; type++)
        if (gb_type_kind(type) == kind && gb_type_char(type) != ' ') sizes |= gb_type_size(type);
    return sizes;
}

static int wrong_size(const char *text, size_t n, const gb_interface_item_type *item,
                      int64_t allowed, gb_error *e) {
    char list[64], *at = list;
    for (int64_t size = 1; size <= 32; size *= 2)
        if (allowed & size) at += sprintf(at, "%s%d", at == list ? "" : " ", (int)size);
    return wrong(text, n, e, "has size %" PRId64 "; kind %c can have [%s] bytes", item->size,
                 item->kind, list);
}

/* Digits without a leading zero that make a number of at most `most`: how many there are, or 0. */
static size_t number(const char *s, size_t n, int64_t most, int64_t *value) {
    size_t i = 0;
    for (*value = 0; i < n && s[i] >= '0' && s[i] <= '9'; i++)
        if (__builtin_mul_overflow(*value, 10, value) ||
            __builtin_add_overflow(*value, s[i] - '0', value))
            return 0;
    return *value > most || (i > 1 && s[0] == '0') ? 0 : i;
}

/* What stands in the brackets: a unit, and a whole multiple before it. */
static int is_unit(const char *s, size_t n) {
    static const char *const units[] = {"Y",  "M",  "W",  "D",  "h",  "m", "s",
                                        "ms", "us", "ns", "ps", "fs", "as"};
    int64_t multiple;
    size_t digits = number(s, n, INT32_MAX, &multiple);
    if (digits && !multiple) return 0;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strlen(units[i]) == n - digits && memcmp(s + digits, units[i], n - digits) == 0)
            return 1;
    return 0;
}

/* text[at] is the bracket behind the size. */
static int read_unit(const char *text, size_t n, size_t at, gb_interface_item_type *item,
                     gb_error *e) {
    size_t length = n - at - 1;
    if (item->kind != 'm' && item->kind != 'M')
        return wrong(text, n, e, "has a unit; only the times m and M have");
    int closed = length && text[n - 1] == ']';
    if (closed && is_unit(text + at + 1, length - 1)) return item->unit = (uint8_t)(at + 1), 0;
    return wrong(text, n, e,
                 "has unit \"%.*s\"; allowed are Y, M, W, D, h, m, s, ms, us, ns, ps, fs and as, "
                 "with a whole multiple before them",
                 (int)(length - closed < 40 ? length - closed : 40), text + at + 1);
}

int gb_interface_typestr(const char *text, size_t n, gb_interface_item_type *item, gb_error *e) {
    if (n < 2)
        return wrong(text, n, e,
                     "is too short; a byte order, a kind and a size are needed, such as <f8");
    if (memchr(text, 0, n)) return wrong(text, n, e, "goes on behind a zero byte");
    if (!strchr("<>|", text[0]))
        return wrong(text, n, e, "begins with '%c'; allowed are <, > and |",
                     text[0] >= ' ' && text[0] <= '~' ? text[0] : '?');
    if (text[1] == 'O')
        return wrong(text, n, e, "holds Python objects, which cannot be shared as memory");
    if (!strchr("biufcmMSUV", text[1]))
        return wrong(text, n, e, "has kind '%c'; allowed are b, i, u, f, c, m, M, S, U and V",
                     text[1] >= ' ' && text[1] <= '~' ? text[1] : '?');
    *item = (gb_interface_item_type){.kind = text[1], .order = text[0]};
    const char *bracket = memchr(text, '[', n);
    size_t end = bracket ? (size_t)(bracket - text) : n,
           digits = number(text + 2, end - 2, INT64_MAX, &item->size);
    if (!digits || 2 + digits != end)
        return wrong(text, n, e,
                     "has size \"%.*s\"; a number of bytes (for U, of characters) is needed",
                     (int)(end - 2 < 40 ? end - 2 : 40), text + 2);
    int64_t allowed = sizes_of(item->kind);
    if (bracket && read_unit(text, n, end, item, e) < 0) return -1;
    if (allowed && (item->size > 32 || !(item->size & allowed) || item->size & (item->size - 1)))
        return wrong_size(text, n, item, allowed, e);
    if (allowed && item->size > 1 && item->order == '|')
        return wrong(text, n, e,
                     "does not say its byte order; < or > is needed for more than one byte");
    if (item->kind == 'U' && __builtin_mul_overflow(item->size, 4, &item->size))
        return wrong(text, n, e, "is larger than any memory (2^63 bytes)");
    if (item->kind == 'S' || item->kind == 'V' || item->size == 1) item->order = '|';
    else if (item->order == '|') item->order = native;
    return 0;
}

int gb_interface_item(const char *text, size_t n, gb_interface_item_type *item, gb_error *e) {
    if (gb_interface_typestr(text, n, item, e) < 0) return -1;
    return item->size ? 0 : wrong(text, n, e, "has no bytes; items of 1 byte or more are needed");
}
