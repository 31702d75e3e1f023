"""The names of gridbuf.exact, loaded together when the first of them is asked for."""

from gridbuf.exact.functions import dot, mean, norm, sum
from gridbuf.exact.total import Total

__all__ = ["Total", "dot", "mean", "norm", "sum"]
