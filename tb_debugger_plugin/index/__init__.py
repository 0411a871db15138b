"""Event files into DuckDB tables, resumable and live. No TensorFlow, no HTTP.

In come file sets below a logdir, out come one database per run and a generation number that rises with every
change. The tables are described in ``docs/schema.md``.
"""
