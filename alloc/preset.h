/* preset.h: what a backend wants of its arrays, by number and by name. The records are
 * C memory that is never freed or changed, so that a forked child and every thread read
 * them without a lock. */
#pragma once

#include "errors.h"
#include "numbers.h"

#include <stddef.h>

/* alloc.Preset for C. */
typedef struct gb_preset {
    int32_t number, order, device, reserved;
    int64_t alignment; /* items; 1 pads nothing */
    char axes[8];      /* for GB_BY_NAME: slowest first */
    const char *name;
    struct gb_preset *before; /* the one registered before; NULL for the built-in ones */
} gb_preset;

/* The preset with this number or of this name, or NULL. A name registered again means the newest.
 */
const gb_preset *gb_preset_at(int32_t number);
const gb_preset *gb_preset_named(const char *name);

/* Adds a copy of p under the name and numbers p; 0, or -1 with the error. */
int gb_preset_register(const char *name, gb_preset *p, gb_error *e);

/* Every name once, sorted, with the separator between them; from malloc, or NULL. With room (bytes,
 * 0: any) the built-in ones come first and names beyond it are only counted, in the words of an
 * error. */
char *gb_preset_names(const char *separator, size_t room);

/* out[i] is the rank of index i's stride, 0 = largest. */
void gb_preset_layout(const gb_preset *p, const int32_t *dims, int n, int32_t *out);
