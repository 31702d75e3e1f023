/* docs.h: the docstrings of what Python calls in C, in NumPy's style. The first line
 * is the signature that inspect and help() show. */
#ifndef GRIDBUF_DOCS_H
#define GRIDBUF_DOCS_H

#define SPEC_SIGNATURE                                                                                         \
    "backend='C', dimensions=None, dims=None, aligned_index=None, halo=None, layout=None, byte_alignment=None, padding=None, " \
    "device=None, memory=None"

#define SPEC_PARAMETERS                                                                                       \
    "backend : str, optional\n"                                                                               \
    "    Whose layout: a name from `gridbuf.backends()`; gt4py's names, GDP-3's, 'C' and 'F'. Default: where\n"  \
    "    there is no layout either, what `gridbuf.set_default_backend` says, else 'C'.\n"                       \
    "dimensions, dims : str or sequence of str, optional\n"                                                         \
    "    What each index means: 'I', 'J', 'K', or '0', '1', ... for data dimensions. Default:\n"                \
    "    'IJK' as far as it goes, then '0', '1', ...\n"                                                         \
    "aligned_index : sequence of int, optional\n"                                                             \
    "    The element that sits on the alignment boundary. Default: the lower halo, else zeros.\n"              \
    "halo : sequence of int or (low, high) pairs, optional\n"                                                 \
    "    Elements around the domain, for each index.\n"                                                       \
    "layout : str or sequence of int, optional\n"                                                             \
    "    The names of the indices from the largest stride to the smallest, such as 'KJI', or the rank of each\n" \
    "    index's stride, 0 = largest. Overrides the backend's.\n"                                              \
    "byte_alignment : int, optional\n"                                                                        \
    "    The boundary in bytes, a power of two; 64 on the host, 256 on a device; raised to what the\n"         \
    "    backend asks for.\n"                                                                                 \
    "padding : None, bool or int, optional\n"                                                                 \
    "    None: rows as the backend says; False: none; True: rows to the boundary; an int: rows to\n"           \
    "    that many items.\n"                                                                                  \
    "device : None, 'cpu', 'gpu' or ('gpu', n), optional\n"                                                   \
    "    None: as the backend says. Arrays on a GPU are cupy's; Fields there need no cupy.\n"                       \
    "memory : None, 'pinned' or 'managed', optional\n"                                                        \
    "    The kind of memory; pinned memory lies on the host.\n"

#define SPEC_RAISES                                                                                           \
    "Raises\n------\n"                                                                                        \
    "TypeError, ValueError\n"                                                                                 \
    "    The argument's name, what came and what is allowed.\n"                                                \
    "BackendError\n"                                                                                          \
    "    An unknown backend: a ValueError and a RuntimeError, with the known names.\n"                         \
    "MemoryError\n"                                                                                           \
    "    No memory, or a limit (`gridbuf.memory.set_limit`); the numbers are in it.\n"                         \
    "RuntimeError\n"                                                                                          \
    "    A device that is not there, or a new request in a forked child.\n\n"

#define EXAMPLES "Examples\n--------\n>>> import gridbuf as gb\n"

/* Everything that makes memory: what stands before the keywords, what it says, what comes back, and an example. */
#define DOC_MAKER(signature, text, value, more, result, example)                                               \
    signature SPEC_SIGNATURE ")\n--\n\n" text "\n\n"                                                           \
    "Parameters\n----------\n"                                                                                \
    "shape : int or sequence of int\n    Elements along each index; zeros are allowed, at most 32 indices.\n" value \
    "dtype : dtype_like, optional\n    A sub-shape adds data dimensions at the end.\n" more SPEC_PARAMETERS   \
    "\nReturns\n-------\n" result "\n" SPEC_RAISES EXAMPLES example

#define VALUE_PARAMETER "fill_value : scalar\n    What every element is; converted as by assignment.\n"
#define DIMS_PARAMETERS                                                                                       \
    "origin : sequence of int, optional\n    The first point of the domain, in index order. Default: the lower halo.\n"

