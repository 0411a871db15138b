"""`reading/run.py`: a question has one answer through Python, `tbdbg`, the shell, the routes and the log.

Each of a dozen recordings is asked the same dozen questions through each door that has them. A question gives
the answers by door; the test compares them. What is said of each recording is written beside it.
"""

from __future__ import annotations

import functools
import io
import json
import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack, redirect_stderr, redirect_stdout
from pathlib import Path

import numpy as np
import pytest

import tb_debugger_plugin
from tb_debugger_plugin.analysis.snapshot import Json
from tb_debugger_plugin.cli.main import main
from tb_debugger_plugin.errors import DebuggerError
from tb_debugger_plugin.events.modes import TensorDebugMode
from tb_debugger_plugin.events.not_recorded import NotRecordedReason
from tb_debugger_plugin.index.runs import find_runs
from tb_debugger_plugin.reading import bad_value
from tests.support.asking import Asker
from tests.support.events import Recording, full_health, small_program, values_program
from tests.support.numerics import training

#: What each door answers.
Answers = dict[str, object]

OWN = {"recorder_version": "0.1.0"}
MASK = [-math.inf, 0.0]


def ended(recording: Recording, executions: int, traces: int) -> None:
    recording.counts(executions, traces, finished=True)
    recording.close()


def with_op(recording: Recording, name: str, op_type: str, value: list[float], *inputs: str) -> None:
    recording.op("g1", name, op_type, inputs, ids=[20 + len(name)], outputs=[(1, [])])
    recording.trace("g1", name, full_health(value))


def whole(folder: Path, *, mask: bool = False, **options: object) -> Recording:
    """A program of one call that computes what is finite, and perhaps a mask of −∞."""
    recording = small_program(folder, steps=0, **OWN, **options)
    with_op(recording, "Exp", "Exp", [1.0, 2.0])
    if mask:
        with_op(recording, "mask", "Const", MASK)
    recording.execution("__inference_loss_7", [full_health([1.0])], graph_id="g1")
    return recording


def swallowed(folder: Path) -> None:
    recording = small_program(folder, steps=0, **OWN)
    with_op(recording, "root", "Sqrt", [math.nan], "x:0")
    recording.op("g1", "level", "Cast", ["root:0"], ids=[31], outputs=[(3, [])])
    recording.op("g1", "Identity_9", "Identity", ["level:0"], ids=[32], outputs=[(3, [])])
    recording.execution("__inference_loss_7", [full_health([1.0])], graph_id="g1")
    ended(recording, 1, 1)


def filtered(folder: Path) -> None:
    recording = whole(folder)
    recording.not_recorded(NotRecordedReason.FILTERED, "The filter op_regex left these out.", "op_regex")
    ended(recording, 1, 1)


def of_mode(folder: Path, mode: TensorDebugMode) -> None:
    ended(small_program(folder, steps=0, tensor_debug_mode=mode, **OWN), 0, 0)


def dead(folder: Path) -> None:
    ended(training(folder, [{"Relu": [0.0, 0.0]}] * 4), 4, 4)


def meant(folder: Path) -> None:
    dead(folder)
    entry = '[[allow]]\nrule = "DeadReluAlert"\nreason = "It is meant."\n'
    (folder / "tbdbg_allow.toml").write_text(entry)


#: Writes each recording into a folder.
MADE: dict[str, Callable[[Path], object]] = {
    "bad": lambda folder: ended(small_program(folder, **OWN), 4, 8),
    "values": lambda folder: values_program(folder).close(),
    "swallowed": swallowed,
    "healthy": lambda folder: ended(whole(folder), 1, 1),
    "mask": lambda folder: ended(whole(folder, mask=True), 1, 2),
    "running": lambda folder: whole(folder).close(),
    "filtered": filtered,
    "ring": lambda folder: ended(whole(folder, circular_buffer_size=1), 7, 9),
    "shapes": lambda folder: of_mode(folder, TensorDebugMode.SHAPE),
    "nothing": lambda folder: of_mode(folder, TensorDebugMode.FULL_HEALTH),
    "dead": dead,
    "meant": meant,
    "exploding": lambda folder: ended(training(folder, [{"MatMul": [1.0, 1e20]}] * 2), 2, 2),
}
#: What is said of each recording.
SAID: dict[str, tuple[str, str, bool]] = {
    "bad": ("bad", "First bad value: Log in loss, train.py:3", False),
    "values": ("bad", "First bad value: Log in loss, train.py:2", False),
    "swallowed": ("bad", "First bad value: Sqrt", False),
    "healthy": ("nothing", "No NaN and no infinity", True),
    "mask": ("expected", "All bad values are expected", True),
    "running": ("nothing", "No NaN and no infinity so far", True),
    "filtered": ("nothing", "No NaN and no infinity in what was recorded", False),
    "ring": ("nothing", "No NaN and no infinity in what was recorded", False),
    "shapes": ("unmeasured", "NaN and infinity were not measured", False),
    "nothing": ("empty", "Nothing is on record", False),
    "dead": ("rules", "Alert rules found 1 alert above low", False),
    "meant": ("nothing", "No NaN and no infinity in what was recorded", False),
    "exploding": ("rules", "Alert rules found 3 alerts above low", False),
}


