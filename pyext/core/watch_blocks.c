/* watch_blocks.c: a table of blocks by address, open and with linear probing; one writer at a time, who holds the GIL. */
#include "watching.h"

static gb_py_block *blocks;
static size_t room, used;

static size_t home(uintptr_t at) { return (size_t)(((uint64_t)at >> 4) * 0x9E3779B97F4A7C15u >> 16) & (room - 1); }

static gb_py_block *slot_of(uintptr_t at) {
    size_t i = home(at);
    while (blocks[i].at && blocks[i].at != at) i = (i + 1) & (room - 1);
    return &blocks[i];
}

static int grow(void) {
    size_t had = room;
    gb_py_block *old = blocks, *made = calloc(had ? 2 * had : 1024, sizeof *made);
    if (!made) return -1;
    blocks = made;
    room = had ? 2 * had : 1024;
    for (size_t i = 0; i < had; i++)
        if (old[i].at) *slot_of(old[i].at) = old[i];
    free(old);
    return 0;
}

void gb_py_block_note(const void *data, int64_t bytes, int32_t number, int64_t serial) {
    if (2 * used >= room && grow() < 0) return;
    gb_py_block *b = slot_of((uintptr_t)data);
    used += !b->at;
    *b = (gb_py_block){ .at = (uintptr_t)data, .bytes = bytes, .number = number, .serial = serial };
}

/* What was pushed on by the one that goes moves back, so that no marks of removed ones are needed. */
int32_t gb_py_block_forget(const void *data) {
    if (!room) return -1;
    gb_py_block *b = slot_of((uintptr_t)data);
    if (!b->at) return -1;
    int32_t number = b->number;
    size_t hole = (size_t)(b - blocks), i = hole;
    for (;;) {
        i = (i + 1) & (room - 1);
        if (!blocks[i].at) break;
        size_t from = home(blocks[i].at);
        if (((i - from) & (room - 1)) < ((i - hole) & (room - 1))) continue;   /* it would come before its home */
        blocks[hole] = blocks[i];
        hole = i;
    }
    blocks[hole].at = 0;
    used--;
    return number;
}

int32_t gb_py_block_number(const void *data) {
    const gb_py_block *b = room ? slot_of((uintptr_t)data) : NULL;
    return b && b->at ? b->number : -1;
}

const gb_py_block *gb_py_block_at(uintptr_t address) {
    const gb_py_block *found = room ? slot_of(address) : NULL;
    if (!found || found->at) return found;   /* nobody asks more often than for the first byte of one */
    found = NULL;
    for (size_t i = 0; i < room; i++) {
        const gb_py_block *b = &blocks[i];
        if (b->at && b->at <= address && address < b->at + (uintptr_t)b->bytes && (!found || b->serial > found->serial)) found = b;
    }
    return found;
}