#define AN_ARRAY "numpy.ndarray\n    Exactly that type; it owns its memory. On a GPU a cupy.ndarray.\n"
#define DOC_ARRAY(signature, text, value, example) DOC_MAKER(signature "dtype='float64', *, ", text, value, "", AN_ARRAY, example)
#define DOC_EMPTY                                                                                             \
    DOC_ARRAY("empty(shape, ", "A new array with a backend's best layout, its values undefined.", "",          \
              ">>> gb.empty((12, 12, 7), backend='gtmc', aligned_index=(2, 2, 0)).strides\n(8, 896, 128)\n")
#define DOC_ZEROS                                                                                             \
    DOC_ARRAY("zeros(shape, ", "A new array of zeros with a backend's best layout.", "",                      \
              ">>> gb.zeros((2, 2), backend='gt:cpu_ifirst').tolist()\n[[0.0, 0.0], [0.0, 0.0]]\n")
#define DOC_ONES                                                                                              \
    DOC_ARRAY("ones(shape, ", "A new array of ones with a backend's best layout.", "",                        \
              ">>> gb.ones((2, 2), backend='gt:cpu_ifirst').tolist()\n[[1.0, 1.0], [1.0, 1.0]]\n")
#define DOC_FULL                                                                                              \
    DOC_ARRAY("full(shape, fill_value, ", "A new array of one value with a backend's best layout.", VALUE_PARAMETER, \
              ">>> gb.full((2,), 1.7, 'int32').tolist()\n[1, 1]\n")

#define A_FIELD "Field\n    Over memory of its own.\n"
#define DOC_FIELD_MAKER(signature, text, value, example)                                                      \
    DOC_MAKER(signature "dtype='float64', *, origin=None, ", text, value, DIMS_PARAMETERS, A_FIELD, example)
#define DOC_FIELD_EMPTY                                                                                       \
    DOC_FIELD_MAKER("empty(shape, ", "A Field over new memory with a backend's best layout, its values undefined.", "", \
                    ">>> f = gb.Field.empty((10, 10, 10), dims='IJK', halo=(2, 2, 0), backend='gt:cpu_ifirst')\n" \
                    ">>> f.origin, f.strides\n((2, 2, 0), (8, 80, 800))\n")
#define DOC_FIELD_ZEROS                                                                                       \
    DOC_FIELD_MAKER("zeros(shape, ", "A Field of zeros over new memory with a backend's best layout.", "",    \
                    ">>> gb.Field.zeros((2, 3), dims='KI').tolist()\n[[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]\n")
#define DOC_FIELD_ONES                                                                                        \
    DOC_FIELD_MAKER("ones(shape, ", "A Field of ones over new memory with a backend's best layout.", "",      \
                    ">>> gb.Field.ones((2, 3), dims='KI').tolist()\n[[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]\n")
#define DOC_FIELD_FULL                                                                                        \
    DOC_FIELD_MAKER("full(shape, fill_value, ", "A Field of one value over new memory with a backend's best layout.", VALUE_PARAMETER, \
                    ">>> gb.Field.full((2,), 7, 'int32', dims='K').tolist()\n[7, 7]\n")

#define DOC_PLAN                                                                                              \
    DOC_MAKER("plan(shape, dtype='float64', *, alignment=None, ",                                                     \
              "The answer to a request, without allocating: strides, padding, alignment and size.\n\n"         \
              "The parameters are those of `gridbuf.empty`. A device need not be there.", "",                   \
              "alignment : int, optional\n    Items. That of a backend, which rows and boundary follow.\n",             \
              "Plan\n    Equal requests give equal plans, however they are spelled.\n",                        \
              ">>> p = gb.plan((12, 12, 7), backend='gtcuda', aligned_index=(2, 2, 0))\n"                      \
              ">>> p.strides, p.offset, p.byte_alignment\n((8, 256, 3072), 240, 256)\n")

