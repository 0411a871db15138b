"""Compiles `protos/debug_event.proto` into a serialised FileDescriptorSet.

It makes no Python modules: generated modules require the protobuf runtime of their generator or a newer one,
and the package has to run on every runtime that comes with TensorFlow 2.16 and later.
"""

from __future__ import annotations

import subprocess
import sys

from build_steps.freshness import PACKAGE, ROOT, is_fresh

SOURCE = ROOT / "protos" / "debug_event.proto"
RESULT = PACKAGE / "events" / "debug_event.binpb"


def build_descriptor() -> None:
    """Write `events/debug_event.binpb` if the proto is newer."""
    if is_fresh(RESULT, [SOURCE]):
        return
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(
        [
            sys.executable,
            "-m",
            "grpc_tools.protoc",
            f"--proto_path={SOURCE.parent}",
            f"--descriptor_set_out={RESULT}",
            "--include_imports",
            "--include_source_info",
            SOURCE.name,
        ],
        check=True,
    )
