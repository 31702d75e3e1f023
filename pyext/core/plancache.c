/* plancache.c: requests seen before, known by their meaning.
 *
 * Four entries to a set, the one used last in front; a set that is full forgets
 * the one used longest ago, so the cache is bounded.
 */
#include "plan.h"
#include "keywords.h"

#define SETS 512
#define WAYS 4
#define MAX_WORDS (8 + 4 * GB_MAXDIMS)

typedef struct {
    uint64_t hash;
    uint64_t *words;
    int n;
    gb_py_plan_object *plan;
} entry;

static void drop(entry *old) {
    free(old->words);
    Py_XDECREF((PyObject *)old->plan);
}

static entry cache[SETS * WAYS];

_Static_assert(offsetof(gb_request, shape) == 10 * sizeof(int32_t) + 4 * sizeof(int64_t),
               "a new field belongs into pack() as well");

/* The request as words: what was not given takes no room. */
static int pack(const gb_request *r, const gb_py_dtype *dtype, uint64_t *w) {
    int n = 0;
    w[n++] = (uint64_t)(r->ndim & 63) | (uint64_t)(r->sub_ndim & 63) << 6 |
             (uint64_t)((r->dims_len + 1) & 63) << 12 |
             (uint64_t)((r->aligned_len + 1) & 63) << 18 |
             (uint64_t)((r->layout_len + 1) & 63) << 24 | (uint64_t)r->device << 30 |
             (uint64_t)r->memory << 33 | (uint64_t)r->device_id << 36;
    w[n++] = (uint64_t)(uintptr_t)dtype;
    w[n++] = (uint64_t)(uint32_t)r->backend << 32 | (uint64_t)(uint32_t)(r->padding + 2);
    w[n++] = (uint64_t)r->byte_alignment;
    w[n++] = (uint64_t)r->alignment;
    for (int i = 0; i < r->ndim; i++) w[n++] = (uint64_t)r->shape[i];
    for (int i = 0; i < r->aligned_len; i++) w[n++] = (uint64_t)r->aligned_index[i];
    for (int i = 0; i < r->dims_len; i++) w[n++] = (uint64_t)(int64_t)r->dims[i];
    for (int i = 0; i < r->layout_len; i++) w[n++] = (uint64_t)(int64_t)r->layout[i];
    return n;
}

static uint64_t hash_words(const uint64_t *w, int n) {
    uint64_t h = 0x9E3779B97F4A7C15u;
    for (int i = 0; i < n; i++) h = ((h ^ w[i]) * 0xD6E8FEB86659FD93u) ^ (h >> 29);
    return h ^ (h >> 32);
}

static gb_py_plan_object *work_out(const gb_request *r, gb_py_dtype *dtype) {
    gb_error e;
    gb_plan *plan = gb_plan_new(r->ndim);
    if (!plan) return (gb_py_plan_object *)PyErr_NoMemory();
    if (gb_plan_request(r, gb_preset_at(r->backend), plan, &e) == 0)
        return gb_py_plan_wrap(plan, dtype);
    free(plan);
    gb_py_raise(&e);
    return NULL;
}

gb_py_plan_object *gb_py_plan_for(gb_request *r, gb_py_dtype *dtype) {
    uint64_t words[MAX_WORDS];
    int n = pack(r, dtype, words);
    uint64_t hash = hash_words(words, n);
    entry *set = &cache[hash % SETS * WAYS];
    for (int i = 0; i < WAYS; i++)
        if (set[i].hash == hash && set[i].n == n &&
            memcmp(set[i].words, words, n * sizeof *words) == 0) {
            if (i) {
                entry found = set[i];
                memmove(set + 1, set, i * sizeof *set);
                set[0] = found;
            }
            return (gb_py_plan_object *)Py_NewRef((PyObject *)set[0].plan);
        }
    gb_py_plan_object *plan = work_out(r, dtype);
    if (!plan) return NULL;
    uint64_t *copy = malloc(n * sizeof *words);
    if (!copy) return plan;
    memcpy(copy, words, n * sizeof *words);
    entry oldest = set[WAYS - 1];
    memmove(set + 1, set, (WAYS - 1) * sizeof *set);
    set[0] = (entry){hash, copy, n, (gb_py_plan_object *)Py_NewRef((PyObject *)plan)};
    drop(&oldest);
    return plan;
}

gb_py_plan_object *gb_py_plan_from_slots(PyObject **slots, gb_py_meta *meta, int *function_layout) {
    gb_request request;
    gb_py_dtype *dtype;
    *function_layout = 0;
    if (gb_py_read_request(slots, &request, &dtype, meta) < 0) return NULL;
    *function_layout = request.layout_len >= 0 && !slots[GB_PY_ARG_LAYOUT];
    gb_py_plan_object *plan = gb_py_plan_for(&request, dtype);
    Py_DECREF((PyObject *)dtype);
    return plan;
}
