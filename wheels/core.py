"""The part of the suite that says whether a wheel works where it is installed."""

# Under emulation a test takes ten times as long and more: the first of each kind.
EMULATED = ["test_ownership.py", "gufunc/test_gufunc_flags.py", "test_used_blocks.py"]

PACKAGES = ["pytest>=8", "hypothesis", "ml_dtypes"]
