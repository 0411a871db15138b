"""The `tbdbg` command, one file a verb.

In come arguments, out come text and an exit code. Each verb's module has `add_parser(subparsers)`, which sets
`run` as the parser's default, and `run(args)`, which returns the exit code.
"""
