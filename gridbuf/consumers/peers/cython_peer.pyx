# cython: language_level=3, boundscheck=False, wraparound=False
"""What Cython's typed memoryviews see: held, read and written by compiled loops of each type."""

cimport cython
from cython.view cimport array as cython_array

ctypedef fused T:
    signed char
    short
    int
    long
    unsigned char
    unsigned short
    unsigned int
    unsigned long
    float
    double
    float complex
    double complex


def hold(T[:, :, :] a):
    """The memoryview that Cython makes of an argument."""
    return a


def hold_readonly(const T[:, :, :] a):
    return a


def values(const T[:, :, :] a, T[:, :, ::1] out):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            for k in range(a.shape[2]):
                out[i, j, k] = a[i, j, k]


def write(T[:, :, :] a, Py_ssize_t i, Py_ssize_t j, Py_ssize_t k, T[:, :, ::1] value):
    a[i, j, k] = value[0, 0, 0]


def address(const T[:, :, :] a):
    return <size_t>&a[0, 0, 0]


def memory(Py_ssize_t nbytes):
    """Memory that Cython owns."""
    return cython_array((nbytes,), itemsize=1, format="B")
