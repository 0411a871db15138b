"""Build steps that setuptools runs before it collects the package, to make the files that are not in git.

They take the checkout (or an unpacked sdist) and write `events/debug_event.binpb`, `static/` and the native
library inside `tb_debugger_plugin/`. A step whose result is newer than its sources does nothing.
"""
