"""Where a program listens, and the file by which debuggers find it."""

from __future__ import annotations

import os
import socket
import sys
import time
from pathlib import Path

from tb_debugger_plugin.capture.recording import Recording
from tb_debugger_plugin.errors import RecordingError, UsageError
from tb_debugger_plugin.live.messages import discovery


def with_port(address: str | None) -> str:
    """Return an address as gRPC takes it: `host:port`.

    Args:
      address: What the user gave; None for a free port of this machine.

    Raises:
      UsageError: It is none.
    """
    if address is None:
        return "127.0.0.1:0"
    host, _, port = str(address).rpartition(":")
    if not port.isdigit() or (host.startswith("[") != host.endswith("]")):
        host, port = str(address).rstrip(":"), "0"
    if int(port) >= 1 << 16 or "/" in host or any(map(str.isspace, host)):
        raise UsageError(f"address is {address!r}: give 'host:port', 'host' or ':port'.")
    return f"{host or '127.0.0.1'}:{port}"


def published(address: str | None, port: int) -> str:
    """Return where debuggers find the program: also those of other machines, if it listens to them.

    Args:
      address: What the user gave.
      port: Where it listens.
    """
    host = with_port(address).rpartition(":")[0]
    return f"{discovery.this_host() if host in ('0.0.0.0', '[::]') else host}:{port}"


def description(address: str, secret: str, recording: Recording) -> discovery.LiveProgram:
    """Return what debuggers read of the program.

    Args:
      address: Where it listens.
      secret: What they must know.
      recording: Its recording.
    """
    return discovery.LiveProgram(
        address=address,
        secret=secret,
        pid=os.getpid(),
        host=discovery.this_host(),
        program=discovery.shortened(sys.argv or [socket.gethostname()]),
        started=time.time(),
        files=recording.files,
    )


def written(folder: Path, program: discovery.LiveProgram) -> Path:
    """Write the file by which debuggers find the program; return its path.

    Args:
      folder: The dump root.
      program: What it says.

    Raises:
      RecordingError: The folder cannot be written.
    """
    try:
        return discovery.write(folder, program)
    except OSError as error:
        raise RecordingError(
            f"The file by which debuggers find the program cannot be written to {folder} ({error}): give "
            "another logdir."
        ) from error
