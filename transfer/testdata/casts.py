"""Writes casts.txt: what NumPy's astype makes of telling values, for every pair of types.

A line is: from to, then pairs of hexadecimal bytes before and after. Values whose
conversion NumPy leaves undefined (floats no integer of the target can hold, NaN to
integers) are left out.
"""

import sys

import numpy as np

TYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"]
NAMES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
         "float16", "float32", "float64", "complex64", "complex128"]  # fmt: skip
FLOATS = [0.0, -0.0, 1.0, -1.5, 2.5, 100.7, -100.7, 0.1, 65504.0, 65519.999, 65520.0, 1e-7, 5.9e-8,
2.98e-8, 2.9802322387695312e-08,
          6.1e-5, 6.097555160522461e-05, 2049.0, 2051.0, 1.00048828125, 1.0004882812500002, 3.4e38,
          3.5e38, 1e300, 5e-324, 2.0**31, 2.0**53 + 2, -2.0**63,
          255.9, 127.9, 32767.9, 4294967295.5, np.inf, -np.inf, np.nan]  # fmt: skip


def values(kind: np.dtype) -> np.ndarray:
    if kind.kind == "b":
        return np.array([False, True])
    if kind.kind in "iu":
        info = np.iinfo(kind)
        wanted = [
            0,
            1,
            2,
            77,
            2049,
            2051,
            65519,
            65520,
            16777217,
            2**53 + 1,
            2**63 - 1,
            2**64 - 1,
            -1,
            -2,
            -77,
            -(2**31),
            -(2**63),
            info.min,
            info.max,
        ]
        return np.array(sorted({v for v in wanted if info.min <= v <= info.max}), kind)
    with np.errstate(all="ignore"):
        reals = np.array(FLOATS).astype(kind)
    if kind.kind == "c":
        return np.concatenate(
            [reals, reals.real + 1j * reals.real[::-1], np.array([2j, -0.5j], kind)]
        ).astype(kind)
    return reals


def defined(v: np.ndarray, to: np.dtype) -> np.ndarray:
    if to.kind not in "iu" or v.dtype.kind not in "fc":
        return np.ones(v.shape, bool)
    info = np.iinfo(to)
    real = v.real.astype(np.longdouble)
    with np.errstate(all="ignore"):
        cut = np.trunc(real)
        return np.isfinite(real) & (cut >= info.min) & (cut <= info.max)


def main() -> None:
    np.seterr(all="ignore")
    for a, from_ in zip(TYPES, NAMES, strict=True):
        v = values(np.dtype(a))
        for b, to in zip(TYPES, NAMES, strict=True):
            if a == b:
                continue
            chosen = v[defined(v, np.dtype(b))]
            out = np.array([x.astype(b) for x in chosen]) if len(chosen) else chosen.astype(b)
            cells = [
                f"{x.tobytes().hex()}>{y.tobytes().hex()}" for x, y in zip(chosen, out, strict=True)
            ]
            sys.stdout.write(" ".join([from_, to, *cells]) + "\n")


if __name__ == "__main__":
    import warnings

    warnings.simplefilter("ignore")
    main()
