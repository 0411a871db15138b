"""Recordings of long lists, with what each of their rows must say as plain values."""

from __future__ import annotations

import math
import random
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from tb_debugger_plugin.events.modes import TensorDebugMode
from tests.support.events import DEVICE, TICK, Recording, kinds_of
from tests.support.numerics import numerics

HOSTS = ("worker0", "worker1")
#: Graph, name, op type, layer and line of each op.
OPS = (
    ("train_step", "dense_1/MatMul", "MatMul", "dense_1", 1),
    ("train_step", "dense_1/Relu", "Relu", "dense_1", 2),
    ("train_step", "Log", "Log", None, 2),
    ("evaluate", "Log", "Log", None, 3),
    ("evaluate", "dense_2/MatMul", "MatMul", "dense_2", 3),
)
_FILES = ("/home/me/train.py", "/home/me/lib/model.py")
_VALUES = (0.0, -0.0, 1.0, -2.5, 3e-9, 1e8, 1e8 + 1.0, math.nan, math.inf, -math.inf)


@dataclass(frozen=True)
class Listed:
    """A graph execution, as the test made it; `values` is None if it was not measured."""

    time: float
    host: str
    op: int
    slot: int
    values: tuple[float, ...] | None
    call: int
    index: int = -1
    occurrence: int = -1

    @property
    def facts(self) -> dict[str, str | float | None]:
        """What the columns of the list must say; None for what is not known."""
        function, name, op_type, layer, line = OPS[self.op]
        return {
            "index": self.index,
            "wall_time": self.time,
            "op_name": name,
            "op_type": op_type,
            "function": function,
            "layer": layer,
            "line": f"{_FILES[self.op % 2]}:{line}",
            "host": self.host,
            "device": DEVICE,
            "slot": self.slot,
            "thread": f"thread {self.call % 2}",
            "occurrence": self.occurrence,
            "health": self._health,
            **self._numbers,
        }

    @property
    def _health(self) -> int | None:
        if self.values is None:
            return None
        return 1 if all(map(math.isfinite, self.values)) else 2

    @property
    def _numbers(self) -> dict[str, float | None]:
        names = ("neg_inf", "pos_inf", "nan", "negative", "zero", "positive")
        if self.values is None:
            return dict.fromkeys((*names, "size", "min", "max", "mean", "std", "norm", "zeros"))
        finite = [value for value in self.values if math.isfinite(value)]
        size, counts = len(self.values), dict(zip(names, kinds_of(self.values), strict=True))
        moments: dict[str, float | None] = dict.fromkeys(("min", "max", "mean", "std", "norm"))
        if finite:
            moments = {
                "min": min(finite),
                "max": max(finite),
                "mean": float(np.mean(finite)),
                "std": float(np.std(finite)),
                "norm": math.sqrt(sum(value * value for value in finite)),
            }
        return {**counts, "size": size, **moments, "zeros": counts["zero"] / size if size else None}


def record(folder: Path, seed: int, rows: int) -> list[Listed]:
    """Writes what two processes compute, and returns the rows of the list of graph executions."""
    rng = random.Random(seed)
    listed = []
    for number, host in enumerate(HOSTS):
        listed += _record_host(folder, host, number * TICK / 2, rng, rows)
    seen: Counter[tuple[str, int, int]] = Counter()
    numbered = []
    for index, row in enumerate(sorted(listed, key=lambda row: row.time)):
        tensor = (row.host, row.op, row.slot)
        numbered.append(replace(row, index=index, occurrence=seen[tensor]))
        seen[tensor] += 1
    return numbered


def _record_host(folder: Path, host: str, later: float, rng: random.Random, rows: int) -> list[Listed]:
    recording = Recording(folder, host=host, mode=TensorDebugMode.FULL_NUMERICS, start=1000.0 + later)
    for path in _FILES:
        recording.source(path, ["a", "b", "c"])
    recording.device(1)
    for thread in (0, 1):
        recording.thread(thread, f"thread {thread}")
    for graph in ("train_step", "evaluate"):
        recording.graph(f"{host}-{graph}", graph)
    for number, (graph, name, op_type, layer, line) in enumerate(OPS):
        frame = f"{host}-{number}"
        recording.frame(frame, number % 2, line, "f")
        names = {} if layer is None else {"layer": layer}
        outputs = [(1, [3]), (1, [3])]
        ids = (10 * number + 1, 10 * number + 2)
        recording.op(f"{host}-{graph}", name, op_type, ids=ids, stack=[frame], outputs=outputs, **names)
    listed = []
    for call in range(rows // 4):
        graph = ("train_step", "evaluate")[call % 2]
        ops = [number for number, op in enumerate(OPS) if op[0] == graph]
        for _ in range(4):
            op, slot = rng.choice(ops), rng.randrange(2)
            values = None if rng.random() < 0.1 else tuple(rng.choices(_VALUES, k=rng.randrange(5)))
            summary = None if values is None else numerics(values)
            recording.trace(f"{host}-{graph}", OPS[op][1], summary, slot=slot)
            listed.append(Listed(recording.now, host, op, slot, values, call))
        recording.execution(
            f"__inference_{graph}_7", graph_id=f"{host}-{graph}", ids=[call], thread=call % 2,
            stack=[f"{host}-{call % 2}"],
        )  # fmt: skip
    recording.close()
    return listed