class Doors:
    """All ways to ask one recording; open for the tests of it."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder = folder
        self.run = stack.enter_context(tb_debugger_plugin.open_run(folder))
        self._page = stack.enter_context(Asker(folder))

    def page(self, route: str, **query: object) -> Json | None:
        return self._page.get(f"/{route}", run=".", **query).json

    def tbdbg(self, verb: str, *more: str) -> Json:
        """What a verb answers of the run as JSON."""
        said = self.said(verb, str(self.folder), *more, "--json")
        answer = json.loads(said)
        return answer["."] if "." in answer else answer

    def shell(self, command: str) -> list[str]:
        return self.said("shell", str(self.folder), "-c", command).splitlines()

    @functools.cache  # noqa: B019 - the doors live as long as the tests of one recording
    def said(self, *words: str) -> str:
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            main(words)
        return out.getvalue() or err.getvalue()

    def log(self) -> Json:
        """The verdict that the end of a recording asks for."""
        ((files,),) = [found.file_sets for found in find_runs(self.folder)]
        out = io.StringIO()
        with redirect_stdout(out):
            bad_value.main(str(self.folder), files.prefix)
        answer: Json = json.loads(out.getvalue())
        return answer


@pytest.fixture(scope="module", params=SAID)
def asked(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, Doors]]:
    """The name of a recording, and its doors."""
    folder = tmp_path_factory.mktemp(request.param)
    MADE[request.param](folder)
    with ExitStack() as stack:
        yield request.param, Doors(folder, stack)


def verdict(doors: Doors) -> Answers:
    found = doors.run.verdict()
    answers = {
        "Python": found.to_json(),
        "tbdbg why": doors.tbdbg("why")["verdict"],
        "tbdbg info": doors.tbdbg("info")["verdict"],
        "page": doors.page("verdict"),
    }
    if found.kind != "rules":  # no rule is asked at the end of a training
        answers["log"] = {**doors.log(), "num_alerts": found.num_alerts}
    return answers


def headline(doors: Doors) -> Answers:
    said = doors.run.verdict().headline
    # The report begins with the name and the size of the run; markup is escaped.
    report = doors.run.report("markdown").replace("\\", "")
    first = doors.shell("why")[0]
    return {
        "Python": said,
        "tbdbg why": doors.said("why", str(doors.folder)).splitlines()[1].strip(),
        "la": doors.shell("la")[0],
        "shell why": f"First bad value: {first}" if said.startswith("First bad value: ") else first,
        "report": said if said.removeprefix("First bad value: ") in report else report,
        "list of runs": doors.page("runs")["."]["verdict"]["headline"] if doors.page("verdict") else "",
    }


def first_cause(doors: Doors) -> Answers:
    reason = doors.run.why()
    return {
        "Python": reason and reason.facts,
        "tbdbg": doors.tbdbg("why")["diagnosis"],
        "page": doors.page("diagnosis")["diagnosis"],
    }


def sentences(doors: Doors) -> Answers:
    said, reason = doors.run.verdict(), doors.run.why()
    expected = reason.sentences if reason and said.kind == "bad" else [*said.sentences, *said.doubts]
    return {"Python": expected, "tbdbg": doors.tbdbg("why")["sentences"][: len(expected)]}


def origins(doors: Doors) -> Answers:
    return {
        "Python": [one.to_json() for one in doors.run.origins()],
        "tbdbg": doors.tbdbg("origins")["origins"],
        "page": doors.page("origins")["origins"],
    }


def counts(doors: Doors) -> Answers:
    info, status = doors.tbdbg("info"), doors.page("status")
    index = doors.tbdbg("index")
    rows = doors.run.sql(
        "SELECT (SELECT count(*) FROM executions), (SELECT count(*) FROM graph_executions)"
    ).fetchall()
    return {
        "Python": (len(doors.run.executions()), len(doors.run.graph_executions())),
        "SQL": rows[0],
        "tbdbg info": (info["num_executions"], info["num_graph_executions"]),
        "tbdbg index": (index["executions"], index["graph_executions"]),
        "page": (status["num_executions"], status["num_graph_executions"]),
    }


def listed_alerts(doors: Doors) -> Answers:
    (line,) = [line for line in doors.shell("la") if " value(s) that are bad or explode" in line]
    return {
        "Python": len(doors.run.alerts()),
        "Python, counted": sum(doors.run.alert_counts().values()),
        "tbdbg": sum(doors.tbdbg("why")["alerts_breakdown"].values()),
        "page": doors.page("alerts")["num_alerts"],
        "shell": int(line.split()[0]),
    }


def rules(doors: Doors) -> Answers:
    return {
        "Python": [one.facts for one in doors.run.alerts(rule="recommended")],
        "tbdbg": doors.tbdbg("alerts")["alerts"],
        "page": doors.page("alerts/found", end=-1)["alerts"],
    }


def not_recorded(doors: Doors) -> Answers:
    return {
        "Python": doors.run.status()["not_recorded"],
        "tbdbg why": doors.tbdbg("why")["not_recorded"],
        "tbdbg info": doors.tbdbg("info")["not_recorded"],
        "page": doors.page("status")["not_recorded"],
    }


def precision(doors: Doors) -> Answers:
    return {
        "Python": doors.run.precision("bfloat16").to_json(),
        "tbdbg": doors.tbdbg("precision", "--dtype", "bfloat16"),
        "page": doors.page("precision", dtype="bfloat16"),
    }


def comparison(doors: Doors) -> Answers:
    folder = str(doors.folder)
    return {
        "Python": doors.run.compare(doors.run).to_json(),
        "tbdbg": json.loads(doors.said("compare", folder, folder, "--json")),
        "page": doors.page("compare", other="."),
    }


def what_is_not_there(doors: Doors) -> Answers:
    """The sentence that refuses a misspelt name."""
    with pytest.raises(DebuggerError) as refused:
        doors.run.value("Lgo:0")
    return {
        "Python": str(refused.value),
        "tbdbg": doors.said("value", str(doors.folder), "Lgo:0").removeprefix("tbdbg: ").rstrip(),
        "pt": doors.shell("pt Lgo:0")[-1].removeprefix("ERROR: "),
        "eval": doors.shell("eval `Lgo:0`")[-1].removeprefix("ERROR: "),
    }


QUESTIONS = (
    *(verdict, headline, first_cause, sentences, origins, counts, listed_alerts, rules, not_recorded),
    *(precision, comparison, what_is_not_there),
)


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.__name__)
def test_a_question_has_the_same_answer_through_every_door(
    asked: tuple[str, Doors], question: Callable[[Doors], Answers]
) -> None:
    answers = question(asked[1])
    first = json.loads(json.dumps(answers["Python"]))
    for door, answer in answers.items():
        assert json.loads(json.dumps(answer)) == first, door


def test_a_recording_has_its_verdict(asked: tuple[str, Doors]) -> None:
    name, doors = asked
    found = doors.run.verdict()
    assert (found.kind, found.headline, found.is_good) == SAID[name]


def test_a_value_is_the_same_through_every_door(tmp_path: Path) -> None:
    values_program(tmp_path).close()
    with ExitStack() as stack:
        doors = Doors(tmp_path, stack)
        value = doors.run.value("Log:0")
        elements = doors.tbdbg("value", "Log:0")["elements"]
        assert elements == doors.page("values/text", graph_execution=value.index)["cells"]
        assert np.array_equal(np.array(elements, np.float32), value[...], equal_nan=True)
        printed = " ".join(doors.shell("pt Log:0 -n -1"))
        total = f"array({np.nansum(value)!r}"
        assert total.split("float32(")[-1].rstrip(")") in doors.shell("eval np.nansum(`Log:0`)")[-1]
        assert all(element in printed for row in elements for element in row if element[0] in "-n")
        statistics = json.loads(json.dumps(value.statistics()))
        assert doors.tbdbg("value", "Log:0", "--statistics")["statistics"] == statistics
        assert doors.page("values/summary", graph_execution=value.index) == statistics
