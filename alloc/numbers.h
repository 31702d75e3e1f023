/* numbers.h: numbers of devices, kinds of memory, layouts and dimensions, and bounds of requests.
 * Go takes its constants from here, Python from the extension (pyext/module.c). */
#pragma once

#include <stdint.h>

#define GB_MAXDIMS 32
#define GB_LARGEST (INT64_MAX / 4) /* bytes; no machine has more, and sums with it still fit */

/* Where memory is asked for; nothing asked leaves it to the preset. */
enum { GB_ANY_DEVICE, GB_CPU, GB_GPU, GB_DEVICES };

/* The kind of memory there. Pools of the driver have the same numbers: plain memory of a GPU is
 * device memory. */
enum { GB_PLAIN, GB_PINNED, GB_MANAGED, GB_MEMORIES };

/* How dimensions become a layout. */
enum { GB_BY_NAME, GB_BY_INDEX, GB_BY_INDEX_REVERSED, GB_BY_CALLER };

/* Values of padding besides a number of items. */
enum { GB_PAD_AS_PRESET = 0, GB_PAD_NONE = 1, GB_PAD_TO_BOUNDARY = -1 };

/* Meaning of an index: the code of I, J or K, or a data dimension's own number. Indices without
 * names count up from I. Names of the user's own have the codes from GB_DIM_NAMED on, in the order
 * of their first use. */
enum { GB_DIM_I = -3, GB_DIM_J, GB_DIM_K, GB_DIM_NAMED = 1 << 30 };
#define GB_DIM_LETTER(dim) ((char)('I' + ((dim) - GB_DIM_I)))
#define GB_DIM_OF(letter) ((letter) - 'I' + GB_DIM_I)

/* Bounds of a request. They keep every product below 2^63. */
#define GB_MAX_ALIGNMENT (1ll << 24) /* items */
#define GB_MAX_BYTE_ALIGNMENT (1ll << 30)
#define GB_MAX_BOUNDARY (1ll << 40) /* bytes, of alignment and byte alignment together */