#define DOC_PLAN_OF                                                                                           \
    "of(array_or_field, /)\n--\n\n"                                                                              \
    "The plan read back from memory that exists.\n\n"                                                         \
    "A Field made by gridbuf answers with the plan it was made from. For other memory\n"                      \
    "aligned_index is zeros, byte_alignment the largest power of two up to 4096 that divides\n"                \
    "the address of element 0.\n\n"                                                                           \
    "Parameters\n----------\narray_or_field\n    What `gridbuf.Field` takes.\n\n"                             \
    "Returns\n-------\nPlan\n\n"                                                                             \
    "Raises\n------\nTypeError\n    When it has no memory.\n\n"                                              \
    "Examples\n--------\n>>> import gridbuf as gb, numpy as np\n"                                              \
    ">>> gb.Plan.of(np.zeros((4, 3), order='F')).layout\n(1, 0)\n"

#define DOC_PLAN_TYPE                                                                                         \
    "What is known of an array before it has memory; made by `gridbuf.plan`.\n\n"                             \
    "Immutable and hashable; equal requests give equal plans.\n\n"                                            \
    "Attributes\n----------\n"                                                                                \
    "shape : tuple of int\n    Elements along each index, those of a sub-shape dtype at the end.\n"            \
    "dtype : numpy.dtype\n"                                                                                   \
    "dims : tuple of str\n    What each index means: 'I', 'J', 'K', '0', '1', ...\n"                          \
    "ndim : int\n"                                                                                            \
    "layout : tuple of int\n    The rank of each index's stride, 0 = largest.\n"                              \
    "strides : tuple of int\n    In bytes.\n"                                                                 \
    "padded_shape : tuple of int\n    Elements along each index with those that only pad.\n"                  \
    "aligned_index : tuple of int\n    The element that sits on the alignment boundary.\n"                    \
    "byte_alignment : int\n    That boundary, in bytes.\n"                                                    \
    "offset : int\n    The address of element 0 modulo `byte_alignment`, in bytes.\n"                         \
    "nbytes : int\n    Bytes of the elements alone.\n"                                                        \
    "alloc_nbytes : int\n    Bytes that are reserved: padding, alignment and the block's size class included.\n" \
    "device : 'cpu' or ('gpu', n)\n    Where the memory lies.\n"                                              \
    "memory : None, 'pinned' or 'managed'\n    Its kind.\n"

#define DOC_REGISTER                                                                                          \
    "register_backend(name, *, layout, alignment=1, device='cpu')\n--\n\n"                                     \
    "Add a backend preset of your own.\n\n"                                                                   \
    "Parameters\n----------\n"                                                                                \
    "name : str\n    A name given before is replaced; a built-in one cannot be.\n"                            \
    "layout : str, or function\n    The axes, slowest first, such as 'KJI'; or a function from a tuple of dims\n" \
    "    to a layout (the rank of each index's stride, 0 = largest).\n"                                       \
    "alignment : int, optional\n    Items that rows are padded to and that the aligned element sits on.\n"     \
    "device : 'cpu' or 'gpu', optional\n    Where its memory lies.\n\n"                                        \
    "Raises\n------\nTypeError, ValueError\n    The argument's name, what came and what is allowed.\n\n"     \
    "Examples\n--------\n>>> import gridbuf as gb\n"                                                          \
    ">>> gb.register_backend('mine', layout='JIK', alignment=4)\n"                                            \
    ">>> gb.plan((3, 4, 5), backend='mine').strides\n(64, 192, 8)\n"

#define DOC_BACKENDS                                                                                           \
    "backends()\n--\n\n"                                                                                     \
    "The known backend names.\n\n"                                                                          \
    "Returns\n-------\ntuple of str\n    Sorted; those of `register_backend` are among them.\n\n"            \
    EXAMPLES ">>> 'gt:cpu_ifirst' in gb.backends()\nTrue\n"

