"""Converts a dump too big for one machine into the viewer's tables, on a Dask cluster.

Takes the file sets of a run, which every worker must be able to read. Writes a folder of Parquet tables,
which the viewer opens as a run (:mod:`tb_debugger_plugin.index.parquet`). Positions in files and numbers
about them go from worker to worker, never the records: each worker reads the bytes that it needs.
"""
