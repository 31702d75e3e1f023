/* target.h: functions for one instruction set: those between GB_TARGET(names of what it has, as gcc
 * and clang write them) and GB_TARGET_END. Inline functions of the system that shall stay what they
 * are come before it. */
#pragma once

#define GB_PRAGMA(...) _Pragma(#__VA_ARGS__)
#ifdef __clang__
#define GB_TARGET(isa) \
    GB_PRAGMA(clang attribute push(__attribute__((target(isa))), apply_to = function))
#define GB_TARGET_END GB_PRAGMA(clang attribute pop)
#else
#define GB_TARGET(isa) GB_PRAGMA(GCC target(isa))
#define GB_TARGET_END
#endif
