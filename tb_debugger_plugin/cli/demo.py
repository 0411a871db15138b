"""`tbdbg demo`: record the example with the known bug, then show it in TensorBoard.

In goes a folder and a port; out comes a recording in that folder and a TensorBoard that runs until Ctrl-C.
Both the example and TensorBoard are programs of their own: this one needs no TensorFlow, and ends with them.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    # The public name of this type is not there at run time before Python 3.14.
    from argparse import _SubParsersAction

EXAMPLE = "buggy_digits"
_PATIENCE_S = 60.0
_PAUSE_S = 0.2


def add_parser(subparsers: _SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the verb `demo` to the command line."""
    parser = subparsers.add_parser(
        "demo", help="record an example that turns to NaN, and show it in TensorBoard"
    )
    parser.add_argument(
        "--logdir", type=Path, default=Path("demo_logdir"), help="folder (default: %(default)s)"
    )
    parser.add_argument("--port", type=int, default=6006, help="TensorBoard's port (default: %(default)s)")
    parser.add_argument(
        "--steps", type=int, default=20, help="training steps to record (default: %(default)s)"
    )
    parser.add_argument("--no-serve", action="store_true", help="stop after the recording")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Record, then serve until Ctrl-C; the exit code."""
    problem = _missing_packages() or (None if args.no_serve else _port_problem(args.port))
    if problem:
        print(problem, file=sys.stderr)
        return 1
    try:
        code = record(args.logdir, args.steps)
        return code if code or args.no_serve else serve(args.logdir, args.port)
    except KeyboardInterrupt:
        return 130


def record(logdir: Path, steps: int) -> int:
    """Train the example under the recorder into `logdir/buggy_digits`; its exit code."""
    folder = logdir / EXAMPLE
    forget_earlier_recording(folder)
    command = [sys.executable, "-m", f"tb_debugger_plugin.examples.{EXAMPLE}"]
    # TensorFlow's greetings would bury the accuracy of the steps.
    environment = {"TF_CPP_MIN_LOG_LEVEL": "2", **os.environ}
    return subprocess.run(
        [*command, "--logdir", str(folder), "--steps", str(steps)], env=environment
    ).returncode


def serve(logdir: Path, port: int) -> int:
    """Run TensorBoard on `logdir` until Ctrl-C; the exit code."""
    # Being ended counts as Ctrl-C: TensorBoard must not outlive this program.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with tempfile.TemporaryFile("w+", errors="replace") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "tensorboard.main", "--logdir", str(logdir), "--port", str(port)],
            # Ctrl-C reaches this program only, which then ends TensorBoard.
            start_new_session=True,
            stderr=log,
        )
        try:
            return _show(server, port, log)
        except KeyboardInterrupt:
            print("\nTensorBoard stopped.")
            return 0
        finally:
            server.terminate()
            server.wait()


def _show(server: subprocess.Popen[bytes], port: int, log: TextIO) -> int:
    if not _answers(server, port):
        log.seek(0)
        print(f"TensorBoard did not start; it said:\n{log.read()}", file=sys.stderr)
        return 1
    print(f"\nOpen http://localhost:{port} and click the alert NaN/∞.   Ctrl-C ends TensorBoard.", flush=True)
    return server.wait()


def _answers(server: subprocess.Popen[bytes], port: int) -> bool:
    """Wait until TensorBoard lists its plugins; False when it ends before that or takes too long."""
    # No proxy: it is this machine that is asked.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    deadline = time.monotonic() + _PATIENCE_S
    while server.poll() is None and time.monotonic() < deadline:
        try:
            with opener.open(f"http://localhost:{port}/data/plugins_listing", timeout=_PATIENCE_S):
                return True
        except (urllib.error.URLError, OSError):
            time.sleep(_PAUSE_S)
    return False


def _missing_packages() -> str | None:
    missing = [name for name in ("tensorflow", "sklearn") if find_spec(name) is None]
    if not missing:
        return None
    return f"The example needs {' and '.join(missing)}: pip install 'tb-debugger-plugin[demo]'"


def _port_problem(port: int) -> str | None:
    with socket.socket() as probe:
        # TensorBoard binds like this too: a port that was only just freed is not in use.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OverflowError:
            return f"There is no port {port}: choose one from 1 to 65535."
        except OSError as error:
            other = "make demo PORT=6007, or tbdbg demo --port 6007"
            return (
                f"Port {port} cannot be used ({error.strerror}): end what uses it, or take another ({other})."
            )
    return None


def forget_earlier_recording(folder: Path) -> None:
    """Remove an earlier demo's files; a folder that holds anything else is left as it is."""
    if folder.is_dir() and all(file.name.startswith("tfdbg_events.") for file in folder.iterdir()):
        shutil.rmtree(folder)
