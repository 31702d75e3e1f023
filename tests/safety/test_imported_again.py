"""First uses that are interrupted, and imports after sys.modules was purged: Fields stay Fields,
and errors say the cause.
"""

import pytest
from in_child import python

PURGED = """
import sys
import numpy as np
import gridbuf as gb
f = gb.Field.full((3, 4), 2.0, dims="IJ")
add = gb.gufunc.from_ufunc(np.add)
if sys.argv[1] == "used":
    f + f, np.mean(f, axis="I"), add(f, f)
for name in [name for name in sys.modules if name.startswith("gridbuf")]:
    del sys.modules[name]
import gridbuf as again
import gridbuf.storage as gs
assert again is not gb and again.Field is gb.Field
new = again.Field.full((3, 4), 3.0, dims="IJ")
for result in (f + new, new + f, add(f, new), again.gufunc.from_ufunc(np.add)(new, f),
    np.add(f, again.full((3, 4), 3.0))):
    assert isinstance(result, gb.Field) and (result.numpy() == 5.0).all()
assert np.mean(f, axis="I").shape == (4,) and f[1:].copy().shape == (2, 4)
assert again.exact.sum(f) == 24.0
assert ((gs.ones((3, 4)) + gs.ones((3, 4))).to_numpy() == 2.0).all()
again.copyto(new, f)
assert (new.numpy() == 2.0).all()
try:
    again.gufunc.GUFunc("((n))->()", kernels=[])
except again.gufunc.SignatureError:
    pass
"""
INTERRUPTED = """
import sys
import numpy as np
import gridbuf as gb
import gridbuf.storage as gs
x, y = gb.Field.full((3, 4), 2.0, dims="IJ"), np.ones((3, 4))
use = {use}
wanted, line, errors, inside = int(sys.argv[1]), 0, [], False
def trace(frame, event, arg):  # as a signal handler would, between two lines of the first use
    global line, inside
    if event == "line" and not inside and "gridbuf" in frame.f_code.co_filename:
        line += 1
        if line == wanted:
            inside = True
            if {raising}:
                raise KeyboardInterrupt
            try:
                use()
            except ImportError as error:
                errors.append(str(error))
            inside = False
    return trace
sys.settrace(trace)
try:
    first = use()
except KeyboardInterrupt:
    first = None
sys.settrace(None)
second = use()
assert first is None or np.array_equal(np.asarray(first), np.asarray(second))
assert all("import" in error for error in errors), errors
print(line)
"""
USES = {
    "function": "lambda: np.mean(x, axis='I')",
    "named": "lambda: x + gb.Field(y.T, dims='JI')",
    "exact": "lambda: gb.exact.sum(x)",
    "gufunc": "lambda: gb.gufunc.from_ufunc(np.add)(x, x)",
    "storage": "lambda: gs.ones((3, 4)) + 1.0",
}


@pytest.mark.parametrize("used", ["used", "new"])
def test_fields_outlive_a_purge_of_the_modules(used: str) -> None:
    python(PURGED, used)


@pytest.mark.slow
@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("raising", [False, True], ids=["uses it too", "raises"])
def test_a_first_use_that_is_interrupted(use: str, raising: bool) -> None:
    code = INTERRUPTED.format(use=USES[use], raising=raising)
    lines = int(python(code, "-1"))
    for at in range(1, lines, lines // 7 + 1):
        python(code, str(at))
