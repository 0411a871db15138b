"""`tbdbg demo`: records the example with the known bug, then shows it in TensorBoard.

Takes a folder and a port. Writes a recording into that folder and runs TensorBoard until Ctrl-C. The example
and TensorBoard are separate programs, so this one needs no TensorFlow. They end when this program ends, even
if it is killed.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from tb_debugger_plugin.cli import child
from tb_debugger_plugin.live.messages.key import fragment, users_key

EXAMPLE = "buggy_digits"
_PATIENCE_S = 60.0
_PAUSE_S = 0.2


def declare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the verb `demo`."""
    parser.add_argument(
        "--logdir", type=Path, default=Path("demo_logdir"), help="folder (default: %(default)s)"
    )
    parser.add_argument("--port", type=int, default=6006, help="TensorBoard's port (default: %(default)s)")
    parser.add_argument(
        "--steps", type=int, default=20, help="training steps to record (default: %(default)s)"
    )
    parser.add_argument("--no-serve", action="store_true", help="stop after the recording")


def run(args: argparse.Namespace) -> int:
    """Record, then serve until Ctrl-C; returns the exit code."""
    problem = None if args.no_serve else _port_problem(args.port)
    if problem:
        print(problem, file=sys.stderr)
        return 1
    try:
        with _signals_as_ctrl_c():
            code = record(args.logdir, args.steps)
            return code if code or args.no_serve else serve(args.logdir, args.port)
    except KeyboardInterrupt:
        return 130


@contextlib.contextmanager
def _signals_as_ctrl_c() -> Iterator[None]:
    """Make each signal that ends this program raise KeyboardInterrupt."""
    # Shells let background programs ignore SIGINT; it is handled even so, because it was sent on purpose.
    # SIGHUP stays ignored if the user ignores it, as nohup does.
    hang_up = getattr(signal, "SIGHUP", None)
    ends = [signal.SIGINT, signal.SIGTERM]
    if hang_up is not None and signal.getsignal(hang_up) is not signal.SIG_IGN:
        ends.append(hang_up)
    before = [(number, signal.signal(number, signal.default_int_handler)) for number in ends]
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)


def record(logdir: Path, steps: int) -> int:
    """Record the training of the example into `logdir/buggy_digits`; returns its exit code."""
    folder = logdir / EXAMPLE
    forget_earlier_recording(folder)
    # TensorFlow's startup messages would hide the accuracy of the steps.
    environment = {"TF_CPP_MIN_LOG_LEVEL": "2", **os.environ}
    example = child.start(
        f"tb_debugger_plugin.examples.{EXAMPLE}",
        *("--logdir", str(folder), "--steps", str(steps)),
        env=environment,
    )
    try:
        return example.wait()
    finally:
        child.end(example)


def serve(logdir: Path, port: int) -> int:
    """Run TensorBoard on `logdir` until Ctrl-C or until the output is closed; returns the exit code."""
    with tempfile.TemporaryFile("w+", errors="replace") as log:
        server = child.start(
            "tensorboard.main",
            *("--logdir", str(logdir), "--port", str(port)),
            # Then Ctrl-C reaches only this program, which ends TensorBoard.
            start_new_session=True,
            stdout=log,
            stderr=log,
        )
        try:
            return _show(server, port, log)
        except KeyboardInterrupt:
            print("\nTensorBoard stopped.")
            return 0
        finally:
            child.end(server)


def _show(server: subprocess.Popen[bytes], port: int, log: TextIO) -> int:
    if not _wait_for_server(server, port):
        log.seek(0)
        print(f"TensorBoard did not start. Its output was:\n{log.read()}", file=sys.stderr)
        return 1
    print(
        f"\nOpen http://localhost:{port} to see the first bad value explained.   Ctrl-C ends TensorBoard.\n"
        f"With the key that commands need: http://localhost:{port}/{fragment(users_key())}",
        flush=True,
    )
    while server.poll() is None:
        if _output_closed(_PAUSE_S):
            return 0
    return server.wait()


def _output_closed(seconds: float) -> bool:
    """Wait some seconds, or until the reader of the output has closed it; return whether it has."""
    if sys.stdout is None or not hasattr(select, "poll"):
        time.sleep(seconds)
        return False
    output = select.poll()
    # No events are registered, because poll always reports that the other end is closed.
    output.register(sys.stdout.fileno(), 0)
    return bool(output.poll(1000 * seconds))


def _wait_for_server(server: subprocess.Popen[bytes], port: int) -> bool:
    """Wait until TensorBoard lists its plugins; return False when it ends before or takes too long."""
    # Without a proxy, because the server is on this machine.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    deadline = time.monotonic() + _PATIENCE_S
    while server.poll() is None and time.monotonic() < deadline:
        try:
            with opener.open(f"http://localhost:{port}/data/plugins_listing", timeout=_PATIENCE_S):
                return True
        except (urllib.error.URLError, OSError):
            time.sleep(_PAUSE_S)
    return False


def _port_problem(port: int) -> str | None:
    with socket.socket() as probe:
        # TensorBoard binds like this too: a port that was just freed is not in use.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OverflowError:
            return f"There is no port {port}: choose one from 1 to 65535."
        except OSError as error:
            other = "make demo PORT=6007, or tbdbg demo --port 6007"
            return (
                f"Port {port} cannot be used ({error.strerror}): end what uses it, or use another ({other})."
            )
    return None


def forget_earlier_recording(folder: Path) -> None:
    """Delete the files of an earlier demo; a folder with anything else in it is left as it is."""
    if folder.is_dir() and all(file.name.startswith("tfdbg_events.") for file in folder.iterdir()):
        shutil.rmtree(folder)
