"""A dump that is too big for one machine into the viewer's tables, on Apache Beam.

In come the file sets of a run, which every worker must be able to read, out comes a folder of Parquet tables
that the viewer opens as a run (:mod:`tb_debugger_plugin.index.parquet`). What flows through the pipeline are
places in files and numbers about them, never the records: each worker reads the bytes that it needs.
"""
