"""Memory that objects describe: array interfaces as dict and as struct, buffers; typestrs, descrs
and numbers of any kind.

What is taken must lie inside the memory that was given and mean what NumPy reads there, and never
hold Python objects; what is refused is refused with the description's own kind of error.
"""

import ctypes
import random
from typing import Any, ClassVar

import numpy as np

import gridbuf as gb
from gridbuf import gufunc

negative, add = gufunc.from_ufunc(np.negative), gufunc.from_ufunc(np.add)
MEMORY = np.frombuffer(bytes(range(256)) * 16, np.uint8).copy()
DOORS = [
    "Field",
    "as_numpy",
    "host_array",
    "copyto",
    "from_array",
    "storage",
    "gufunc",
    "list",
    "key",
    "initial",
    "like",
]
TYPESTRS = [
    "<f8",
    "<f4",
    "<i4",
    "|i1",
    "|u1",
    ">f8",
    "<u2",
    "|b1",
    "<c16",
    "<f2",
    "|S3",
    "<U2",
    "|V8",
    "|V16",
    "<M8[s]",
    "<m8[us]",
    "=f8",
    "|f8",
]
ODD = ["|O", "|O8", "<f3", "f8", "<f", "", "<", "<M8", "<M8[s/0]", "<M8[0s]", "<m8[2]", "<M8[s]x",
"<V0", "|S0", "|t4", "<f8,<f8", "O", "f8,O",
       "|b2", "<i99999999999999999999", "<f8 ", "<é8", "<?", "|V9223372036854775807", "<M8[-1s]",
       "<M8[s/3]", "<M8[9999999999s]", "(2,)<f8", "<f08", "<g16", "<c7"]  # fmt: skip
DESCRS: list[Any] = [
    [["a", "<f4"], ["b", "<i4"]], [["a", "|O"]], [["a", "<f8"]], [["", "|V8"]],
    [["a", [["b", "|O"]]]], [["a", "|V4"], ["b", "|O"]],
    [["a", "<f4", [2]]], [["a", "|O", [1]]], [["", "|O"]], [], [["a"]],
    [["a", "<f4"], ["a", "<f4"]], [[["t", "a"], "<f8"]], "f8,O", 7,
    [["a", "<M8[s/0]"]], [["", "|V4"], ["x", "<i4"]], [["a", "|b1"], ["", "|V7"]],
]  # fmt: skip
NUMBERS: list[Any] = [
    0,
    1,
    2,
    3,
    4,
    8,
    -1,
    -8,
    2**31,
    2**62,
    2**63 - 1,
    2**63,
    -(2**63),
    2**70,
    True,
    None,
    "3",
    2.0,
]
MUTATIONS = ["clear", "raise KeyboardInterrupt", "raise MemoryError", "raise ValueError", "gc"]


