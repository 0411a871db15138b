"""Measures how long the routes take when many people look at once.

    python -m benchmarks.index --clients 16 [--base COMMIT]

The logdir has some short runs and two long ones, whose tables exist. A server of its own process serves them
as TensorBoard does. *Cold*: just after its start, each client visits all runs and asks a quarter of the
routes of each. *Warm*: the clients visit a few runs, the long ones among them, whose routes were all asked
before. Visits have orders of their own, and clients pause between two questions; after each, they ask for the
status, as the page does. With a base, servers of both commits take turns.
"""

from __future__ import annotations

import contextlib
import functools
import http.client
import itertools
import json
import math
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIEnvironment

_PREFIX: Final = "/data/plugin/debugger"
_SHORT_TRACES: Final = 40_000
#: From this share of a run on, half of its tensors are bad.
_BAD_FROM: Final = 0.7
#: The share of the routes that a client asks at a visit.
_SHARE: Final = 4
#: Runs that are visited warm: fewer than the viewer holds open.
_WARM_RUNS: Final = 6
_AGAIN_S: Final = 0.05
_PATIENCE_S: Final = 600.0


@dataclass(frozen=True)
class Visits:
    """What clients do.

    Attributes:
      clients: How many there are.
      pause: The mean of the seconds between two questions of one client.
      seconds: How long they ask warm.
    """

    clients: int
    pause: float
    seconds: float


@dataclass
class Measured:
    """The seconds of all answers of one commit, by `cold` or `warm`, and by route; and megabytes."""

    name: str
    times: dict[str, dict[str, list[float]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(list))
    )
    memory: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))


class Server:
    """A viewer in a process of its own; lives inside :func:`served`."""

    def __init__(self, process: subprocess.Popen[str], port: int) -> None:
        self._process = process
        self._port = port

    def get(self, name: str, **query: object) -> bytes:
        """Return the answer of a route, which is asked again while its run is opened."""
        path, end = name.partition(" ")[0], time.monotonic() + _PATIENCE_S
        while time.monotonic() < end:
            connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=_PATIENCE_S)
            with contextlib.closing(connection):
                connection.request("GET", f"{_PREFIX}{path}?{urlencode(query)}")
                response = connection.getresponse()
                content = response.read()
            if response.status == 200:
                return content
            if response.status != 503:
                raise RuntimeError(f"{name} {query}: {response.status} {content[:300]!r}")
            time.sleep(_AGAIN_S)
        raise TimeoutError(f"{name} {query} was not answered.")

    def ask(self, name: str, **query: object) -> Any:
        """Return what :meth:`get` does, parsed."""
        return json.loads(self.get(name, **query))

    def memory_mb(self) -> float:
        """Return the resident memory."""
        text = Path(f"/proc/{self._process.pid}/status").read_text("ascii")
        found = re.search(r"^VmRSS:\s+(\d+) kB$", text, re.MULTILINE)
        return int(found[1]) / 1000 if found else float("nan")