#define DOC_BUFFER_ID                                                                                         \
    "memory_id(obj, /)\n--\n\n"                                                                              \
    "The number of the buffer that an array, a view of one or a Field lies in.\n\n"                           \
    "A number is never used again, unlike an address: a cache keyed by it cannot take new memory\n"            \
    "for old.\n\n"                                                                                          \
    "Parameters\n----------\nobj\n    Any object.\n\n"                                                       \
    "Returns\n-------\nint or None\n    None for memory that is not gridbuf's.\n\n"                          \
    "Examples\n--------\n>>> import gridbuf as gb\n>>> a = gb.empty((2, 3))\n"                               \
    ">>> gb.memory.buffer_id(a) == gb.memory.buffer_id(gb.Field(a)[1:])\nTrue\n"

#define DOC_FIELD                                                                                             \
    "Field(data, dims=None, *, origin=None, halo=None, require=None)\n--\n\n"                                  \
    "Memory that remembers what its indices mean and where the halo ends.\n\n"                                \
    "Wraps without copying; `Field.empty`, `zeros`, `ones`, `full` and `from_array` make memory.\n"            \
    "The Field of a stencil call needs no origin and no dimension order: gt4py reads both.\n\n"               \
    "Parameters\n----------\n"                                                                                \
    "data\n    An ndarray, a Field, or an object with the buffer protocol, an array interface or DLPack.\n"    \
    "dims : str or sequence of str, optional\n    What each index means. Default: what data itself says.\n"    \
    "origin : sequence of int, optional\n    The first point of the domain, in index order. Default: the lower halo.\n" \
    "halo : sequence of int or (low, high) pairs, optional\n    Elements around the domain.\n"                \
    "require : dict, optional\n    What the memory must satisfy, in the keywords of `gridbuf.empty` and dtype: the Field shares the\n" \
    "    memory, or a ValueError names the first requirement missed, what was expected and found, and\n"       \
    "    the call that makes a proper copy.\n\n"                                                              \
    "Attributes\n----------\n"                                                                                \
    "shape, strides : tuple of int\n    Elements, and bytes, along each index.\n"                            \
    "dtype : numpy.dtype\n"                                                                                   \
    "ndim, size, nbytes : int\n    Indices, elements, and bytes of the elements.\n"                          \
    "dims : tuple of str\n    What each index means.\n"                                                      \
    "origin : tuple of int or None\n    The first point of the domain.\n"                                    \
    "halo : tuple of (int, int) or None\n    Elements below and above the domain, for each index.\n"         \
    "device : 'cpu' or ('gpu', n)\n    Where the memory lies.\n"                                             \
    "readonly : bool\n"                                                                                       \
    "plan : Plan\n    Its layout.\n"                                                                         \
    "domain : Field\n    The same memory without the halo.\n"                                                \
    "T : Field\n    The same memory with the indices in reverse.\n"                                          \
    "flags : numpy.flagsobj\n    Those of the array over the same memory.\n\n"                               \
    "Raises\n------\nTypeError\n    When data has no memory to share.\nValueError\n    When dims, origin or halo do not fit, or a requirement is missed.\n" \
    "BufferError\n    When a DLPack tensor is malformed or cannot be shared.\n\n"                              \
    "Examples\n--------\n>>> import gridbuf as gb, numpy as np\n"                                              \
    ">>> a = np.zeros((5, 6, 7))\n>>> f = gb.Field(a, 'KJI', halo=(0, 1, 1))\n"                               \
    ">>> f.domain.shape, f.__gt_origin__\n((5, 4, 5), (1, 1, 0))\n"                                           \
    ">>> np.shares_memory(f, a)\nTrue\n"                                                                     \
    ">>> gb.Field(a, 'KJI', require={'backend': 'gt:cpu_ifirst', 'dtype': 'f8', 'byte_alignment': 8}).dims\n" \
    "('K', 'J', 'I')\n"

