"""Reads recordings from Python: the objects behind ``tb_debugger_plugin.open_run``.

Takes a logdir and gives a :class:`~tb_debugger_plugin.reading.run.Run`, which asks ``analysis`` what the page
asks. TensorFlow is not needed.
"""
