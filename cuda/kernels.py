"""Make kernels.ptx from kernels.h with NVRTC: `pip install nvidia-cuda-nvrtc-cu12
nvidia-cuda-nvcc-cu12`, then run this.

Needs no GPU. The PTX is for compute capability 5.2 and is declared as PTX 6.0 (CUDA 9), so that
every driver that has our entry points takes it and compiles it for the GPU at hand; ptxas, when
there is one, checks that claim.
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
            subprocess.run(
                [ptxas, "-arch", target, "-o", path.with_suffix(".cubin"), path], check=True
            )
            print("ptxas takes it for", target)


ptx = compile_ptx((here / "kernels.h").read_text())
ptx = re.sub(r"^//.*\n", "", ptx, flags=re.M)
ptx = re.sub(r"^\.version .*$", ".version 6.0", ptx, flags=re.M)
ptx = re.sub(r"[ \t]+", " ", re.sub(r"\n\s*\n+", "\n", ptx)).strip() + "\n"
check(ptx)
ptx += f"// of kernels.h {hashlib.sha256((here / 'kernels.h').read_bytes()).hexdigest()}\n"
(here / "kernels.ptx").write_text(ptx)
print(len(ptx), "bytes of PTX")
