/* preset.c: the presets that always exist, those that were registered, and their layouts.
 *
 * A name registered again gets a new number, so that plans cached under the old number
 * stay what they were. The list only grows, and its head is exchanged atomically. */
#include "preset.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NAME 200

/* gt4py 1.2's registry, GDP-3's names, NumPy's orders: the axes from the slowest to the fastest, or
 * an order of indices of any name; how many items rows are padded to, and the aligned element sits
 * on; where the memory lies. A preset's number is its place; the first is what no name means. */
enum { BEFORE_FIRST = __COUNTER__ };
#define BUILTIN_(field, text, value, items, where) \
    {.number = __COUNTER__ - BEFORE_FIRST - 1,     \
     .name = text,                                 \
     .field = value,                               \
     .alignment = items,                           \
     .device = where}
#define ORDER(...) BUILTIN_(order, __VA_ARGS__)
#define AXES(...) BUILTIN_(axes, __VA_ARGS__)
static const gb_preset builtin[] = {
    ORDER("C", GB_BY_INDEX, 1, GB_CPU),        ORDER("F", GB_BY_INDEX_REVERSED, 1, GB_CPU),
    AXES("numpy", "IJK", 1, GB_CPU),           AXES("debug", "IJK", 1, GB_CPU),
    AXES("gt:cpu_kfirst", "IJK", 1, GB_CPU),   AXES("gt:cpu_ifirst", "KJI", 1, GB_CPU),
    AXES("gt:gpu", "KJI", 32, GB_GPU),         AXES("dace:cpu", "KIJ", 1, GB_CPU),
    AXES("dace:cpu_kfirst", "IJK", 1, GB_CPU), AXES("dace:cpu_KJI", "KJI", 1, GB_CPU),
    AXES("dace:gpu", "KJI", 1, GB_GPU),        AXES("dace:gpu_IJK", "IJK", 1, GB_GPU),
    AXES("gtx86", "IJK", 1, GB_CPU),           AXES("gtmc", "JKI", 8, GB_CPU),
    AXES("gtcuda", "KJI", 32, GB_GPU),         AXES("cuda", "KJI", 32, GB_GPU),
};
#define BUILTIN ((int32_t)(sizeof builtin / sizeof *builtin))

static gb_preset *newest;

static gb_preset *head(void) { return __atomic_load_n(&newest, __ATOMIC_ACQUIRE); }

const gb_preset *gb_preset_at(int32_t number) {
    if (number >= 0 && number < BUILTIN) return &builtin[number];
    const gb_preset *p = head();
    while (p && p->number != number) p = p->before;
    return p;
}

static int32_t builtin_number(const char *name) {
    int32_t n = 0;
    while (n < BUILTIN && strcmp(builtin[n].name, name) != 0) n++;
    return n < BUILTIN ? n : -1;
}

const gb_preset *gb_preset_named(const char *name) {
    int32_t n = builtin_number(name);
    if (n >= 0) return &builtin[n];
    const gb_preset *p = head();
    while (p && strcmp(p->name, name) != 0) p = p->before;
    return p;
}

/* ---- registering ---- */

static int orders_axes(const char *axes) {
    return strlen(axes) == 3 && strchr(axes, 'I') && strchr(axes, 'J') && strchr(axes, 'K');
}

/* A control character, C0, C1 or DEL, or one of Unicode's ends of line, in UTF-8. */
static int is_control(const unsigned char *c) {
    return *c < ' ' || *c == 0x7f || (c[0] == 0xC2 && c[1] < 0xA0) ||
           (c[0] == 0xE2 && c[1] == 0x80 && (c[2] == 0xA8 || c[2] == 0xA9));
}

/* A name is shown in errors and lists, one a line. */
static int check_name(const char *name, gb_error *e) {
    char quoted[4 * MAX_NAME + 16];
    if (!*name) return gb_refuse(e, GB_VALUE_ERROR, "name: a backend needs a non-empty name");
    if (strlen(name) > MAX_NAME)
        return gb_refuse(
            e, GB_VALUE_ERROR,
            "name: %zu bytes are too long for a backend's name; at most %d are allowed",
            strlen(name), MAX_NAME);
    for (const char *c = name; *c; c++)
        if (is_control((const unsigned char *)c))
            return gb_refuse(e, GB_VALUE_ERROR, "name: %s has a character that cannot be printed",
                             gb_quoted(quoted, sizeof quoted, name));
    if (builtin_number(name) < 0) return 0;
    return gb_refuse(e, GB_VALUE_ERROR, "name: %s is a built-in backend and cannot be replaced",
                     gb_quoted(quoted, sizeof quoted, name));
}

