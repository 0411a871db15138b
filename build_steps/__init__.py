"""Build steps that setuptools runs before it collects the package, to make the files that are not in git.

They take the checkout (or an unpacked sdist) and write the descriptors of `protos/`, `static/`, the headers
of the native library and that library inside `tb_debugger_plugin/`, and three modules of the front end. A
step whose result is newer than its sources does nothing.
"""
