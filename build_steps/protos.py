"""Compiles the files of `protos/` into serialised FileDescriptorSets.

It makes no Python modules: generated modules require the protobuf runtime of their generator or a newer one,
and the package has to run on every runtime that comes with TensorFlow 2.16 and later.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from build_steps.freshness import PACKAGE, ROOT, is_fresh

PROTOS = ROOT / "protos"
#: The descriptors of the event files, from which `wire` takes the numbers of fields.
EVENTS = PACKAGE / "events" / "debug_event.binpb"
#: By the name of the proto.
RESULTS = {
    "debug_event.proto": EVENTS,
    "live.proto": PACKAGE / "live" / "messages" / "live.binpb",
}


def build_descriptors() -> None:
    """Write the descriptors whose proto is newer."""
    for name, result in RESULTS.items():
        if not is_fresh(result, [PROTOS / name]):
            _compile(name, result)


def _compile(name: str, result: Path) -> None:
    result.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(
        [
            sys.executable,
            "-m",
            "grpc_tools.protoc",
            f"--proto_path={PROTOS}",
            f"--descriptor_set_out={result}",
            "--include_imports",
            "--include_source_info",
            name,
        ],
        check=True,
    )