int gb_preset_register(const char *name, gb_preset *p, gb_error *e) {
    char quoted[64];
    if (check_name(name, e) < 0) return -1;
    if (p->order == GB_BY_NAME && !orders_axes(p->axes))
        return gb_refuse(e, GB_VALUE_ERROR,
                         "layout: %s does not order the axes; give I, J and K once each, slowest "
                         "first, such as \"KJI\"",
                         gb_quoted(quoted, sizeof quoted, p->axes));
    if (p->alignment < 1 || p->alignment > GB_MAX_ALIGNMENT)
        return gb_refuse(e, GB_VALUE_ERROR,
                         "alignment: %lld items is not in the allowed range 1 to %lld",
                         (long long)p->alignment, GB_MAX_ALIGNMENT);
    gb_preset *own = malloc(sizeof *own + strlen(name) + 1);
    if (!own) return gb_refuse(e, GB_MEMORY_ERROR, "no memory left for a backend");
    *own = *p;
    own->name = strcpy((char *)(own + 1), name);
    own->before = head();
    do own->number = own->before ? own->before->number + 1 : BUILTIN;
    while (!__atomic_compare_exchange_n(&newest, &own->before, own, 0, __ATOMIC_RELEASE,
                                        __ATOMIC_ACQUIRE));
    p->number = own->number;
    return 0;
}

/* ---- all names ---- */

static int by_text(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

char *gb_preset_names(const char *separator, size_t room) {
    const gb_preset *first = head();
    size_t n = BUILTIN, bytes = 1, between = strlen(separator);
    for (const gb_preset *p = first; p; p = p->before) n++;
    const char **names = malloc(n * sizeof *names);
    if (!names) return NULL;
    n = 0;
    for (int i = 0; i < BUILTIN; i++) names[n++] = builtin[i].name;
    for (const gb_preset *p = first; p; p = p->before) names[n++] = p->name;
    size_t first_sorted = room ? BUILTIN : n; /* cut short, the list keeps what every program has */
    qsort(names, first_sorted, sizeof *names, by_text);
    qsort(names + first_sorted, n - first_sorted, sizeof *names, by_text);
    size_t known = 0; /* each name once: what was registered again is there twice */
    for (size_t i = 0; i < n; i++)
        if (i == 0 || strcmp(names[i], names[known - 1]) != 0) names[known++] = names[i];
    for (size_t i = 0; i < known; i++) bytes += strlen(names[i]) + between;
    char *text = malloc(bytes + sizeof " and 18446744073709551615 more (gridbuf.backends())"),
         *at = text;
    for (size_t i = 0; text && i < known; i++) {
        if (i && room && (size_t)(at - text) + strlen(names[i]) > room) {
            sprintf(at, " and %zu more (gridbuf.backends())", known - i);
            break;
        }
        at = stpcpy(i ? stpcpy(at, separator) : at, names[i]);
    }
    free(names);
    return text;
}

/* ---- layouts ---- */

/* Data dimensions are the slowest, 0 before 1, then names of the user's own as they come, then the
 * cartesian axes as the preset names them. */
static int64_t slowness(const gb_preset *p, int32_t dim) {
    if (dim >= GB_DIM_NAMED) return GB_DIM_NAMED;
    if (dim >= 0) return dim;
    const char *at = strchr(p->axes, GB_DIM_LETTER(dim));
    return ((int64_t)1 << 32) + (at ? at - p->axes : -1);
}

void gb_preset_layout(const gb_preset *p, const int32_t *dims, int n, int32_t *out) {
    if (p->order != GB_BY_NAME) {
        for (int i = 0; i < n; i++) out[i] = p->order == GB_BY_INDEX_REVERSED ? n - 1 - i : i;
        return;
    }
    int64_t slow[GB_MAXDIMS];
    for (int i = 0; i < n; i++) slow[i] = slowness(p, dims[i]);
    for (int i = 0; i < n; i++) {
        out[i] = 0;
        for (int k = 0; k < n; k++) out[i] += slow[k] < slow[i] || (slow[k] == slow[i] && k < i);
    }
}
