"""The engines that move plans between ranks, by MPI.

Read `communicator` and `duplicates`: the duplicates of a communicator, one for each grid; `revoke`:
errors between ranks; `handshake`: agreement on a plan before its first use; `shared_memory`,
`buffers`, `persistent_messages` and `pending_requests`: memory, requests and tags of messages; then
the engines `mpi` and `ghex`, and `collectives`: the calls of all ranks.
"""
