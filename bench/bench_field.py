"""Fields in arithmetic: what names, halo and layout add to NumPy's ufuncs; and views."""

from measure import Case

SMALL = (
    "import numpy as np, gridbuf as gb\n"
    'f, g = gb.Field.zeros(3, dims="I", halo=(1,)), gb.Field.ones(3, dims="I", halo=(1,))\n'
    "a, b = np.zeros(3), np.ones(3)"
)
VIEWS = (
    "import numpy as np, gridbuf as gb\n"
    'one, line = gb.Field.zeros(10, dims="I"), np.zeros(10)\n'
    'f, a = gb.Field.zeros((10, 10, 10), dims="IJK"), np.zeros((10, 10, 10))\n'
    'h = gb.Field.zeros((10, 10, 10), dims="IJK", halo=(1, 1, 0))'
)
NAMED = (
    'import numpy as np, gridbuf as gb\nf, k = gb.Field.zeros((64, 64, 80), dims="IJK"),'
    ' gb.Field.zeros(80, dims="K")\na, b = f.numpy(), k.numpy()'
)

CASES = [
    Case("Field + 1.0 / np.add", "f + 1.0", "np.add(a, 1.0)", SMALL, 6.0),
    Case("Field + Field / np.add", "f + g", "np.add(a, b)", SMALL, 6.0),
    Case("np.add(Field, Field) / np.add", "np.add(f, g)", "np.add(a, b)", SMALL, 6.0),
    Case(
        "np.add(Field, Field, out=Field) / np.add",
        "np.add(f, g, out=f)",
        "np.add(a, b, out=a)",
        SMALL,
        6.0,
    ),
    Case("field[1:] / an ndarray's, one index", "one[1:]", "line[1:]", VIEWS, 1.1),
    Case("field[1:] / an ndarray's, three", "f[1:]", "a[1:]", VIEWS, 1.1),
    Case("field[1:] / an ndarray's, three and a halo", "h[1:]", "a[1:]", VIEWS, 1.1),
    Case("field[1:, 2:5] / an ndarray's, a halo", "h[1:, 2:5]", "a[1:, 2:5]", VIEWS, 1.3),
    Case("IJK + K / the arrays", "f + k", "a + b", NAMED, 1.5),
]
