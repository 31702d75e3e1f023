"""The engines that move plans between ranks, by MPI.

Read `communicator`: the duplicates of a communicator, one for each grid, which `attributes` keeps;
`revoke`: errors between ranks; `tags`, `control_messages` and `handshake`: before a plan is used;
`zero_copy`, `buffers`, `shared_memory`, `persistent_messages` and `pending_requests`: its memory
and its requests; then `mpi`, and `collectives`: the calls of all ranks.
"""
