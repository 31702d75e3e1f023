/* watch_blocks.h: from an address to what is known of the block there. */
#pragma once

#include <stdint.h>

typedef struct {
    uintptr_t at;   /* 0: free */
    int64_t bytes, serial;
    int32_t number;
} gb_py_block;

/* Whoever lay there before is forgotten; without memory for the table, so is this one. */
void gb_py_block_note(const void *data, int64_t bytes, int32_t number, int64_t serial);
int32_t gb_py_block_forget(const void *data);           /* its number, or -1 */
int32_t gb_py_block_number(const void *data);           /* the same, and it is kept */
const gb_py_block *gb_py_block_at(uintptr_t address);   /* the latest that the address lies in, or NULL */