def draw(rng: random.Random) -> dict[str, Any]:
    case: dict[str, Any] = {
        "way": rng.choice(["dict", "dict", "dict", "struct", "buffer"]),
        "door": rng.choice(DOORS),
    }
    case["typestr"] = rng.choice(TYPESTRS) if rng.random() < 0.8 else rng.choice(ODD)
    if rng.random() < 0.1:
        case["typestr"] = "".join(
            rng.choice("<>|=biufcmMSUVtO0123456789[]s,/() ") for _ in range(rng.randrange(6))
        )
    ndim = rng.randrange(4)
    case["shape"] = [
        rng.choice([0, 1, 2, 3, 5]) if rng.random() < 0.95 else rng.choice(NUMBERS)
        for _ in range(ndim)
    ]
    if rng.random() < 0.4:
        case["strides"] = [
            rng.choice([0, 1, 4, 8, 16, 24, -8]) if rng.random() < 0.95 else rng.choice(NUMBERS)
            for _ in range(ndim + (rng.random() < 0.03))
        ]
    if rng.random() < 0.4 and case["typestr"].startswith("|V"):
        case["descr"] = rng.choice(DESCRS)
    case["data"] = (
        rng.choice(["pointer", "buffer", "bytearray", "bytes", "none", "readonly"])
        if rng.random() < 0.95
        else rng.choice(["odd", "null", "str"])
    )
    if rng.random() < 0.2:
        case["offset"] = rng.choice([0, 8, 64, *NUMBERS])
    case["version"] = 3 if rng.random() < 0.95 else rng.choice([2, "3", 3.0, None, 2**70])
    if rng.random() < 0.1 and case["shape"]:
        case["mutation"] = [
            rng.choice(MUTATIONS),
            rng.choice(["shape", "strides", "data", "offset"]),
        ]
    if rng.random() < 0.05:
        case["missing"] = rng.choice(["shape", "typestr", "data", "version"])
    if rng.random() < 0.05:
        case["mask"] = rng.choice([None, 1])
    if case["way"] == "struct":
        case |= {"two": rng.choice([2, 2, 2, 0, 99]),
        "nd": rng.choice([ndim, ndim, -1, 99, 2**31 - 1]) if rng.random() < 0.1 else ndim,
                 "kind": rng.choice("biufcSUVOmMtx"),
                 "itemsize": rng.choice([1, 2, 4, 8, 16, 3, 0, -8, 2**31 - 1]),
                 "flags": rng.choice([0x701, 0x701, 0x301, 0x201, 0xF7FF, 0]),
                 "null": ndim == 0}  # fmt: skip
    return case


class Interface(ctypes.Structure):
    """PyArrayInterface."""

    _fields_ = [
        ("two", ctypes.c_int), ("nd", ctypes.c_int), ("typekind", ctypes.c_char),
        ("itemsize", ctypes.c_int), ("flags", ctypes.c_int),
        ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p), ("data", ctypes.c_void_p),
        ("descr", ctypes.py_object),
    ]  # fmt: skip


class Stop(Exception):
    """What is not about the description."""


class Mischief:
    """A number whose __index__ does something first."""

    raised: ClassVar[str | None] = None

    def __init__(self, what: str, value: Any, holder: Any) -> None:
        self.what, self.value, self.holder = what, value, holder

    def __index__(self) -> int:
        if self.what.startswith("raise"):
            Mischief.raised = self.what[6:]
            raise {
                "KeyboardInterrupt": KeyboardInterrupt,
                "MemoryError": MemoryError,
                "ValueError": ValueError,
            }[self.what[6:]]
        if self.what == "clear":
            self.holder.clear()
            self.junk = [bytearray(40) for _ in range(30)]
        else:
            import gc

            gc.collect(0)
        return self.value if isinstance(self.value, int) else 1


def descr_of(said: Any) -> Any:
    if not isinstance(said, list):
        return said
    made = []
    for entry in said:
        entry = list(entry)
        if isinstance(entry[0], list):
            entry[0] = tuple(entry[0])
        if len(entry) > 1 and isinstance(entry[1], list):
            entry[1] = descr_of(entry[1])
        if len(entry) > 2:
            entry[2] = tuple(entry[2])
        made.append(tuple(entry))
    return made


def dict_of(case: dict[str, Any]) -> dict[str, Any]:
    described: dict[str, Any] = {
        "version": case["version"],
        "typestr": case["typestr"],
        "shape": tuple(case["shape"]),
    }
    if "strides" in case:
        described["strides"] = tuple(case["strides"])
    if "descr" in case:
        described["descr"] = descr_of(case["descr"])
    address = MEMORY.ctypes.data + 1024
    kinds = {
        "pointer": (address, False), "readonly": (address, True), "buffer": MEMORY[1024:2048],
        "bytearray": bytearray(b"A" * 512),
        "bytes": b"A" * 512, "none": None, "odd": (address,), "null": (0, False),
        "str": (str(address), False),
    }  # fmt: skip
    described["data"] = kinds[case["data"]]
    for name in ("offset", "mask"):
        if name in case:
            described[name] = case[name]
    if "missing" in case:
        described.pop(case["missing"], None)
    if "mutation" in case:
        what, where = case["mutation"]
        held = described.get(where)
        if where == "data" and isinstance(held, tuple):
            described["data"] = (Mischief(what, held[0], described), *held[1:])
        elif isinstance(held, tuple) and held:
            described[where] = (Mischief(what, held[0], described), *held[1:])
        elif where == "offset":
            described["offset"] = Mischief(what, 0, described)
    return described


