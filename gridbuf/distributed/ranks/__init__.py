"""The engines that move plans between ranks, by MPI.

Read `hub`, `tags` and `mail`: what two ranks share, and how they talk; `agreements`, `handshake` and `terms`: before a plan is used; `buffers`,
`sharing`, `messages` and `connecting`: its memory and its requests; then `mpi`. What ends an exchange: `raising`, `standing`, `crossing`, `left`. What
all ranks do together: `everyone`, `listening`, `rolls`.
"""