#define DOC_FROM_DLPACK                                                                                       \
    "from_dlpack(x, dims=None, *, origin=None, halo=None, copy=None)\n--\n\n"                                \
    "A Field over the memory of any DLPack producer.\n\n"                                                     \
    "Parameters\n----------\n"                                                                                \
    "x\n    An object with the DLPack C exchange API on its type (1.3) or with `__dlpack__` of any age.\n"     \
    "dims, origin, halo\n    As for `Field`.\n"                                                               \
    "copy : bool, optional\n    True: memory of its own, writable. False: never a copy. None: a copy only if the producer makes one.\n\n" \
    "Returns\n-------\nField\n    Over the producer's memory, which it keeps; over memory of its own where a copy was made.\n\n" \
    "Raises\n------\nTypeError\n    When x does not speak DLPack or says that its memory is not on the host.\n" \
    "BufferError\n    When the producer's tensor is malformed or cannot be shared.\n\n"                       \
    "Examples\n--------\n>>> import gridbuf as gb, numpy as np\n>>> a = np.zeros((2, 3))\n"                   \
    ">>> np.shares_memory(gb.from_dlpack(a, dims='IJ'), a)\nTrue\n"

#define DOC_HOST_ARRAY                                                                                        \
    "host_array(obj, /)\n--\n\n"                                                                             \
    "An ndarray over obj's host memory; TypeError when it has none, never a copy."

#define DOC_FIELD_TRANSPOSE                                                                                   \
    "transpose($self, /, *dims)\n--\n\n"                                                                      \
    "The same memory with the indices in another order.\n\n"                                                \
    "Parameters\n----------\n*dims : str or int\n    Names or numbers, one by one or in a sequence; in reverse without any.\n\n" \
    "Returns\n-------\nField\n    A view.\n\n"                                                             \
    "Raises\n------\nTypeError, ValueError\n    When dims is no permutation of the Field's.\n\n"             \
    "Examples\n--------\n>>> import gridbuf as gb\n>>> f = gb.Field.zeros((2, 3, 4), dims='IJK')\n"           \
    ">>> f.transpose('KJI').shape, f.transpose('K', 'J', 'I').shape, f.transpose(2, 0, 1).dims\n"             \
    "((4, 3, 2), (4, 3, 2), ('K', 'I', 'J'))\n"

#define DOC_FIELD_DLPACK                                                                                      \
    "__dlpack__($self, /, stream=None, *, max_version=None, dl_device=None, copy=None)\n--\n\n"              \
    "A DLPack capsule over the same memory (DLPack 1.3)."

#define DOC_FIELD_ARRAY_UFUNC                                                                                 \
    "__array_ufunc__($self, ufunc, method, /, *inputs, **kwargs)\n--\n\n"                                    \
    "NumPy's protocol of ufuncs: operands meet along indices of the same name, and a Field comes back."
#define DOC_FIELD_ARRAY_FUNCTION                                                                              \
    "__array_function__($self, func, types, args, kwargs, /)\n--\n\n"                                        \
    "NumPy's protocol of functions: by name where they reduce or join, else on plain arrays."

#define DOC_COPYTO                                                                                            \
    "copyto(dst, src, *, casting='same_kind', progress=None)\n--\n\n"                                         \
    "Copy values from one buffer into another, whatever the strides, on all cores when that pays.\n\n"        \
    "Parameters\n----------\n"                                                                                \
    "dst\n    A Field, an ndarray or anything with writable host memory. Indices are matched by name where\n" \
    "    both sides have names, else by position; names that dst lacks are an error.\n"                       \
    "src\n    Values that broadcast to dst's shape. They may overlap dst: the result is as if they had been\n" \
    "    copied away first.\n"                                                                                \
    "casting : {'no', 'equiv', 'safe', 'same_kind', 'unsafe'}\n"                                              \
    "    Which dtype conversions are allowed, as for np.copyto.\n"                                            \
    "progress : callable, optional\n"                                                                         \
    "    Called every 20 ms or so with the part that is done, 0.0 to 1.0, and at the end with 1.0. An\n"      \
    "    exception from it, or Ctrl-C, ends the copy; dst is then written in part.\n\n"                       \
    "Raises\n------\n"                                                                                        \
    "TypeError\n    When the conversion is not allowed, or dst has no memory to write to.\n"                  \
    "ValueError\n    When src does not broadcast to dst, or dst is read-only.\n"                              \
    "MemoryError\n    When overlapping arrays need a temporary and there is no memory for it.\n\n"             \
    "Examples\n--------\n>>> import gridbuf as gb\n>>> f = gb.Field.zeros((2, 3))\n"                           \
    ">>> gb.copyto(f, [1.0, 2.0, 3.0])\n>>> float(f[1, 2])\n3.0\n"

