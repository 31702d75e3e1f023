"""`python -m gridbuf watch program.py`: what a program does with its memory, and what to change. See docs/watch.md.

collectors   allocations, numpy_copies, pickles, cartesian, ...: each writes into the `Book`, and waits for its library
numbers      report: everything as one dictionary; costs: our own part of the time
words        table, page, advice
"""
