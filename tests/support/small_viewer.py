"""Serves a logdir to the page under development, without the rest of TensorBoard and without TensorFlow.

``python -m tests.support.small_viewer [LOGDIR]`` prints its address and answers the plugin's routes below
``/data`` until its standard input ends, so that it never outlives the program that started it. Without a
logdir it makes a small recording, which it removes at the end.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import TYPE_CHECKING

from tensorboard.plugins import base_plugin
from werkzeug.exceptions import NotFound
from werkzeug.serving import make_server

from tb_debugger_plugin.events.not_recorded import NotRecordedReason
from tb_debugger_plugin.server.plugin import DebuggerPlugin
from tests.support.events import small_program

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication

PREFIX = "/data"
#: Enough for lists that scroll.
_STEPS = 96


def viewer_app(plugin: DebuggerPlugin) -> WSGIApplication:
    """Returns an app that answers the routes of a plugin below `PREFIX`."""
    routes = plugin.get_plugin_apps()
    return lambda environ, start_response: routes.get(environ["PATH_INFO"].removeprefix(PREFIX), NotFound())(
        environ, start_response
    )


def _write_recording(folder: Path) -> None:
    recording = small_program(folder, steps=_STEPS)
    recording.not_recorded(
        NotRecordedReason.NOT_INSTRUMENTED, "Watch ops could not be added.", "__inference_prepare_31"
    )
    recording.counts(2 * _STEPS, 4 * _STEPS, finished=True)
    recording.close()


@contextmanager
def _small_logdir() -> Iterator[str]:
    with TemporaryDirectory() as folder:
        _write_recording(Path(folder) / "small")
        yield folder


def serve(logdir: str) -> None:
    """Print the address, and serve the logdir until the standard input ends."""
    plugin = DebuggerPlugin(base_plugin.TBContext(logdir=logdir))
    server = make_server("127.0.0.1", 0, viewer_app(plugin), threaded=True)
    Thread(target=server.serve_forever, daemon=True).start()
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    sys.stdin.read()
    server.shutdown()
    plugin.close()


def main() -> None:
    """Serve the logdir of the command line, or a small recording."""
    logging.getLogger("werkzeug").setLevel(logging.WARNING)
    # Ctrl-C ends the whole group of processes.
    with suppress(KeyboardInterrupt):
        if len(sys.argv) > 1:
            serve(sys.argv[1])
        else:
            with _small_logdir() as logdir:
                serve(logdir)


if __name__ == "__main__":
    main()
