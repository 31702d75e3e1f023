"""Fields in arithmetic: what names, halo and layout add to NumPy's ufuncs; and views."""

from measure import Case

SMALL = (
    "import numpy as np, gridbuf as gb\n"
    'f, g = gb.Field.zeros(3, dims="I", halo=(1,)), gb.Field.ones(3, dims="I", halo=(1,))\n'
    "a, b = np.zeros(3), np.ones(3)"
)
GRID = 'import numpy as np, gridbuf as gb\nf, a = gb.Field.zeros((4, 5, 6), dims="IJK"), np.zeros((4, 5, 6))'
NAMED = (
    'import numpy as np, gridbuf as gb\nf, k = gb.Field.zeros((64, 64, 80), dims="IJK"), gb.Field.zeros(80, dims="K")\n'
    "a, b = f.numpy(), k.numpy()"
)

CASES = [
    Case("Field + 1.0 / np.add", "f + 1.0", "np.add(a, 1.0)", SMALL, 6.0),
    Case("Field + Field / np.add", "f + g", "np.add(a, b)", SMALL, 6.0),
    Case("np.add(Field, Field) / np.add", "np.add(f, g)", "np.add(a, b)", SMALL, 6.0),
    Case("np.add(Field, Field, out=Field) / np.add", "np.add(f, g, out=f)", "np.add(a, b, out=a)", SMALL, 6.0),
    Case("field[1:] / an ndarray's", "f[1:]", "a[1:]", GRID, 1.1),
    Case("IJK + K / the arrays", "f + k", "a + b", NAMED, 1.5),
]
