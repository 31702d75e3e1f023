# cython: language_level=3, boundscheck=False
# A Cython module whose typed memoryviews hold arrays of three indices, const where they are read-only.
cimport cython
from cython.view cimport array as cvarray

ctypedef fused element:
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

def view(element[:, :, :] a):
    """The memoryview itself, as an object."""
    return a

def constant(const element[:, :, :] a):
    return a

def address(const element[:, :, :] a):
    return <size_t> &a[0, 0, 0]

def strides(const element[:, :, :] a):
    return a.strides[0], a.strides[1], a.strides[2]

def get(const element[:, :, :] a, Py_ssize_t i, Py_ssize_t j, Py_ssize_t k):
    return a[i, j, k]

def set(element[:, :, :] a, Py_ssize_t i, Py_ssize_t j, Py_ssize_t k, element value):
    a[i, j, k] = value

def make(tuple shape, Py_ssize_t itemsize, str format, str mode):
    """Memory of Cython's own, C or Fortran order."""
    return cvarray(shape=shape, itemsize=itemsize, format=format, mode=mode)

def contiguous(double[:, :, ::1] a):
    """As most programs declare it: C order, no gaps in the last index."""
    return <size_t> &a[0, 0, 0]
