"""The `tbdbg` command, one file per verb.

Takes arguments, prints text and returns an exit code. The module of each verb has `declare(parser)`, for its
arguments, and `run(args)`, which returns the exit code.
"""
