"""Writes the dump folder of `tests/golden` again, and what TensorFlow's own `DebugDumpDir` says of it.

Use: ``python -m tests.golden.make_dumps``, with TensorFlow. The program takes logarithms in a loop of calls,
of numbers that become 0; it has a variable without a value, a string and a bool.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from pathlib import Path

import numpy as np
import tensorflow as tf
from tensorflow.python import debug as tf_debug
from tensorflow.python.debug.lib import debug_data

from tests.golden.facts import facts_of

_FOLDER = Path(__file__).parent / f"dumps-tensorflow-{tf.__version__}"
_CALLS = 2


def _write(root: str) -> None:
    tf1 = tf.compat.v1
    with tf.Graph().as_default():
        x = tf1.placeholder(tf.float32, [2], name="x")
        logs = tf.math.log(x, name="logs")
        texts = tf.strings.as_string(x, name="texts")
        signs = tf.greater(x, 0.0, name="signs")
        variable = tf1.get_variable("variable", shape=[2], use_resource=False)
        session = tf_debug.DumpingDebugWrapperSession(tf1.Session(), root)
        for call in range(_CALLS):
            session.run([logs, texts, signs], {x: np.float32([1 - call, 2])})
        session.run(variable + 1.0)  # the wrapper keeps the error
        session.close()


def main() -> None:
    """Write the folder and the answers."""
    shutil.rmtree(_FOLDER, ignore_errors=True)
    with tempfile.TemporaryDirectory() as place:
        # The graphs hold the name of their folder.
        os.chdir(place)
        _write("session")
        facts = {
            path.name: facts_of(debug_data.DebugDumpDir(str(path)))
            for path in sorted(Path("session").iterdir())
        }
        shutil.copytree("session", _FOLDER / "session")
    (_FOLDER / "tensorflow.json").write_text(json.dumps(facts, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
