"""`python -m gridbuf watch program.py`: the memory of a program, by line, and changes that pay.

main             the command, and the collectors that it puts in place
records          `Book`: the counts and times that collectors write
lines, patches   the program's line that runs; functions of other packages, exchanged for a while
collectors       allocations, copies, stencils (cartesian, programs), messages (datatypes)
benchmark        measurements beside the program: layouts, a pool, the whole program (stopwatch)
report           all of it as one dictionary, and the cost of watching
output           recommendations and table in words, to the error stream and to files

docs/watch.md is the user's side.
"""