class Describing:
    pass


def source(case: dict[str, Any]) -> Any:
    obj: Any = Describing()
    if case["way"] == "dict":
        obj.__array_interface__ = dict_of(case)
        return obj
    if case["way"] == "buffer":
        try:
            if "/0" in case["typestr"]:  # NumPy divides by it
                return memoryview(b"AAAAAAAA")
            # Of those who own the objects NumPy takes them, too
            if np.dtype(case["typestr"]).hasobject:
                return memoryview(b"AAAAAAAA")
            return memoryview(
                np.zeros(
                    tuple(n if isinstance(n, int) and 0 <= n < 9 else 1 for n in case["shape"]),
                    case["typestr"],
                )
            )
        except Exception:
            return memoryview(b"AAAAAAAA")
    nd = max(min(case["nd"], 64), 0) + 1
    keep = [
        (ctypes.c_ssize_t * nd)(
            *(n if isinstance(n, int) and abs(n) < 2**63 else 1 for n in (values or [])[:nd])
        )
        for values in (case["shape"], case.get("strides"))
    ]
    struct = Interface(case["two"], case["nd"], case["kind"].encode(), case["itemsize"],
    case["flags"],
                       None if case["null"] else ctypes.addressof(keep[0]),
                       ctypes.addressof(keep[1]) if "strides" in case else None,
                       MEMORY.ctypes.data + 1024)  # fmt: skip
    new = ctypes.pythonapi.PyCapsule_New
    new.restype = ctypes.py_object
    new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    obj.keep = (keep, struct)
    obj.__array_struct__ = new(ctypes.addressof(struct), None, None)
    return obj


def through(door: str, obj: Any) -> Any:
    if door == "Field":
        return gb.Field(obj)
    if door == "as_numpy":
        return gb.as_numpy(obj)
    if door == "host_array":
        from gridbuf._core import host_array

        return host_array(obj)
    if door == "copyto":
        dst = np.zeros((5, 5, 5), object)
        gb.copyto(dst, obj, casting="unsafe")
        return dst
    if door == "from_array":
        return gb.Field.from_array(obj)
    if door == "storage":
        import gridbuf.storage as gs

        return gs.as_storage(obj)
    if door == "list":
        return gb.from_array([obj], dtype=None)
    if door == "key":
        return gb.Field.zeros((5, 5, 5))[obj, ..., [0]]
    if door == "initial":
        return np.asarray(add.reduce(np.ones(3), initial=obj))
    if door == "like":
        return gb.zeros_like(obj)
    return negative(obj, errors="ignore")


# What NumPy reads in the end, which loses exceptions.
NUMPYS = ("copyto", "from_array", "gufunc", "list", "key", "initial", "like")


def objects(dtype: np.dtype[Any]) -> bool:
    return bool(dtype.hasobject)


def readable(case: dict[str, Any]) -> bool:
    """Whether all values may be read: not too many, and where an address is believed, only what is
    there.
    """
    try:
        array = gb.as_numpy(
            source({key: value for key, value in case.items() if key != "mutation"})
        )
    except Exception:
        return "mutation" not in case  # it is refused; what it is afterwards may not be
    if array.nbytes > 1 << 22:
        return False
    if case["way"] == "buffer" or (
        case["way"] == "dict" and case["data"] in ("buffer", "bytearray", "bytes", "none")
    ):
        return True
    low, high = (
        sum(f(s * (n - 1), 0) for s, n in zip(array.strides, array.shape, strict=True))
        for f in (min, max)
    )
    at = array.__array_interface__["data"][0] - MEMORY.ctypes.data
    return not array.size or (at + low >= 0 and at + high + array.itemsize <= MEMORY.nbytes)


