"""Make kernels.ptx and kernels_ptx.h from kernels.h with NVRTC: `pip install nvidia-cuda-nvrtc-cu12 nvidia-cuda-nvcc-cu12`, then run this.

Needs no GPU. The PTX is for compute capability 5.2 and is declared as PTX 6.0 (CUDA 9), so that every driver that has
our entry points takes it and compiles it for the GPU at hand; ptxas, when there is one, checks that claim.
"""

import ctypes
import hashlib
import pathlib
import re
import subprocess
import sys
import tempfile

here = pathlib.Path(__file__).parent


def compile_ptx(source: str) -> str:
    import nvidia.cuda_nvrtc as package

    nvrtc = ctypes.CDLL(str(next(pathlib.Path(package.__path__[0], "lib").glob("libnvrtc.so.*"))))
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"kernels.cu", 0, None, None)
    options = (ctypes.c_char_p * 2)(b"--gpu-architecture=compute_52", b"--std=c++14")
    failed = nvrtc.nvrtcCompileProgram(program, len(options), options)
    if failed:
        nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        nvrtc.nvrtcGetProgramLog(program, log)
        sys.exit(log.value.decode())
    nvrtc.nvrtcGetPTXSize(program, ctypes.byref(size))
    ptx = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetPTX(program, ptx)
    return ptx.value.decode()


def check(ptx: str) -> None:
    try:
        import nvidia.cuda_nvcc as package
    except ImportError:
        return print("ptxas is not installed: not checked")
    ptxas = pathlib.Path(package.__path__[0], "bin", "ptxas")
    ptxas.chmod(0o755)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "kernels.ptx")
        path.write_text(ptx)
        for target in ("sm_52", "sm_70", "sm_80", "sm_90"):
            subprocess.run([ptxas, "-arch", target, "-o", path.with_suffix(".cubin"), path], check=True)
            print("ptxas takes it for", target)


def number(n: int) -> bytes:
    out = b""
    while n >= 128:
        out, n = out + bytes([n % 128 + 128]), n // 128
    return out + bytes([n])


def pack(data: bytes) -> bytes:
    """How many bytes follow as they are, they, how many to repeat, from how far back; and so on, to the end."""
    out, literal, at = b"", b"", 0
    seen: dict[bytes, list[int]] = {}
    while at < len(data):
        best, back = 0, 0
        for start in reversed(seen.get(data[at : at + 4], [])[-400:]):
            n = 4
            while at + n < len(data) and data[start + n] == data[at + n]:
                n += 1
            if n > best:
                best, back = n, at - start
        step = best if best >= 6 else 1
        for i in range(at, at + step):
            seen.setdefault(data[i : i + 4], []).append(i)
        if step > 1:
            out, literal = out + number(len(literal)) + literal + number(best) + number(back), b""
        else:
            literal += data[at : at + 1]
        at += step
    return out + number(len(literal)) + literal


def unpack(packed: bytes) -> bytes:
    data, at = bytearray(), 0

    def take() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte, at = packed[at], at + 1
            value |= byte % 128 << shift
            shift += 7
            if byte < 128:
                return value

    while True:
        n = take()
        data += packed[at : at + n]
        at += n
        if at == len(packed):
            return bytes(data)
        n, back = take(), take()
        for _ in range(n):
            data.append(data[-back])


ptx = compile_ptx((here / "kernels.h").read_text())
ptx = re.sub(r"^//.*\n", "", ptx, flags=re.M)
ptx = re.sub(r"^\.version .*$", ".version 6.0", ptx, flags=re.M)
ptx = re.sub(r"[ \t]+", " ", re.sub(r"\n\s*\n+", "\n", ptx)).strip() + "\n"
check(ptx)
(here / "kernels.ptx").write_text(ptx)
digest = hashlib.sha256((here / "kernels.h").read_bytes()).hexdigest()
packed = pack(ptx.encode())
assert unpack(packed) == ptx.encode()
numbers = "\n".join(",".join(map(str, packed[i : i + 32])) + "," for i in range(0, len(packed), 32))
(here / "kernels_ptx.h").write_text(
    "/* kernels_ptx.h: kernels.ptx, packed (unpack.h) by kernels.py; do not edit.\n"
    f" * kernels.h was {digest} */\n"
    f"#define KERNELS_PTX_BYTES {len(ptx)}\n"
    f"static const unsigned char kernels_ptx[] = {{\n{numbers}\n}};\n"
)
print(len(ptx), "bytes of PTX,", len(packed), "packed")
