/* interface.c: the strict reader of array interfaces: the type of an item, the memory of the
 * elements, and the entries of __cuda_array_interface__ alone. */
#include "interface.h"

#include "../alloc/elements.h"
#include "../alloc/strides.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- the type of an item ----
 *
 * As strict as the definition of the array interface. np.dtype would take much more: Python objects
 * over foreign bytes, names that describe no array, and "<M8[s/0]", which divides by zero. */

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

/* Reads a number of at most `most`, without a leading zero; returns how many digits it has, or 0.
 */
static size_t number(const char *s, size_t n, int64_t most, int64_t *value) {
    size_t i = 0;
    for (*value = 0; i < n && s[i] >= '0' && s[i] <= '9'; i++)
        if (__builtin_mul_overflow(*value, 10, value) ||
            __builtin_add_overflow(*value, s[i] - '0', value))
            return 0;
    return *value > most || (i > 1 && s[0] == '0') ? 0 : i;
}

/* The text in the brackets: a unit, and a whole multiple before it. */
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
    if (closed && is_unit(text + at + 1, length - 1)) {
        item->unit = (uint8_t)(at + 1);
        return 0;
    }
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

/* ---- the memory of the elements, which NumPy does not check ---- */

int gb_interface_version(int64_t version, gb_error *e) {
    if (version == 3) return 0;
    return gb_refuse(e, GB_VALUE_ERROR, "version: %" PRId64 "; only 3 is read", version);
}

/* Sizes of 0 count as 1, so that strides of an array without elements can be worked out too. */
static int check_shape(const gb_interface *d, gb_error *e) {
    int64_t bytes = d->itemsize ? d->itemsize : 1;
    char text[GB_TEXT(GB_MAXDIMS)];
    if (d->ndim < 0 || d->ndim > GB_MAXDIMS)
        return gb_refuse(e, GB_VALUE_ERROR, "shape: %" PRId32 " dimensions; at most %d are allowed",
                         d->ndim, GB_MAXDIMS);
    for (int i = 0; i < d->ndim; i++)
        if (d->shape[i] < 0)
            return gb_refuse(e, GB_VALUE_ERROR,
                             "shape: entry %d is %" PRId64 "; sizes are 0 or more", i, d->shape[i]);
    for (int i = 0; i < d->ndim; i++)
        if (__builtin_mul_overflow(bytes, d->shape[i] ? d->shape[i] : 1, &bytes))
            return gb_refuse(e, GB_VALUE_ERROR,
                             "shape: %s of %" PRId64
                             "-byte items is larger than any memory (2^63 bytes)",
                             gb_text_ints(text, d->shape, d->ndim), d->itemsize);
    return 0;
}

static int is_empty(const gb_interface *d) {
    for (int i = 0; i < d->ndim; i++)
        if (d->shape[i] == 0) return 1;
    return 0;
}

/* The extent of the elements around the first one, in bytes: low <= 0 <= high. */
static int find_reach(const gb_interface *d, int64_t *low, int64_t *high, gb_error *e) {
    *low = 0;
    *high = 0;
    int i = is_empty(d) ? -1 : gb_reach(d->shape, d->strides, d->ndim, d->itemsize, low, high);
    if (i < 0) return 0;
    return gb_refuse(e, GB_VALUE_ERROR,
                     "strides: with entry %d (%" PRId64 " bytes, %" PRId64
                     " elements) the elements leave the address space",
                     i, d->strides[i], d->shape[i]);
}

int gb_interface_layout(gb_interface *d, gb_error *e) {
    int64_t low, high;
    if (check_shape(d, e) < 0) return -1;
    if (d->nstrides >= 0 && d->nstrides != d->ndim)
        return gb_refuse(e, GB_VALUE_ERROR,
                         "strides: %" PRId32 " entries for a shape of %" PRId32
                         " dimensions; they must be as many",
                         d->nstrides, d->ndim);
    if (d->nstrides < 0) gb_c_strides(d->strides, d->shape, d->ndim, d->itemsize);
    d->nstrides = d->ndim;
    return find_reach(d, &low, &high, e);
}

/* The elements around data stay in the address space. */
static int check_ends(const gb_interface *d, int64_t low, int64_t high, gb_error *e) {
    if (d->data >= -(uint64_t)low && d->data <= UINT64_MAX - (uint64_t)high) return 0;
    return gb_refuse(e, GB_VALUE_ERROR,
                     "strides: elements from %" PRId64 " to %" PRId64
                     " bytes around address %#" PRIx64 " leave the address space",
                     low, high, d->data);
}

/* Where data is a buffer, the elements stay in it. */
static int check_buffer(const gb_interface *d, int64_t low, int64_t high, gb_error *e) {
    if (d->length < 0) {
        if (!d->offset) return 0;
        return gb_refuse(e, GB_VALUE_ERROR,
                         "offset: %" PRId64
                         "; one is allowed only where data is a buffer, not an address",
                         d->offset);
    }
    if (d->offset < 0 || d->offset > d->length)
        return gb_refuse(e, GB_VALUE_ERROR, "offset: %" PRId64 "; the buffer has %" PRId64 " bytes",
                         d->offset, d->length);
    if (low >= -d->offset && high <= d->length - d->offset) return 0;
    return gb_refuse(e, GB_VALUE_ERROR,
                     "data: elements from %" PRId64 " to %" PRId64 " bytes around offset %" PRId64
                     " leave the buffer of %" PRId64 " bytes",
                     low, high, d->offset, d->length);
}

int gb_interface_memory(gb_interface *d, gb_error *e) {
    int64_t low, high;
    if (d->mask)
        return gb_refuse(
            e, GB_VALUE_ERROR,
            "mask: masked arrays are not taken; give the data without mask, or fill it");
    if (gb_interface_layout(d, e) < 0 || find_reach(d, &low, &high, e) < 0 ||
        check_buffer(d, low, high, e) < 0)
        return -1;
    if (!d->data && high)
        return gb_refuse(e, GB_VALUE_ERROR,
                         "data: the address is 0 for an array that has elements");
    if (__builtin_add_overflow(d->data, (uint64_t)d->offset, &d->data))
        return gb_refuse(e, GB_VALUE_ERROR,
                         "offset: %" PRId64 " bytes from data leave the address space", d->offset);
    d->offset = 0;
    return check_ends(d, low, high, e);
}

/* ---- __cuda_array_interface__ ---- */

#define ALLOWED "allowed are None, 1 (legacy default), 2 (per-thread default) and a pointer"

/* Versions 0 to 2 differ only in what they leave out. */
int gb_interface_cuda_version(int64_t version, gb_error *e) {
    if (version >= 0 && version <= 3) return 0;
    return gb_refuse(e, GB_VALUE_ERROR, "version: %" PRId64 "; versions 0 to 3 are read", version);
}

/* 0 could mean no stream, or one of the two default streams. */
int gb_interface_cuda_stream(int64_t stream, gb_error *e) {
    if (stream > 0) return 0;
    return gb_refuse(e, GB_VALUE_ERROR,
                     stream ? "stream: %" PRId64 " is no pointer; " ALLOWED
                            : "stream: %" PRId64 " is ambiguous; " ALLOWED,
                     stream);
}