@contextlib.contextmanager
def served(logdir: Path, package: Path, cache: Path) -> Iterator[Server]:
    """Give a server of the package in a folder."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(package),
        "TB_DEBUGGER_CACHE": str(cache),
        "TB_DEBUGGER_READ_ONLY": "1",
    }
    command = [sys.executable, __file__, str(logdir)]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield Server(process, int(process.stdout.readline()))
    finally:
        process.terminate()
        process.wait()


def serve(logdir: str) -> None:
    """Serve a logdir as TensorBoard does, a thread for each request; print the port."""
    from tensorboard.plugins import base_plugin
    from werkzeug.exceptions import NotFound
    from werkzeug.serving import WSGIRequestHandler, make_server

    from tb_debugger_plugin.server.plugin import DebuggerPlugin

    class Silent(WSGIRequestHandler):
        def log_request(self, *_: object) -> None:
            pass

    plugin = DebuggerPlugin(base_plugin.TBContext(logdir=logdir))
    apps = plugin.get_plugin_apps()

    def app(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        answer = apps.get(environ["PATH_INFO"].removeprefix(_PREFIX), NotFound())
        return answer(environ, start_response)

    server = make_server("127.0.0.1", 0, app, threaded=True, request_handler=Silent)
    print(server.server_port, flush=True)
    server.serve_forever()


Questions = dict[str, dict[str, Callable[[int], dict[str, object]]]]


def prepare(server: Server, logdir: Path) -> Questions:
    """Index all runs; return the questions of each."""
    from benchmarks.viewer import questions_of_page

    found: Questions = {}
    for run in sorted(path.name for path in logdir.iterdir()):
        ask = functools.partial(server.ask, run=run)
        while (status := ask("/status"))["loading"] is not None:
            time.sleep(_AGAIN_S)
        other = run.replace("-0", "-1") if "-0" in run else re.sub(r"-\d+", "-0", run)
        found[run] = {
            **questions_of_page(ask, status),
            "/runs": lambda _: {},
            "/verdict": lambda _: {},
            "/compare": lambda _, other=other: {"other": other},
        }
    return found


class Clients:
    """Threads that visit runs; lives as long as one server."""

    def __init__(self, server: Server, questions: Questions, visits: Visits, measured: Measured) -> None:
        self._server, self._questions = server, questions
        self._visits, self._measured = visits, measured
        self._lock = threading.Lock()  # guards _measured, _failed
        self._failed: list[Exception] = []

    def visit(self, what: str, runs: Sequence[str], seconds: float | None) -> None:
        """Let all clients visit runs, once or for some seconds, and keep the times under a name."""
        end = None if seconds is None else time.monotonic() + seconds
        threads = [
            threading.Thread(target=self._client, args=(number, what, runs, end))
            for number in range(self._visits.clients)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if self._failed:
            raise self._failed[0]

    def _client(self, number: int, what: str, runs: Sequence[str], end: float | None) -> None:
        rng = random.Random(number)
        try:
            for turn in itertools.count() if end else (0,):
                for run in rng.sample(runs, len(runs)):
                    names = list(self._questions[run])
                    for name in rng.sample(names, len(names) // _SHARE):
                        if end is not None and time.monotonic() > end:
                            return
                        self._time(what, run, name, number + turn)
                        self._time(what, run, "/status", 0)
                        time.sleep(rng.random() * 2 * self._visits.pause)
        except Exception as error:
            with self._lock:
                self._failed.append(error)

    def _time(self, what: str, run: str, name: str, number: int) -> None:
        query = self._questions[run][name](number)
        begin = time.perf_counter()
        self._server.get(name, **{"run": run, **query})
        seconds = time.perf_counter() - begin
        with self._lock:
            self._measured.times[what][name].append(seconds)


def measure(logdir: Path, package: Path, cache: Path, visits: Visits, measured: Measured) -> None:
    """Measure a server of one package, from its start."""
    with served(logdir, package, cache) as server:
        questions = prepare(server, logdir)  # which indexes the runs, the first time
    with served(logdir, package, cache) as server:
        server.get("/logdir")
        measured.memory["idle"].append(server.memory_mb())
        clients = Clients(server, questions, visits, measured)
        clients.visit("cold", list(questions), None)
        measured.memory["after all runs"].append(server.memory_mb())
        warm = list(questions)[:_WARM_RUNS]
        for run in warm:
            for name, make in questions[run].items():
                server.get(name, run=run, **make(0))
        clients.visit("warm", warm, visits.seconds)
        measured.memory["after the warm ones"].append(server.memory_mb())


def write_runs(logdir: Path, short: int, traces: int) -> None:
    """Write two long runs, which come first by name, and some short ones."""
    from benchmarks import file_sets

    program = file_sets.TRAINING
    sizes = {"long-0": traces, "long-1": traces - program.ops, "short-0": _SHORT_TRACES}
    for name, count in sizes.items():
        file_sets.write(logdir / name, count, program=program, bad_from=_BAD_FROM)
    for number in range(1, short):
        shutil.copytree(logdir / "short-0", logdir / f"short-{number}")


def measure_packages(
    folder: Path, packages: dict[str, Path], sizes: tuple[int, int], visits: Visits, rounds: int
) -> None:
    """Measure packages in turns, and print a table of each.

    Args:
      folder: For the files.
      packages: Their folders, by name.
      sizes: How many short runs there are, and how many graph executions a long one has.
      visits: What clients do.
      rounds: How often.
    """
    logdir = folder / "logs"
    write_runs(logdir, *sizes)
    measured = {name: Measured(name) for name in packages}
    for _ in range(rounds):
        for number, (name, package) in enumerate(packages.items()):
            measure(logdir, package, folder / f"cache{number}", visits, measured[name])
    for each in measured.values():
        print_table(each)


def print_table(measured: Measured) -> None:
    """Print milliseconds of each route, the slowest first, and memory."""
    kinds, numbers = ("cold", "warm"), ("p50", "p95", "max")
    heads = [f"{kind} {number}" for kind in kinds for number in numbers]
    table = Table("route, ms", *heads, title=measured.name, title_justify="left")
    routes = sorted(measured.times["cold"], key=lambda name: -percentiles(measured.times["cold"][name])[1])
    for name in routes:
        cells = [value for kind in kinds for value in percentiles(measured.times[kind][name])]
        table.add_row(name, *("" if math.isnan(value) else f"{value * 1000:,.0f}" for value in cells))
    console = Console(width=None if sys.stdout.isatty() else 130)
    console.print(table)
    for name, megabytes in measured.memory.items():
        console.print(f"resident {name}: {statistics.median(megabytes):,.0f} MB")


def percentiles(times: Sequence[float]) -> tuple[float, float, float]:
    """Return the median, the 95th percentile and the largest."""
    if len(times) < 2:
        return (math.nan,) * 3
    percentiles = statistics.quantiles(times, n=20, method="inclusive")
    return percentiles[9], percentiles[18], max(times)


if __name__ == "__main__":
    serve(sys.argv[1])
