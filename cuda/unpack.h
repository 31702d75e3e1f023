/* unpack.h: the kernels' PTX, which repeats itself a lot, takes a fifth of its size in the
 * extension. Packed (kernels.py): how many bytes follow as they are, they, how many to
 * repeat, from how far back; and so on, to the end. Numbers have seven bits a byte. */
#ifndef GRIDBUF_CUDA_UNPACK_H
#define GRIDBUF_CUDA_UNPACK_H

#include <stddef.h>

static size_t gb_unpack_number(const unsigned char **at) {
    size_t value = 0;
    for (int shift = 0;; shift += 7) {
        unsigned char byte = *(*at)++;
        value |= (size_t)(byte & 127) << shift;
        if (byte < 128) return value;
    }
}

static void gb_unpack(char *to, const unsigned char *at, const unsigned char *end) {
    for (;;) {
        for (size_t n = gb_unpack_number(&at); n > 0; n--) *to++ = (char)*at++;
        if (at == end) break;
        size_t n = gb_unpack_number(&at), back = gb_unpack_number(&at);
        for (; n > 0; n--, to++) *to = to[-(ptrdiff_t)back];
    }
    *to = 0;
}

#endif
