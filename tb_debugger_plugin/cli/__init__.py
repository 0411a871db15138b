"""The `tbdbg` command, one file per verb.

Takes arguments, prints text and returns an exit code. The module of each verb has `add_parser(subparsers)`,
which sets `run` as the parser's default, and `run(args)`, which returns the exit code.
"""
