"""The part of the suite that says whether a wheel works where it is installed."""

# Under emulation a test takes ten times as long and more: what needs no compiler for that machine.
EMULATED = ["test_ownership.py", "test_wrapping.py", "test_dlpack.py"]

PACKAGES = ["pytest>=8", "hypothesis", "ml_dtypes"]