#define DOC_FILL                                                                                              \
    "fill(dst, value, *, progress=None)\n--\n\n"                                                              \
    "Set every element of a Field, an ndarray or other writable host memory to one value.\n\n"                \
    "Parameters\n----------\n"                                                                                \
    "dst\n    A Field, an ndarray or anything with writable host memory; a Field may lie on a GPU.\n"          \
    "value : scalar\n    Converted as by assignment.\n"                                                     \
    "progress : callable, optional\n    As for `gridbuf.copyto`.\n\n"                                        \
    "Raises\n------\n"                                                                                        \
    "TypeError\n    When dst has no memory to write to, or the value does not convert.\n"                    \
    "ValueError\n    When dst is read-only, or the value is more than one.\n\n"                              \
    "Examples\n--------\n>>> import gridbuf as gb\n>>> a = gb.empty((2, 2))\n"                                 \
    ">>> gb.fill(a, 7.0)\n>>> float(a.sum())\n28.0\n"

#define DOC_GET_NUM_THREADS                                                                                   \
    "get_num_threads()\n--\n\n"                                                                               \
    "How many threads gridbuf uses.\n\n"                                                                      \
    "Returns\n-------\nint\n    `set_num_threads`, else GRIDBUF_NUM_THREADS, else the cores this process may use.\n\n" \
    EXAMPLES ">>> gb.get_num_threads() >= 1\nTrue\n"

#define DOC_SET_NUM_THREADS                                                                                   \
    "set_num_threads(n, /)\n--\n\n"                                                                           \
    "Use n threads from now on.\n\n"                                                                          \
    "Parameters\n----------\nn : int\n    1 or more.\n\n"                                                     \
    "Raises\n------\nTypeError, ValueError\n    When n is no int, or below 1.\n\n"                              \
    EXAMPLES ">>> before = gb.get_num_threads()\n>>> gb.set_num_threads(1)\n>>> gb.get_num_threads()\n1\n"      \
    ">>> gb.set_num_threads(before)\n"

#define DOC_FIELD_NUMPY                                                                                       \
    "numpy($self, /)\n--\n\n"                                                                                  \
    "An np.ndarray over the same memory.\n\n"                                                                 \
    "Returns\n-------\nnumpy.ndarray\n    A view that keeps the Field's memory; writable where the Field is.\n\n" \
    "Raises\n------\nTypeError\n    When the memory is a GPU's: `field.to(device='cpu').numpy()` copies.\n\n"    \
    EXAMPLES ">>> f = gb.Field.zeros((2, 3), dims='KI')\n>>> f.numpy()[0, 0] = 1.0\n>>> float(f[0, 0])\n1.0\n"

#define DOC_FIELD_CUPY                                                                                        \
    "cupy($self, /)\n--\n\n"                                                                                   \
    "A cupy.ndarray over the same memory, the same one each time.\n\n"                                        \
    "Returns\n-------\ncupy.ndarray\n    A view that keeps the Field's memory.\n\n"                            \
    "Raises\n------\nImportError\n    When cupy is not installed.\n\n"                                         \
    EXAMPLES ">>> gb.Field.zeros((2, 3), device='gpu').cupy().shape  # doctest: +SKIP\n(2, 3)\n"

#define DOC_BACKEND_ERROR "A backend that nobody has registered; the message has the names that are known."

#endif
