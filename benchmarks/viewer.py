"""Runs one measurement of the viewer, in a process of its own with its own memory and caches.

    python -m benchmarks.viewer index|reopen|serve|builtin|active LOGDIR

Prints one line of JSON.
"""

from __future__ import annotations

import contextlib
import json
import re
import statistics
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from werkzeug.test import TestResponse

    from tb_debugger_plugin.server.plugin import DebuggerPlugin

_ROUNDS = 40


def _plugin(logdir: Path) -> DebuggerPlugin:
    from tensorboard.plugins import base_plugin

    from tb_debugger_plugin.server.plugin import DebuggerPlugin

    return DebuggerPlugin(base_plugin.TBContext(logdir=str(logdir)))


def _ask(plugin: DebuggerPlugin, name: str, **query: object) -> TestResponse:
    # A route may be measured in several ways; the words after a blank distinguish them.
    path = name.partition(" ")[0]
    from werkzeug.test import Client

    if not hasattr(plugin, "bench_apps"):
        plugin.bench_apps = {path: Client(app) for path, app in plugin.get_plugin_apps().items()}
    text = {name: str(value) for name, value in query.items()}
    while True:
        response = plugin.bench_apps[path].get(f"/data/plugin/debugger{path}", query_string=text)
        if response.status_code != 503:
            break
        time.sleep(0.02)  # the run is still being opened
    assert response.status_code == 200, (path, query, response.text)
    return response


def _memory_mb(what: str = "VmRSS") -> float:
    text = Path("/proc/self/status").read_text("ascii")
    match = re.search(rf"^{what}:\s+(\d+) kB$", text, re.MULTILINE)
    return int(match[1]) / 1000 if match else float("nan")


def _together_mb() -> float:
    """Memory of this process and of those that it started; shared memory counts once."""
    processes = ["self"]
    # A process is listed with the thread that started it.
    for thread in Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):
            processes += (thread / "children").read_text("ascii").split()
    return sum(map(_proportional_kb, processes)) / 1000


def _proportional_kb(process: str) -> int:
    with contextlib.suppress(OSError):  # The process may have ended.
        text = Path(f"/proc/{process}/smaps_rollup").read_text("ascii")
        if match := re.search(r"^Pss:\s+(\d+) kB$", text, re.MULTILINE):
            return int(match[1])
    return 0


class _Peak:
    """Measures the peak memory of all processes together, from the beginning to the end of a block."""

    def __init__(self) -> None:
        self.megabytes = 0.0
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> _Peak:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    def _watch(self) -> None:
        # With much memory, a measurement takes 10 ms, in which the program waits.
        while not self._end.wait(0.25):
            self.megabytes = max(self.megabytes, _together_mb())


def index(logdir: Path) -> dict[str, object]:
    """Measures how a logdir is indexed while its status is queried, and then how all routes are served."""
    plugin = _plugin(logdir)
    before = _memory_mb()
    with _Peak() as peak:
        result = _index(plugin)
    plugin.close()
    return {**result, "before_mb": before, "together_mb": peak.megabytes, "peak_mb": _memory_mb("VmHWM")}


def _index(plugin: DebuggerPlugin) -> dict[str, object]:
    begin, began = time.perf_counter(), time.process_time()
    status = _ask(plugin, "/status", run=".").json
    first, started = _count(status), time.perf_counter()
    waits = []
    while status["loading"] is not None:
        sent = time.perf_counter()
        status = _ask(plugin, "/status", run=".").json
        waits.append(time.perf_counter() - sent)
        time.sleep(0.1)
    seconds, later = time.perf_counter() - begin, time.perf_counter() - started
    processor = time.process_time() - began
    count = _count(status)
    indexed = _memory_mb("VmHWM")
    return {
        "seconds": seconds,
        "events": count,
        "per_second": count / seconds,
        # For this process alone; other programs on the machine change it less than `seconds`.
        "processor_seconds": processor,
        # Without the second that the first answer may wait for a complete run.
        "steady_per_second": (count - first) / later if waits else count / seconds,
        "indexed_mb": indexed,
        "status_while_loading_ms": max(waits, default=0.0) * 1000,
        "routes": _routes(plugin, status),
    }


Query = Callable[[int], dict[str, object]]


def _count(status: dict[str, Any]) -> int:
    return int(status["num_graph_executions"] + status["num_executions"])


def reopen(logdir: Path) -> dict[str, object]:
    """Measures how long an indexed logdir takes to open again, until its first page is there."""
    plugin = _plugin(logdir)
    begin = time.perf_counter()
    _ask(plugin, "/runs")
    _ask(plugin, "/columns/graph_executions", run=".", begin=0, end=100)
    seconds = time.perf_counter() - begin
    _ask(plugin, "/columns/executions", run=".", begin=0, end=1)
    _ask(plugin, "/alerts", run=".", begin=0, end=0)
    whole = time.perf_counter() - begin
    plugin.close()
    return {"seconds": seconds, "with_executions_and_alerts": whole}


def serve(logdir: Path) -> dict[str, object]:
    """Measures every route of an indexed logdir."""
    plugin = _plugin(logdir)
    status = _ask(plugin, "/status", run=".").json
    routes = _routes(plugin, status)
    plugin.close()
    return {"routes": routes, "peak_mb": _memory_mb("VmHWM")}


