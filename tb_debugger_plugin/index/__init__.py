"""The index: reads event files into DuckDB tables, live and resumable.

Takes the file sets below a logdir. Makes one database per run, with a generation number that rises with every
change; ``docs/schema.md`` describes the tables. Needs no TensorFlow and no HTTP.
"""
