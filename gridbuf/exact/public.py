"""The names of gridbuf.exact, loaded together when the first of them is asked for."""

from gridbuf.exact.sums import Total, dot, mean, norm, sum

__all__ = ["Total", "dot", "mean", "norm", "sum"]
