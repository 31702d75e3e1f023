/* tridiagonal_body.h: the Thomas algorithm, one system per lane: (k),(k),(k),(k)->(k) for
 * the lower, main and upper diagonals and the right side. lower[0] and upper[k-1] do
 * not count. A pivot of zero, or a result that is not finite, is a failure. */

INLINE intptr_t thomas(char **args, intptr_t const *steps, intptr_t n, vec *c, vec *d, int lanes,
                       uint8_t *status) {
    const intptr_t *k = steps + 5;
    const char *lower = args[0], *main_ = args[1], *upper = args[2], *right = args[3];
    char *x = args[4];
    vec inverse = get(main_, steps[1], lanes);
    mask good = (mask)(inverse != 0);
    inverse = 1 / inverse;
    vec above = get(upper, steps[2], lanes) * inverse,
        value = get(right, steps[3], lanes) * inverse;
    c[0] = above, d[0] = value;
    for (intptr_t i = 1; i < n; i++) {
        vec a = get(lower + i * k[0], steps[0], lanes);
        vec pivot = get(main_ + i * k[1], steps[1], lanes) - a * above;
        good &= (mask)(pivot != 0);
        inverse = 1 / pivot;
        value = (get(right + i * k[3], steps[3], lanes) - a * value) * inverse;
        if (i + 1 < n) above = get(upper + i * k[2], steps[2], lanes) * inverse;
        c[i] = above, d[i] = value;
    }
    for (intptr_t i = n - 2; i >= 0; i--) {
        value = d[i] - c[i] * value;
        d[i] = value;
        good &= is_finite(value);
    }
    good &= is_finite(d[n - 1]);
    for (intptr_t i = 0; i < n; i++)
        put(x + i * k[4], steps[4], choose(good, d[i], NOT_A_NUMBER), lanes);
    return report(good, status, lanes);
}

intptr_t ISA(tridiagonal)(char **args, intptr_t const *dims, intptr_t const *steps, void *data,
                          uint8_t *status) {
    intptr_t n = dims[1], failed = 0;
    vec few[2 * 160], *room = few;
    if (n == 0) return 0;
    if (n > 160)
        room = aligned_alloc(64, (size_t)(2 * n) * sizeof *room + 64 -
                                     (size_t)(2 * n) * sizeof *room % 64);
    EACH_LANES(e, lanes) {
        char *here[5];
        for (int i = 0; i < 5; i++) here[i] = args[i] + e * steps[i];
        if (room)
            failed += lanes == LANES ? thomas(here, steps, n, room, room + n, LANES,
                                              status ? status + e : NULL)
                                     : thomas(here, steps, n, room, room + n, (int)lanes,
                                              status ? status + e : NULL);
        else failed += lanes;
        if (!room && status) memset(status + e, 1, (size_t)lanes);
    }
    if (room != few) free(room);
    return failed;
}