def questions(
    traces: int, executions: int, alerts: int, bad: int, trace: dict[str, Any], frames: list[str]
) -> dict[str, Query]:
    """Returns the queries that the page sends to each route; their argument varies from call to call."""

    def page(total: int, size: int) -> Callable[[int], dict[str, object]]:
        def ask(number: int) -> dict[str, object]:
            begin = number * 7919 * size % max(1, total - size)
            return {"begin": begin, "end": min(total, begin + size)}

        return ask

    def at(number: int) -> int:
        return number * 1_299_709 % traces

    op_name, few = f"^{re.escape(trace['op_name'])}", min(10, traces)
    op = {"graph_id": trace["graph_id"], "op_name": trace["op_name"]}
    return {
        "/status": lambda n: {},
        "/alerts": page(alerts, 100),
        "/diagnosis": lambda n: {"alert": n * 7919 % alerts} if alerts else {},
        "/execution/digests": page(executions, 1000),
        "/execution/data": page(executions, 50),
        "/graph_execution/digests": page(traces, 1000),
        "/graph_execution/data": page(traces, 100),
        "/graphs/graph_info": lambda n: {"graph_id": trace["graph_id"]},
        "/graphs/op_info": lambda n: {**op, "at": at(n)},
        "/source_files/list": lambda n: {},
        "/source_files/file": lambda n: {"index": 0},
        "/stack_frames/stack_frames": lambda n: {"stack_frame_ids": ",".join(frames)},
        "/columns/executions": page(executions, 1000),
        "/columns/graph_executions": page(traces, 1000),
        "/overview": lambda n: {"list": "graph_executions", "buckets": 1000 + n},
        "/locate": lambda n: {"graph_execution": at(n)},
        "/inputs_of": lambda n: {"graph_execution": at(n)},
        "/neighbours": lambda n: {**op, "hops": 4, "limit": 100, "at": at(n)},
        "/find": lambda n: {"text": f"layer_{n % 4}"},
        "/columns/graph_executions only=bad": lambda n: {"only": "bad", **page(bad, 1000)(n)},
        "/columns/graph_executions op_name": lambda n: {"op_name": op_name, "end": few},
        "/columns/graph_executions where": lambda n: {"where": "nan>0", "end": min(bad, 100)},
        "/columns/graph_executions sort": lambda n: {"sort": "nan", "descending": "true", "end": few},
    }


def questions_of_page(ask: Callable[..., Any], status: dict[str, Any]) -> dict[str, Query]:
    """Returns the questions of the page, and those that read the whole run.

    Args:
      ask: Takes a route and a query of the run, and returns its answer.
      status: The answer of the route ``status``.
    """
    traces, executions = status["num_graph_executions"], status["num_executions"]
    frames = ask("/execution/data", begin=0, end=1)["executions"][0]["stack_frame_ids"]
    middle = ask("/graph_execution/data", begin=traces // 2, end=traces // 2 + 1)
    trace = middle["graph_executions"][0]
    numbers = (traces, executions, status["num_alerts"], status["num_bad_graph_executions"])
    return {
        **questions(*numbers, trace, frames),
        "/origins": lambda n: {},
        "/alerts/rules": lambda n: {"rules": "all"},
        "/alerts/found": lambda n: {"rules": "all", "end": 100},
        "/precision": lambda n: {"dtype": "float16"},
        "/graphs/ops": lambda n: {},
        "/source_files/ops": lambda n: {"index": 0},
        "/columns/graph_executions layer": lambda n: {"layer": "dense"},
        "/find name": lambda n: {"text": trace["op_name"]},
    }


def _routes(plugin: DebuggerPlugin, status: dict[str, Any]) -> dict[str, float]:
    """Returns the 95th percentile of each route's time, warm, in milliseconds."""
    traces, executions = status["num_graph_executions"], status["num_executions"]
    frames = _ask(plugin, "/execution/data", run=".", begin=0, end=1).json["executions"][0]["stack_frame_ids"]
    first = _ask(plugin, "/graph_execution/data", run=".", begin=traces // 2, end=traces // 2 + 1).json
    percentiles = {}
    for path, make in questions(
        traces,
        executions,
        status["num_alerts"],
        status["num_bad_graph_executions"],
        first["graph_executions"][0],
        frames,
    ).items():
        times = []
        for number in range(_ROUNDS):
            begin = time.perf_counter()
            _ask(plugin, path, run=".", **make(number)).data  # noqa: B018
            times.append(time.perf_counter() - begin)
        percentiles[path] = statistics.quantiles(times[1:], n=20)[-1] * 1000
    return percentiles


def builtin(logdir: Path) -> dict[str, object]:
    """Measures TensorFlow's own reader, which the built-in plugin uses."""
    from tensorflow.python.debug.lib import debug_events_reader

    before = _memory_mb()
    begin = time.perf_counter()
    with debug_events_reader.DebugDataReader(str(logdir)) as reader:
        reader.update()
        seconds = time.perf_counter() - begin
        count = reader.num_executions() + reader.num_graph_execution_traces()
    return {
        "seconds": seconds,
        "events": count,
        "per_second": count / seconds,
        "bytes_an_event": (_memory_mb() - before) * 1e6 / count,
    }


def active(logdir: Path) -> dict[str, object]:
    """Measures how long `is_active` takes."""
    plugin = _plugin(logdir)
    plugin.is_active()
    times = []
    for _ in range(300):
        begin = time.perf_counter()
        plugin.is_active()
        times.append(time.perf_counter() - begin)
        time.sleep(0.01)
    plugin.close()
    assert threading.active_count() < 10
    return {"p95_ms": statistics.quantiles(times, n=20)[-1] * 1000, "max_ms": max(times) * 1000}


if __name__ == "__main__":
    print(json.dumps(globals()[sys.argv[1]](Path(sys.argv[2]))))
