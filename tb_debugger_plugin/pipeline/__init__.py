"""An Apache Beam pipeline that converts a dump too big for one machine into the viewer's tables.

Takes the file sets of a run, which every worker must be able to read. Writes a folder of Parquet tables,
which the viewer opens as a run (:mod:`tb_debugger_plugin.index.parquet`). Positions in files and numbers
about them flow through the pipeline, never the records: each worker reads the bytes that it needs.
"""
