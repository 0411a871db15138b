"""Measures after what time a tensor that a running program records is in an answer, while people look.

    python -m benchmarks.index --tail [--base COMMIT] [--clients 8] [--rate 50000]

A process writes graph executions at a steady rate. In another one, clients ask the plugin's own WSGI
applications for the status and for the rows that are new to them. What counts is the time from the
``wall_time`` of a record until the first answer that has it. With a base, both commits take turns.
"""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, Final

import numpy as np
from rich.console import Console
from rich.table import Table

ROOT: Final = Path(__file__).resolve().parent.parent
_PREFIX: Final = "/data/plugin/debugger"
#: Rows that a client asks for at most: the last ones, as somebody who looks at the end of the list.
_PAGE: Final = 20_000
#: Seconds that are not measured: the run is opened in them.
_WARM_SECONDS: Final = 3.0


class Clients:
    """Threads that ask for the newest rows; lives while the program writes."""

    def __init__(self, logdir: str, pause: float) -> None:
        from tensorboard.plugins import base_plugin
        from werkzeug.test import Client

        from tb_debugger_plugin.server.plugin import DebuggerPlugin

        self.plugin = DebuggerPlugin(base_plugin.TBContext(logdir=logdir))
        self._clients = {path: Client(app) for path, app in self.plugin.get_plugin_apps().items()}
        self._pause = pause
        self._lock = threading.Lock()  # guards the two fields below
        self._seen = 0
        self.waits: list[Any] = []

    def ask(self, end: float) -> None:
        """Ask until some time; keep how long each record waited for the first answer with it."""
        rng = np.random.default_rng(threading.get_ident() % 2**32)
        while time.time() < end:
            status = self._get("/status", run=".")
            if status is not None:
                total = json.loads(status)["num_graph_executions"]
                self._take(min(total, max(self._seen, total - _PAGE)))
            time.sleep(rng.random() * 2 * self._pause)

    def _get(self, path: str, **query: object) -> bytes | None:
        text = {name: str(value) for name, value in query.items()}
        response = self._clients[path].get(f"{_PREFIX}{path}", query_string=text)
        return response.data if response.status_code == 200 else None

    def _take(self, begin: int) -> None:
        data = self._get("/columns/graph_executions", run=".", begin=begin, end=-1)
        answered = time.time()
        if data is None:
            return
        (length,) = struct.unpack_from("<I", data)
        header = json.loads(data[4 : 4 + length])
        (column,) = (one for one in header["columns"] if one["name"] == "wall_time")
        times = np.frombuffer(data, "<f8", column["length"], 4 + length + column["offset"])
        with self._lock:
            new = times[max(0, self._seen - begin) :]
            skipped = max(0, begin - self._seen)
            self._seen = max(self._seen, begin + len(times))
            # What was left out was written before the first row.
            oldest = np.full(skipped, answered - times[0] if len(times) else 0.0)
            self.waits.append((answered, np.concatenate([oldest, answered - new])))


def ask(logdir: str, clients: int, pause: float, seconds: float) -> dict[str, float]:
    """Return median, 95th percentile and maximum in milliseconds, and how many records were seen."""
    asking = Clients(logdir, pause)
    begin = time.time()
    threads = [threading.Thread(target=asking.ask, args=(begin + seconds,)) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    asking.plugin.close()
    waits = np.concatenate([each for at, each in asking.waits if at > begin + _WARM_SECONDS]) * 1000
    median, high = np.percentile(waits, [50, 95])
    return {"median": median, "p95": high, "max": waits.max(), "records": len(waits)}


def measure(folder: Path, packages: dict[str, Path], rounds: int, rate: int, *asked: float) -> None:
    """Measure packages in turns, and print a table.

    Args:
      folder: For the files.
      packages: Their folders, by name.
      rounds: How often.
      rate: Records a second.
      *asked: Clients, mean seconds between two questions of one, and seconds.
    """
    table = Table("commit", "median, ms", "p95, ms", "max, ms", "records seen")
    for turn in range(rounds):
        for name, package in packages.items():
            logdir = folder / f"{name}-{turn}".replace(" ", "-")
            seconds = asked[-1]
            writing = [sys.executable, "-m", "benchmarks.tail", str(logdir), str(rate), str(seconds + 2)]
            with subprocess.Popen(writing, cwd=ROOT) as writer:
                while not list(logdir.glob("*.graph_execution_traces")):
                    time.sleep(0.05)
                found = _ask_package(logdir, package, folder / "cache", asked)
                writer.terminate()
            table.add_row(name, *(f"{found[key]:,.0f}" for key in ("median", "p95", "max", "records")))
    Console(width=None if sys.stdout.isatty() else 110).print(table)


def _ask_package(logdir: Path, package: Path, cache: Path, asked: tuple[float, ...]) -> dict[str, float]:
    environment = {**os.environ, "PYTHONPATH": str(package), "TB_DEBUGGER_CACHE": str(cache)}
    command = [sys.executable, __file__, str(logdir), *map(str, asked)]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


if __name__ == "__main__":
    if len(sys.argv) == 4:  # the program
        from benchmarks import file_sets

        file_sets.write_live(Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]))
    else:
        print(json.dumps(ask(sys.argv[1], int(float(sys.argv[2])), float(sys.argv[3]), float(sys.argv[4]))))