def check(case: dict[str, Any]) -> None:
    if case["door"] not in ("Field", "as_numpy", "host_array") and not readable(case):
        case = case | {"door": "Field"}
    obj = source(case)
    Mischief.raised = None
    try:
        got = through(case["door"], obj)
    except KeyboardInterrupt:
        assert Mischief.raised == "KeyboardInterrupt"
        return
    except MemoryError:
        assert Mischief.raised == "MemoryError" or case["door"] in NUMPYS
        return
    except (
        TypeError,
        ValueError,
        BufferError,
        AttributeError,
        OverflowError,
        NotImplementedError,
        IndexError,
    ) as error:
        assert not isinstance(error, UnicodeError) or not case["typestr"].isascii()
        # NumPy, which reads for some doors, loses some of them itself
        assert Mischief.raised in (None, "ValueError") or case["door"] in NUMPYS, (
            f"{Mischief.raised} became {error!r}"
        )
        return
    except SyntaxError:
        # NumPy's, of a typestr that it parses as Python; what reads strictly does not ask it
        assert case["door"] in (*NUMPYS, "storage")
        return
    except SystemError as error:  # NumPy's, of characters that are none, where it makes str of them
        assert "maximum character" in str(error) and case["door"] == "copyto", repr(error)
        return
    assert Mischief.raised is None, f"{Mischief.raised} was lost"
    if case["door"] == "copyto":
        # Without a unit, NumPy makes None of them
        moments = case["typestr"][1:2] in ("M", "m") or case.get("kind") in ("M", "m")
        for item in got.reshape(-1):
            assert (item is not None or moments) and type(item).__module__ in (
                "builtins",
                "numpy",
                "datetime",
            )
        return
    array = (
        got
        if isinstance(got, np.ndarray)
        else (
            got.to_numpy()
            if hasattr(got, "to_numpy")
            else got.numpy()
            if isinstance(got, gb.Field)
            else np.asarray(got)
        )
    )
    assert not objects(array.dtype), f"objects over foreign bytes: {array.dtype}"
    assert all(n >= 0 for n in array.shape)
    if (
        case["way"] == "dict"
        and case["door"] in ("Field", "as_numpy", "host_array")
        and "mutation" not in case
    ):
        assert case["version"] == 3 and "missing" not in case and not case.get("mask")
        assert (
            array.dtype.itemsize == np.dtype(case["typestr"]).itemsize
            and list(array.shape) == case["shape"][: array.ndim]
        )
        within(array, case)
        if array.nbytes <= 1 << 22 and inside(array, case):
            array.tobytes()  # reads all of it, which the address sanitizer sees


def inside(array: np.ndarray[Any, Any], case: dict[str, Any]) -> bool:
    """Whether all of it is the memory that was described, so that reading it is no fault of the
    description.
    """
    low, high = (
        sum(f(s * (n - 1), 0) for s, n in zip(array.strides, array.shape, strict=True))
        for f in (min, max)
    )
    return not array.size or (
        case["data"] not in ("null", "str", "odd")
        and low >= -1024
        and high < 2048
        and case.get("offset") in (None, 0)
    )


def within(array: np.ndarray[Any, Any], case: dict[str, Any]) -> None:
    """Buffers have an end; an address is believed."""
    if not array.size or case["data"] not in ("buffer", "bytearray", "bytes"):
        return
    room = {"buffer": 1024, "bytearray": 512, "bytes": 512}[case["data"]]
    low, high = (
        sum(f(s * (n - 1), 0) for s, n in zip(array.strides, array.shape, strict=True))
        for f in (min, max)
    )
    offset = case.get("offset") or 0
    if case["data"] == "buffer":
        assert (
            array.__array_interface__["data"][0] == MEMORY.ctypes.data + 1024 + offset
            if array.dtype.kind not in "mM"
            else True
        )
    assert offset + low >= 0 and offset + high + array.itemsize <= room, "outside the buffer"
