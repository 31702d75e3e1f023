/* inflate.h: unpacking what gzip has packed (RFC 1951): the kernels' PTX, which repeats itself so much that an eighth of its
 * size is left. It is ours and a test has unpacked it, so nothing is checked here; gzip makes blocks of the one kind that this knows. */
#pragma once

#include <stdint.h>
#include <string.h>

typedef struct gb_cu_bits { const unsigned char *at; uint32_t held; int n; } gb_cu_bits;

static int gb_cu_read_bits(gb_cu_bits *in, int n) {
    for (; in->n < n; in->n += 8) in->held |= (uint32_t)*in->at++ << in->n;
    int value = (int)(in->held & ((1u << n) - 1));
    in->held >>= n;
    in->n -= n;
    return value;
}

/* Symbols sorted by the length of their codes: codes of one length follow each other, and come before all longer ones. */
typedef struct gb_cu_code { int count[16]; uint16_t symbol[320]; } gb_cu_code;

static void gb_cu_make_code(gb_cu_code *code, const unsigned char *lengths, int n) {
    int at = 0;
    for (int length = 0; length < 16; length++) {
        code->count[length] = 0;
        for (int i = 0; i < n; i++)
            if (lengths[i] == length) {
                code->count[length]++;
                if (length) code->symbol[at++] = (uint16_t)i;
            }
    }
}

static int gb_cu_read_symbol(gb_cu_bits *in, const gb_cu_code *code) {
    int value = 0, first = 0, before = 0;
    for (int length = 1;; length++) {
        value = value << 1 | gb_cu_read_bits(in, 1);
        first <<= 1;
        if (value - first < code->count[length]) return code->symbol[before + value - first];
        first += code->count[length];
        before += code->count[length];
    }
}

static void gb_cu_read_codes(gb_cu_bits *in, gb_cu_code *literals, gb_cu_code *distances) {
    static const unsigned char order[] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
    int n_literals = 257 + gb_cu_read_bits(in, 5), n = n_literals + 1 + gb_cu_read_bits(in, 5), n_lengths = 4 + gb_cu_read_bits(in, 4);
    unsigned char lengths[320] = {0};
    for (int i = 0; i < n_lengths; i++) lengths[order[i]] = (unsigned char)gb_cu_read_bits(in, 3);
    gb_cu_make_code(literals, lengths, 19);   /* of the lengths themselves, to begin with */
    for (int i = 0; i < n;) {
        int symbol = gb_cu_read_symbol(in, literals), again = symbol == 16 && i ? lengths[i - 1] : 0;
        int times = symbol < 16 ? 1 : symbol == 16 ? 3 + gb_cu_read_bits(in, 2) : symbol == 17 ? 3 + gb_cu_read_bits(in, 3) : 11 + gb_cu_read_bits(in, 7);
        memset(lengths + i, symbol < 16 ? symbol : again, (size_t)times);
        i += times;
    }
    gb_cu_make_code(literals, lengths, n_literals);
    gb_cu_make_code(distances, lengths + n_literals, n - n_literals);
}

/* `at` is the first block, behind gzip's header. Returns the end of what was written. */
static char *gb_cu_inflate(char *to, const unsigned char *at) {
    gb_cu_bits in = {at, 0, 0};
    gb_cu_code literals, distances;
    for (int last = 0; !last;) {
        last = gb_cu_read_bits(&in, 1);
        gb_cu_read_bits(&in, 2);   /* the block's kind: codes of its own */
        gb_cu_read_codes(&in, &literals, &distances);
        for (int symbol; (symbol = gb_cu_read_symbol(&in, &literals)) != 256;) {
            if (symbol < 256) {
                *to++ = (char)symbol;
                continue;
            }
            int bits = symbol < 265 || symbol == 285 ? 0 : (symbol - 261) / 4;
            int length = symbol == 285 ? 258 : symbol < 265 ? symbol - 254 : 3 + ((4 + (symbol - 265) % 4) << bits);
            length += gb_cu_read_bits(&in, bits);
            int code = gb_cu_read_symbol(&in, &distances);
            bits = code < 4 ? 0 : code / 2 - 1;
            int back = 1 + (code < 4 ? code : (2 + code % 2) << bits) + gb_cu_read_bits(&in, bits);
            for (; length > 0; length--, to++) *to = to[-back];
        }
    }
    return to;
}
