"""The programs that `benchmarks.against` measures, each in a process of its own.

    python -m benchmarks.turns record LOGDIR TENSORS
    python -m benchmarks.turns steps
    python -m benchmarks.turns viewer LOGDIR

`record` makes the recording that the others read. `steps` takes one line of JSON for each turn from its
input, and `viewer` opens the recording and asks each route once; both print JSON.

Invariant: of this package only public names are used, so that these programs run with other commits of it.
All times are processor seconds of the process, user and system: the kernel tells the two apart by ticks only.
"""

from __future__ import annotations

import functools
import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import entry_points
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

#: Tensors that a step of the recorded training computes, about; the training is as long as is asked for.
_TENSORS_OF_STEP = 160
#: Calls before a step is measured; GUARD measures numbers in the first 16.
_WARM = {None: 3, "FULL_HEALTH": 3, "GUARD": 16}
#: The last part of the training computes NaN, so that there is something to explain.
_GOOD_PART = 0.95


def record(logdir: str, tensors: str) -> None:
    """Record a training of Keras until about so many tensors were computed; it ends in NaN."""
    import keras
    import numpy as np

    import tb_debugger_plugin

    batch, steps = 32, int(tensors) // _TENSORS_OF_STEP
    random = np.random.default_rng(0)
    images = random.normal(size=(batch * steps, 64)).astype(np.float32)
    labels = random.integers(0, 10, batch * steps)
    images[int(len(images) * _GOOD_PART)] = np.nan
    relu = {"activation": "relu"}
    layers = [keras.layers.Dense(128, **relu), keras.layers.Dense(128, **relu), keras.layers.Dense(10)]
    model = keras.Sequential([keras.Input((64,)), *layers])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("adam", loss, jit_compile=False)
    with tb_debugger_plugin.record(logdir, mode="FULL_HEALTH"):
        model.fit(images, labels, batch_size=batch, shuffle=False, verbose=0)


class _Steps:
    """Training steps that take turns with those of other processes."""

    def __init__(self) -> None:
        self._step: Callable[[], object] = lambda: None
        self._folder = tempfile.TemporaryDirectory()

    def begin(self, name: str, mode: str | None) -> dict[str, float]:
        """Make a step, recorded in a mode or not; `warm` is what a call takes after the first ones."""
        from benchmarks.programs import STEPS

        if mode is not None:
            import tb_debugger_plugin

            self.end()
            root = tempfile.mkdtemp(dir=self._folder.name)
            tb_debugger_plugin.enable_dump_debug_info(root, mode, circular_buffer_size=1000)
        self._step = STEPS[name]()
        first = self.run(1)["seconds"]
        self.run(_WARM[mode])
        return {"first_call": first, "warm": self.run(5)["seconds"] / 5}

    def run(self, steps: int) -> dict[str, float]:
        """Run some steps."""
        import numpy as np

        began = time.process_time()
        for _ in range(steps):
            np.asarray(self._step())
        return {"seconds": time.process_time() - began}

    def end(self) -> dict[str, float]:
        """End the recording, if there is one."""
        import tb_debugger_plugin

        tb_debugger_plugin.disable_dump_debug_info()
        self._step = lambda: None
        return {"peak_mb": _peak_mb()}


def steps() -> None:
    """Do what each line of the input says, until it ends."""
    turns = _Steps()
    for line in sys.stdin:
        verb, *arguments = json.loads(line)
        print(json.dumps(getattr(turns, verb)(*arguments)), flush=True)


def viewer(logdir: str) -> None:
    """Open a recording as TensorBoard does, and ask each route once."""
    from tensorboard.plugins import base_plugin
    from werkzeug.test import Client

    from benchmarks.viewer import questions_of_page

    (entry,) = entry_points(group="tensorboard_plugins", name="debugger")
    plugin = entry.load()().load(base_plugin.TBContext(logdir=logdir))
    apps = {path: Client(app) for path, app in plugin.get_plugin_apps().items()}

    def ask(name: str, **query: object) -> Any:
        path = name.partition(" ")[0]
        text = {key: str(value) for key, value in query.items()}
        while True:
            response = apps[path].get(f"/data/plugin/debugger{path}", query_string=text)
            if response.status_code != 503:
                return response.json if response.is_json else response.data
            time.sleep(0.02)  # the run is still being opened

    status = ask("/status", run=".")
    while status["loading"] is not None:
        time.sleep(0.05)
        status = ask("/status", run=".")
    start = time.process_time()
    routes: dict[str, float] = {}
    for name, make in questions_of_page(functools.partial(ask, run="."), status).items():
        if name.partition(" ")[0] in apps:
            began = time.process_time()
            ask(name, run=".", **make(1))
            routes[name] = time.process_time() - began
    print(json.dumps({"start": start, "routes": routes, "peak_mb": _peak_mb()}), flush=True)
    os._exit(0)  # The threads of the plugin do not matter here.


def _peak_mb() -> float:
    """The peak of resident memory of this process."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    {"record": record, "steps": steps, "viewer": viewer}[sys.argv[1]](*sys.argv[2:])
