"""Queries every route over HTTP, with queries that fit a run and with hostile ones.

Takes a logdir and returns answers. :data:`FITTING` has a query for each route of the plugin; a test checks
that no route is missing.
"""

from __future__ import annotations

import argparse
import io
import json
import random
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from tensorboard.plugins import base_plugin
from werkzeug.test import Client, TestResponse

from tb_debugger_plugin.analysis.inventory import KINDS
from tb_debugger_plugin.server.forgery import KEY_HEADER
from tb_debugger_plugin.server.plugin import DebuggerPlugin
from tb_debugger_plugin.server.routes import POSTS
from tests.support.serving import KEY

PREFIX: Final = "/data/plugin/debugger"
Query = dict[str, object]

#: Values that must do no harm in any parameter.
HOSTILE: Final = (
    *("", " ", "-1", "0", "1", "9" * 15, "9" * 30, "-" * 9, "1e9", "nan", "inf", "-inf", "0x10", "1_000"),
    *("٣", "1.5", "+1", "true", "null", "undefined", "[]", "{}", "\0", "a\0b", "\r\nX-Evil: 1", "\ud7ff"),
    *("' OR 1=1 --", "'; DROP TABLE traces; --", '"', "1) UNION SELECT 1 --", "$text", "?", ":1", "%", "_"),
    *("../../../../etc/passwd", "/etc/passwd", "file:///etc/passwd", "..%2f..", "C:\\boot.ini", "~"),
    *("<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "{{7*7}}", "${7*7}", "%s%n%x"),
    *("(", "[", "(?", "*", "\\", "(?P<a", "(a+)+$", "((((((((((a*)*)*)*)*)*)*)*)*)*)$", "a{1000}{1000}"),
    *(":", "::", "...", "-9", "1:2:0", "0,0,0", "[:", ":,", "..., ...", "9" * 18 + ":", "abs"),
    *("(?=a)", "\\1", "\\C", "[[:alpha:]", "\\p{Greek}", "x" * 999, "x" * 10_001, "," * 20_000, "a," * 9999),
    *("nan>0", "size>=1e308", "size>=.", "nan>0" + ",nan>0" * 99, "idx>0", "read_csv('/etc/passwd')>0"),
)
#: Names of parameters that any query may have, whether the route knows them or not.
PARAMETERS: Final = (
    *(
        "run",
        "begin",
        "end",
        "alert_type",
        "alert",
        "graph_id",
        "op_name",
        "at",
        "index",
        "stack_frame_ids",
        "only",
    ),
    *("list", "buckets", "execution", "graph_execution", "hops", "limit", "text", "op_type", "function"),
    *("device", "dtype", "host", "health", "where", "since", "until", "source", "line", "sort", "descending"),
    *("step",),
    *("layer", "variable", "gradient_of", "not_op_name", "from_execution", "until_execution"),
    *("slicing", "slot", "rows", "columns", "row", "column", "bins", "low", "high", "part"),
    *("program", "tensor", "after", "wait", "pause"),
    *("rules", "rule", "ExplodingAlert.limit", "GrowingAlert.steps", "UnderflowAlert.dtype", "InfNanAlert.x"),
    *("other", "tolerance", "most", "number", "of"),
    *("file", "stack", "with", "by", "format", "call", "open", "ops", "axis", "kind"),
)


@dataclass(frozen=True)
class Facts:
    """The positions and names of a run that queries need: a position in each list, and names."""

    run: str
    execution: int = 0
    trace: int = 0
    graph_id: str = "g1"
    op_name: str = "Log"
    frame: str = "f1"
    program: str = "nobody"


FITTING: Final[dict[str, Callable[[Facts], Query]]] = {
    "/runs": lambda facts: {},
    "/logdir": lambda facts: {},
    "/note": lambda facts: {},
    "/report": lambda facts: {"format": "markdown"},
    "/alerts": lambda facts: {"end": -1},
    "/alerts/rules": lambda facts: {"rules": "all"},
    "/alerts/found": lambda facts: {"rules": "all", "ExplodingAlert.limit": 1},
    "/alerts/groups": lambda facts: {"rules": "all", "by": "line"},
    "/alerts/explained": lambda facts: {"rules": "all", "index": 0},
    "/diagnosis": lambda facts: {},
    "/verdict": lambda facts: {},
    "/execution/digests": lambda facts: {},
    "/execution/data": lambda facts: {},
    "/compare": lambda facts: {"other": facts.run},
    "/compare/histories": lambda facts: {"other": facts.run, "graph_execution": facts.trace},
    "/graph_execution/digests": lambda facts: {},
    "/graph_execution/data": lambda facts: {},
    "/graphs/graph_info": lambda facts: {"graph_id": facts.graph_id},
    "/graphs/op_info": lambda facts: {"graph_id": facts.graph_id, "op_name": facts.op_name},
    "/source_files/list": lambda facts: {},
    "/source_files/file": lambda facts: {"index": 0},
    "/stack_frames/stack_frames": lambda facts: {"stack_frame_ids": facts.frame},
    "/origins": lambda facts: {},
    "/precision": lambda facts: {"dtype": "float16"},
    "/status": lambda facts: {},
    "/columns/executions": lambda facts: {"where": "size>=0", "sort": "wall_time"},
    "/columns/graph_executions": lambda facts: {"op_name": ".", "sort": "nan", "descending": "true"},
    "/columns/inventory": lambda facts: {"kind": "ops", "sort": "bad", "descending": "true"},
    "/export": lambda facts: {"list": "executions", "format": "parquet", "columns": "index,op_type,line"},
    "/graphs/ops": lambda facts: {},
    "/graphs/overview": lambda facts: {"graph_id": facts.graph_id, "by": "scope", "ops": facts.op_name},
    "/source_files/ops": lambda facts: {"index": 0},
    "/source_files/counts": lambda facts: {},
    "/session_runs": lambda facts: {},
    "/steps": lambda facts: {"bins": 3},
    "/timeline": lambda facts: {"bins": 5},
    "/extremes": lambda facts: {"most": 2},
    "/overview": lambda facts: {"list": "executions", "buckets": 7},
    "/locate": lambda facts: {"graph_execution": facts.trace},
    "/inputs_of": lambda facts: {"graph_execution": facts.trace},
    "/neighbours": lambda facts: {"graph_id": facts.graph_id, "op_name": facts.op_name, "hops": 9},
    "/find": lambda facts: {"text": "l"},
    "/curve": lambda facts: {"tensor": facts.op_name, "number": "nan", "most": 3},
    "/exponents": lambda facts: {"tensor": facts.op_name, "most": 3},
    "/gradient_flow": lambda facts: {"most": 2},
    "/values": lambda facts: {"graph_execution": facts.trace},
    "/values/info": lambda facts: {"graph_execution": facts.trace},
    "/values/text": lambda facts: {"graph_execution": facts.trace},
    "/values/summary": lambda facts: {"graph_execution": facts.trace, "low": 0},
    "/values/history": lambda facts: {"graph_execution": facts.trace},
    "/values/npy": lambda facts: {"graph_execution": facts.trace},
    "/live/programs": lambda facts: {},
    "/live/tensors": lambda facts: {"program": facts.program},
    "/live/paused": lambda facts: {"program": facts.program, "pause": 1},
}
#: The status of routes where there are no elements, no program, no description of the op, or no alert.
_OF_NOTHING: Final = {
    **dict.fromkeys(("/values", "/values/text", "/values/summary", "/values/npy"), 404),
    **dict.fromkeys(("/live/tensors", "/live/paused", "/compare/histories", "/curve", "/exponents"), 404),
    "/alerts/explained": 400,
}
#: More queries for some of the routes.
ALSO: Final[tuple[tuple[str, Callable[[Facts], Query]], ...]] = (
    ("/alerts", lambda facts: {"end": -1, "alert_type": "InfNanAlert"}),
    ("/alerts", lambda facts: {"end": -1, "alert_type": "ExplodingAlert"}),
    ("/alerts", lambda facts: {"end": -1, "ExplodingAlert.limit": 2}),
    ("/alerts/rules", lambda facts: {}),
    ("/alerts/rules", lambda facts: {"rule": "GrowingAlert", "GrowingAlert.steps": 2}),
    ("/alerts/found", lambda facts: {}),
    ("/diagnosis", lambda facts: {"execution": facts.execution}),
    ("/diagnosis", lambda f: {"graph_id": f.graph_id, "op_name": f.op_name, "at": f.trace}),
    ("/columns/executions", lambda facts: {}),
    ("/columns/executions", lambda facts: {"source": 0, "line": 3, "device": "CPU", "dtype": "float32"}),
    ("/columns/graph_executions", lambda facts: {}),
    ("/columns/graph_executions", lambda facts: {"only": "bad"}),
    ("/columns/graph_executions", lambda facts: {"function": "f", "source": 0, "since": 0, "health": "bad"}),
    ("/columns/graph_executions", lambda facts: {"layer": "a", "variable": "a", "gradient_of": "a"}),
    ("/columns/graph_executions", lambda facts: {"until_execution": facts.execution + 1}),
    ("/columns/executions", lambda facts: {"from_execution": facts.execution}),
    ("/columns/executions", lambda facts: {"step": 0}),
    ("/columns/graph_executions", lambda facts: {"step": "0..7"}),
    ("/columns/graph_executions", lambda facts: {"call": f"{facts.execution}.."}),
    ("/columns/graph_executions", lambda facts: {"with": "std,norm,line,thread,occurrence", "sort": "norm"}),
    ("/columns/executions", lambda facts: {"with": "line,thread", "sort": "thread", "file": "train.py:1"}),
    *(
        ("/columns/inventory", lambda facts, kind=kind: {"kind": kind, "sort": "name", "op_type": "."})
        for kind in KINDS
    ),
    ("/columns/inventory", lambda facts: {"kind": "lines", "health": "nan", "begin": 0, "end": 0}),
    ("/export", lambda facts: {"list": "layers", "format": "csv", "columns": "name,bad"}),
    ("/export", lambda facts: {"list": "graph_executions", "format": "csv", "columns": "std", "sort": "max"}),
    ("/overview", lambda facts: {"list": "graph_executions", "buckets": 4096}),
    ("/timeline", lambda facts: {"axis": "sequence", "bins": 1, "begin": 0, "end": 2.5}),
    ("/report", lambda facts: {}),
    ("/locate", lambda facts: {"execution": facts.execution}),
    ("/graphs/op_info", lambda f: {"graph_id": f.graph_id, "op_name": f.op_name, "at": f.trace}),
    ("/neighbours", lambda f: {"graph_id": f.graph_id, "op_name": f.op_name, "at": f.trace}),
    ("/find", lambda facts: {"text": f"{facts.op_name}:0"}),
    ("/find", lambda facts: {"text": "l", "kinds": "files,lines"}),
    ("/curve", lambda facts: {"graph_execution": facts.trace, "number": "[...]", "most": 2}),
    ("/curve", lambda facts: {"execution": facts.execution, "begin": 0}),
    ("/exponents", lambda facts: {"execution": facts.execution, "begin": 0, "end": 1}),
    ("/values", lambda facts: {"execution": facts.execution, "rows": 3, "columns": 2}),
    ("/values/info", lambda facts: {"execution": facts.execution}),
    ("/values/history", lambda facts: {"execution": facts.execution, "slicing": "..."}),
    ("/values/history", lambda facts: {"graph_execution": facts.trace, "slicing": "..."}),
)


def fitting(facts: Facts) -> list[tuple[str, Query]]:
    """Returns queries of every route that a run with these facts can answer."""
    asked = [*FITTING.items(), *ALSO]
    return [(path, {"run": facts.run, **make(facts)}) for path, make in asked]


def has_answered(path: str, status: int) -> bool:
    """Whether the answer to a fitting query has the right status."""
    return status in (200, _OF_NOTHING.get(path))


def hostile(rng: random.Random, facts: Facts, path: str) -> Query:
    """Returns a query with some hostile values, also in parameters that the route does not have."""
    query: Query = {"run": facts.run, **FITTING[path](facts)}
    for name in rng.sample(PARAMETERS, rng.randrange(1, 4)):
        query[name] = rng.choice(HOSTILE)
    return query


#: The types of columns in NumPy's words.
_TYPES = {"f64": "<f8", "f32": "<f4", "i32": "<i4", "u8": "u1"}


class Asker:
    """Sends queries to a plugin, as a browser does; closes the plugin at the end of the block."""

    def __init__(self, logdir: Path | str, flags: argparse.Namespace | None = None) -> None:
        self.plugin = DebuggerPlugin(base_plugin.TBContext(logdir=str(logdir), flags=flags))
        self._apps = self.plugin.get_plugin_apps()

    def __enter__(self) -> Asker:
        return self

    def __exit__(self, *_: object) -> None:
        self.plugin.close()

    @property
    def routes(self) -> set[str]:
        """The paths of the routes of GET below the prefix, without the files of the page."""
        return {path for path in self._apps if path not in ("/*", "/index.js", *POSTS)}

    def get(
        self,
        path: str,
        query: Mapping[str, object] | None = None,
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
        **more: object,
    ) -> TestResponse:
        """Returns the response to one query, given as a mapping or as arguments."""
        app = self._apps.get(path) or self._apps["/*"]
        text = {name: str(value) for name, value in {**(query or {}), **more}.items()}
        return Client(app).open(PREFIX + path, method=method, query_string=text, headers=headers)

    def post(
        self, path: str, body: object, headers: Mapping[str, str | None] | None = None, key: str = KEY
    ) -> TestResponse:
        """Returns the response to a POST from a page of the viewer.

        Args:
          path: The route.
          body: What is sent as JSON, or bytes.
          headers: Headers to send besides; None leaves one out.
          key: The key of the viewer.
        """
        sent = {
            "Content-Type": "application/json",
            KEY_HEADER: key,
            "Sec-Fetch-Site": "same-origin",
            **(headers or {}),
        }
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        given = {name: value for name, value in sent.items() if value is not None}
        app = self._apps.get(path) or self._apps["/*"]
        return Client(app).post(PREFIX + path, data=data, headers=given)

    def json(self, path: str, query: Mapping[str, object] | None = None, **more: object) -> Any:
        """Returns the JSON of an answer with status 200; it must have no NaN and no infinity."""
        response = self.get(path, query, **more)
        assert response.status_code == 200, response.text
        assert response.mimetype == "application/json"
        return json.loads(response.data, parse_constant=_refuse)

    def columns(
        self, path: str, query: Mapping[str, object] | None = None, **more: object
    ) -> tuple[Any, dict[str, Any]]:
        """Returns the header of an answer with status 200, and its columns as arrays."""
        response = self.get(path, query, **more)
        assert response.status_code == 200, response.text
        header, data = decoded(response.mimetype, response.data), response.data
        start = 4 + struct.unpack_from("<I", data)[0]
        assert not [offset for offset in (start, *(one["offset"] for one in header["columns"])) if offset % 8]
        return header, {
            one["name"]: np.frombuffer(data, _TYPES[one["type"]], one["length"], start + one["offset"])
            for one in header["columns"]
        }

    def refusal(
        self, path: str, query: Mapping[str, object] | None = None, **more: object
    ) -> tuple[int, str]:
        """Returns status and sentence of an answer that is an error."""
        response = self.get(path, query, **more)
        assert response.mimetype == "application/json"
        assert set(response.json) == {"error"} and "Traceback" not in response.text
        return response.status_code, response.json["error"]


def decoded(content_type: str, data: bytes) -> Any:
    """Returns the JSON of an answer, or the header of its columns.

    Raises:
      ValueError: The answer does not match its content type.
    """
    if content_type == "application/x-npy":
        return {"array": np.load(io.BytesIO(data)).tolist()}
    if content_type == "application/vnd.apache.parquet":
        if data[:4] != b"PAR1" or data[-4:] != b"PAR1":
            raise ValueError("an answer is no Parquet file")
        return {"size": len(data)}
    if content_type in ("text/csv", "text/tab-separated-values"):
        return {"rows": data.decode().splitlines()}
    if content_type in ("text/html", "text/markdown"):
        return {"size": len(data.decode().encode())}
    if content_type == "application/octet-stream":
        (length,) = struct.unpack_from("<I", data)
        return json.loads(data[4 : 4 + length], parse_constant=_refuse)
    if content_type != "application/json":
        raise ValueError(f"an answer is of the type {content_type}")
    return json.loads(data, parse_constant=_refuse)


def _refuse(text: str) -> None:
    raise ValueError(f"{text} is not JSON")


def facts_of(asker: Asker, run: str, rng: random.Random) -> Facts:
    """Returns facts of a run, chosen at random from its long lists."""
    traces = asker.json("/graph_execution/digests", {"run": run, "end": -1})
    executions = asker.json("/execution/data", {"run": run})["executions"]
    rows = traces["graph_execution_digests"]
    trace = rng.randrange(len(rows)) if rows else 0
    execution = rng.randrange(len(executions)) if executions else 0
    frames = executions[execution]["stack_frame_ids"] if executions else []
    return Facts(
        run,
        execution,
        trace,
        rows[trace]["graph_id"] if rows else "g1",
        rows[trace]["op_name"] if rows else "Log",
        frames[0] if frames else "f1",
    )
