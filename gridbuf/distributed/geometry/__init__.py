"""Which points of which blocks are filled from which, in integers: nothing here knows a field or
its memory.

Read `boxes`, `cuts` and `blocks`, `tiles` and `seams`, `cutting`, then `linking` (`straight_links`
where no seam has a say, `given_links` where users say it) and `schedule`. `between_decompositions`
is for what gathers and saves.
"""
