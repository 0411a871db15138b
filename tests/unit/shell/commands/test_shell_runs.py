"""`tb_debugger_plugin/shell/commands`: runs, executions, alerts, the call of a program, and settings."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tb_debugger_plugin.cli.main import main
from tb_debugger_plugin.errors import failing_node
from tb_debugger_plugin.events.locations import location
from tb_debugger_plugin.events.modes import TensorDebugMode
from tb_debugger_plugin.shell.commands.table import COMMANDS
from tb_debugger_plugin.shell.program import Call, Detach, Resume, RunRequest
from tb_debugger_plugin.shell.screen import Mood, Screen, Style, text_of
from tb_debugger_plugin.shell.settings import Settings, user_file
from tb_debugger_plugin.shell.shell import Shell
from tests.support.dumps import training
from tests.support.events import Recording, full_health, small_program, vector
from tests.support.shells import error_of, lines_of, links_of, screen, shell_over, shells_over

_COMMANDS = [command for group in COMMANDS.values() for command in group]


def sessions(folder: Path) -> None:
    """Writes a session with two runs, the second of which failed."""
    recording = Recording(folder)
    recording.thread(1, "MainThread")
    recording.graph("g0")
    recording.op("g0", "log", "Log", ids=[1])
    recording.request(1, feeds=[("x:0", 1, [2])], fetches=["log:0"], targets=["train"])
    recording.session_run(1, 1, thread=1)
    recording.session_run(2, 1, thread=1, error="InvalidArgumentError: no\nmore")
    recording.not_recorded(1, "A function was made before the recording.", "early")
    recording.close()


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    """Shells over runs made by hand, by name; `all` has several."""
    folder = tmp_path_factory.mktemp("runs")
    small_program(folder / "small").close()
    sessions(folder / "sessions")
    training(folder / "training")
    good = Recording(folder / "good")
    good.execution("Fill", [full_health([1.0])], ids=[1])
    good.close()
    names = ("small", "sessions", "training", "good")
    with shells_over(folder, *names) as shells, shell_over(folder) as every:
        yield {**shells, "all": every}


@pytest.fixture
def stopped(tmp_path):
    """Makes a shell over `small_program` that is stopped at a call."""
    small_program(tmp_path / "run").close()
    shells: list[Shell] = []

    def stop(recorded: bool = True, **facts: object) -> Shell:
        call = Call(3, **{"what": "Session.run()", "is_over": False, **facts})  # type: ignore[arg-type]
        shells.append(Shell(COMMANDS, location(str(tmp_path / "run")) if recorded else None, call=call))
        return shells[-1]

    yield stop
    for shell in shells:
        shell.close()


# Runs.


def test_several_runs_are_listed_and_one_is_opened(opened):
    shell = opened["all"]
    answer = shell.answer("runs")
    assert lines_of(answer)[0] == "4 run(s); `runs NAME` opens one:"
    assert links_of(answer)["small"] == "runs small"
    assert "choose one with `runs NAME`" in error_of(shell.answer("lf"))
    assert lines_of(shell.answer("runs small"))[0] == "Run small"
    assert [line.split()[0] for line in lines_of(shell.answer("runs")) if line.endswith("small")] == ["*"]
    assert "There is no run named 'x'" in error_of(shell.answer("runs x"))
    assert lines_of(shell.answer("runs good"))[0] == "Run good"


def test_a_folder_without_runs_and_one_that_is_none_are_one_line(tmp_path):
    with shell_over(tmp_path) as shell:
        assert "holds no debug events" in error_of(shell.answer("runs"))
        assert "holds no debug events" in error_of(shell.answer("ri"))
    (tmp_path / "run_1_0").mkdir()
    (tmp_path / "run_1_0" / "notes.txt").write_text("no dump")
    with shell_over(tmp_path / "run_1_0") as shell:
        assert "holds no debug events" in error_of(shell.answer("lt"))


def test_before_a_recording_there_is_nothing_to_ask(stopped):
    shell = stopped(recorded=False)
    for line in ("lf", "ni x", "ls", "le", "la", "why", "runs", "goto 1"):
        assert error_of(shell.answer(line)) == "ERROR: Nothing is recorded yet: `run` records the next call."


# What a recording holds.


def test_a_recording_is_summed_up_with_links(opened):
    answer = opened["small"].answer("run_info")
    lines = lines_of(answer)
    assert lines[:4:3] == ["Run .", "  recorder: TensorFlow 2.21.0"]
    assert "             8  graph executions" in lines and "             6  with NaN or infinity" in lines
    links = links_of(answer)
    assert (links["with NaN or infinity"], links["alerts"]) == ("lt -f has_inf_or_nan", "la")
    assert links["has_inf_or_nan"] == "lt -f has_inf_or_nan"


def test_runs_of_sessions_are_summed_up(opened):
    lines = lines_of(opened["sessions"].answer("ri"))
    at = lines.index("2 run(s) of sessions; the last ones:")
    assert lines[at + 1 : at + 10] == [
        "  run 1 of session 1, 1.000 ms",
        *("    fetches: log:0", "    targets: train", "    feeds: x:0"),
        "  run 2 of session 1, 1.000 ms",
        *("    fetches: log:0", "    targets: train", "    feeds: x:0"),
        "    error: InvalidArgumentError: no",
    ]
    assert "  A function was made before the recording. (early)" in lines


def test_dump_folders_are_summed_up(opened):
    lines = lines_of(opened["training"].answer("ri"))
    assert "3 call(s) of Session.run() in dump folders; the last ones:" in lines
    assert "    fetches: fetched" in lines


# The call of a program.


def test_a_call_that_has_not_run_is_shown_with_what_to_do(stopped):
    shell = stopped(
        recorded=False, fetches=("loss:0",), targets=("train",), feeds={"x:0": 1}, notes=("A note.",)
    )
    shell.filters.add("mine", lambda datum, value: False)
    answer = screen(shell.answer("ri"))
    assert (answer.mood, answer.title) == (
        Mood.BEFORE_CALL,
        "start of call #3: Session.run(); 1 fetch, 1 feed",
    )
    lines = lines_of(answer)
    assert lines[1:11] == [
        *("Call #3: Session.run()", "", "Fetch(es):", "  loss:0", "", "Target(s):", "  train", ""),
        *("Feed(s):", "  x:0"),
    ]
    assert "A note." in lines
    links = links_of(answer)
    assert links["x:0"] == "pf x:0" and links["mine"] == "run -f mine" and links["run -n"] == "run -n"
    assert "loss:0" not in links


def test_the_call_of_a_function_has_arguments_and_no_times(stopped):
    answer = screen(stopped(recorded=False, what="train_step", feeds={"x": 1}).answer("ri"))
    assert answer.title == "start of call #3: train_step; 1 argument"
    assert lines_of(answer)[1:5] == ["Call #3: train_step", "", "Argument(s):", "  x"]
    assert not {"run -p", "Fetch(es):"} & set(links_of(answer))


def test_a_call_that_has_run_leads_to_its_tensors(stopped):
    shell = stopped(is_over=True, fetches=("loss:0",), passed_filter="has_inf_or_nan")
    answer = screen(shell.answer("run_info"))
    assert answer.mood is Mood.AFTER_CALL
    links = links_of(answer)
    assert links["loss:0"] == "pt loss:0" and links["why"] == "why"
    assert links["lt -f has_inf_or_nan"] == "lt -f has_inf_or_nan"


def test_a_call_that_failed_leads_to_the_op_that_failed(stopped):
    shell = stopped(is_over=True, error=ValueError("Bad input [[{{node Log}}]]"))
    answer = screen(shell.answer("ri"))
    assert answer.title == "failed of call #3: Session.run(); 0 arguments"
    lines = lines_of(answer)
    assert "Call #3, Session.run(), failed." in lines
    assert "Op name:    Log" in lines and "Error type: ValueError" in lines
    links = links_of(answer)
    for line in ("ni -a -d -t Log", "li -r Log"):
        assert links[line] == line
        assert lines_of(shell.answer(line))


def test_an_error_without_an_op_says_so(stopped):
    answer = screen(stopped(is_over=True, error=KeyError("x")).answer("ri"))
    assert "The error does not name the op that failed." in lines_of(answer)


class _OpError(Exception):
    """An error that holds its op, as TensorFlow's do."""

    def __init__(self, op: object) -> None:
        super().__init__("bad [[{{node other}}]]")
        self.op = op


class _Op:
    name = "held"


@pytest.mark.parametrize(
    ("error", "node"),
    [
        (_OpError(_Op()), "held"),
        (_OpError(None), "other"),
        (ValueError("{{function_node __inference_f_1}} {{node f/Log}} is bad"), "f/Log"),
        (ValueError("Retval[0] does not have value [[node a/b (defined at x.py:3)]]"), "a/b"),
        (ValueError("Original stack trace for 'c':"), "c"),
        (ValueError("node of a tree"), None),
        (ValueError(""), None),
    ],
)
def test_the_op_that_failed_is_found_in_an_error(error, node):
    assert failing_node(error) == node


# run and detach.


@pytest.mark.parametrize(
    ("line", "request_"),
    [
        ("run", RunRequest()),
        ("r -t 10", RunRequest(times=10)),
        ("run -n", RunRequest(is_recorded=False)),
        ("run -n -t 3", RunRequest(times=3, is_recorded=False)),
        ("run -f has_inf_or_nan", RunRequest(till_filter="has_inf_or_nan")),
        (
            "run -f has_inf_or_nan -fenn '.*grad'",
            RunRequest(till_filter="has_inf_or_nan", exclude_names=".*grad"),
        ),
        ("run --till_filter_pass mine", RunRequest(till_filter="mine")),
        ("run -p", RunRequest(is_profiled=True)),
        (
            "run --node_name_filter a --op_type_filter b --tensor_dtype_filter c",
            RunRequest(node_names="a", op_types="b", dtypes="c"),
        ),
    ],
)
def test_a_stopped_program_goes_on_as_wanted(stopped, line, request_):
    shell = stopped(recorded=False)
    shell.filters.add("mine", lambda datum, value: False)
    assert shell.answer(line) == Resume(request_)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("run -f has_nan", "ERROR: tensor filter 'has_nan' does not exist; did you mean 'has_inf_or_nan'?"),
        ("run -fenn x", "ERROR: -fenn needs -f: without a filter there is nothing to leave out."),
        ("run -t 0", "ERROR: -t is 0; give a whole number from 1 on."),
        ("run -t x", "ERROR: run: argument -t/--times: invalid int value: 'x'."),
        ("run -n -p", "ERROR: -n records nothing, so it cannot be together with -f or -p."),
        ("run --op_type_filter *", "ERROR: --op_type_filter is not a regular expression: nothing to repeat"),
        ("run now", "ERROR: run: unrecognized arguments: now."),
    ],
)
def test_a_wrong_run_is_one_line_and_the_program_stays(stopped, line, message):
    assert error_of(stopped(recorded=False).answer(line)).startswith(message)


def test_detach_lets_the_program_go(stopped, opened):
    assert stopped(recorded=False).answer("detach") == Detach()
    for line in ("run", "detach"):
        assert "needs a program that is stopped" in error_of(opened["small"].answer(line))


# Executions.


def test_executions_are_listed_with_what_is_bad_inside(opened):
    shell = opened["small"]
    answer = shell.answer("le")
    assert lines_of(answer)[0] == "4 execution(s):"
    assert [line.split() for line in lines_of(answer)[3:5]] == [
        ["0", "[12.000]", "0", "1", "good", "Fill"],
        ["1", "[17.000]", "1", "1", "bad", "loss"],
    ]
    assert links_of(answer)["loss"] == "goto 1"
    assert links_of(answer)["t (ms)"] == "le -s timestamp -r"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("-f has_inf_or_nan", ["1", "3"]),
        ("-n loss", ["1", "3"]),
        ("-n F", ["0", "2"]),
        ("-n oss", []),
        ("-r", ["3", "2", "1", "0"]),
        ("-s inputs -r", ["1", "3", "0", "2"]),
        ("-p train.py -l 3", ["0", "1", "2", "3"]),
        ("-p train.py -l 1", []),
    ],
)
def test_executions_are_filtered_and_sorted(opened, options, expected):
    lines = lines_of(opened["small"].answer(f"le {options}"))
    assert [line.split()[0] for line in lines[3:]] == expected


def test_an_execution_is_shown_with_inputs_outputs_and_what_ran_inside(opened):
    shell = opened["small"]
    answer = shell.answer("goto 1")
    lines = lines_of(answer)
    assert lines[0] == "Execution 1: loss" and "  Thread: MainThread" in lines
    assert "    0: Fill:0 of execution 0  float32" in lines
    assert "    0: loss:0  float32  1 NaN" in lines
    inside = lines.index("4 graph execution(s) in it:")
    assert [line.split()[:3] for line in lines[inside + 1 :]] == [
        *(["#0", "Placeholder", "x:0"], ["#1", "Log", "Log:0"]),
        *(["#2", "Mul", "mul:0"], ["#3", "Mean", "Mean:0"]),
    ]
    links = links_of(answer)
    assert (links["Fill:0"], links["loss:0"], links["Log:0"]) == ("pt #e0:0", "pt #e1:0", "pt #1")
    assert links["execution 0"] == "goto 0" and links["loss"] == "lf g1"
    assert "0: /home/me/train.py" in lines_of(shell.answer("goto e1 -t"))


# Alerts.


def test_alerts_are_listed_in_the_order_of_time_with_their_reasons(opened):
    shell = opened["small"]
    answer = shell.answer("la")
    assert lines_of(answer)[:2] == ["First bad value: Log in loss, train.py:3", "first cause: alert 0"]
    assert lines_of(answer)[2] == "8 value(s) that are bad or explode:"
    assert lines_of(answer)[5].split()[2:] == ["InfNanAlert", "1", "−∞", "Log:0"]
    links = links_of(answer)
    assert links["Log:0"] == "pt #1" and links["7"] == "why 7" and links["loss:0"] == "pt #e1:0"
    assert len(lines_of(shell.answer("la -t InfNanAlert"))) == 13
    assert "0 value(s) of ExplodingAlert:" in lines_of(shell.answer("la -t ExplodingAlert"))


def test_the_positions_of_one_rule_are_those_of_all_alerts(tmp_path):
    recording = Recording(tmp_path, mode=TensorDebugMode.FULL_NUMERICS)
    recording.graph("g0")
    recording.op("g0", "a", "Exp", ids=[1])
    for value in (1e20, 1.0, np.nan, 1e30):
        bad = np.isnan(value)
        moments = [np.nan] * 4 if bad else [value, value, value, 0.0]
        recording.trace("g0", "a", vector([1, -1, 1, 1, 1, 0, 0, bad, 0, 0, not bad, *moments]))
    with shell_over(recording.close()) as shell:
        rows = [line.split() for line in lines_of(shell.answer("la"))[5:]]
        assert [row[2] for row in rows] == ["ExplodingAlert", "InfNanAlert", "ExplodingAlert"]
        assert [line.split()[0] for line in lines_of(shell.answer("la -t InfNanAlert"))[5:]] == ["1"]
        assert [line.split()[0] for line in lines_of(shell.answer("la -t ExplodingAlert"))[5:]] == ["0", "2"]


def test_a_bad_value_is_explained_with_links(opened):
    shell = opened["small"]
    answer = shell.answer("why")
    assert lines_of(answer) == str(shell.run.why()).splitlines()[:1] + lines_of(answer)[1:]
    assert any("Log:0" in line for line in lines_of(answer))
    assert {"pt #1", "ni -a -d -t Log", "li -t Log", "ps /home/me/train.py -b 3"} <= set(
        links_of(answer).values()
    )
    assert "goto 1 -t" in links_of(shell.answer("why 3")).values()
    for command in links_of(answer).values():
        if not command.startswith("pt"):
            assert lines_of(shell.answer(command))


def test_a_good_run_has_nothing_to_explain(opened):
    said = opened["good"].run.verdict()
    assert lines_of(opened["good"].answer("why")) == [said.headline, *said.sentences, *said.doubts]
    assert lines_of(opened["good"].answer("la"))[:2] == [said.headline, "0 value(s) that are bad or explode:"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("le -s size", "ERROR: le cannot sort by 'size': choose one of timestamp, inputs, outputs."),
        ("le -n *", "ERROR: op_type is not a regular expression"),
        ("le -f none", "ERROR: tensor filter 'none' does not exist"),
        ("le -l 3", "ERROR: -l needs -p, the source file of the line."),
        ("le -p nothing.py", "ERROR: No source file has 'nothing.py' in its path"),
        ("goto x", "ERROR: 'x' is no number of an execution; `le` lists them."),
        ("goto 4", "ERROR: There is no execution 4; there are 4."),
        ("goto -1", "ERROR: '-1' is no number of an execution; `le` lists them."),
        ("la -t none", "ERROR: There is no rule 'none': choose one of InfNanAlert, ExplodingAlert."),
        ("why 8", "ERROR: There is no alert 8; there are 8."),
        ("why x", "ERROR: why: argument N: invalid int value: 'x'."),
        ("lf none", "ERROR: There is no function 'none'"),
        ("lf loos", "ERROR: There is no function 'loos'; did you mean 'loss'?"),
    ],
)
def test_a_wrong_line_is_an_error_of_one_line(opened, line, message):
    assert error_of(opened["small"].answer(line)).startswith(message)


def test_a_filter_that_reads_values_cannot_choose_executions(opened):
    shell = opened["good"]
    shell.filters.add("mine", lambda datum, value: True)
    assert error_of(shell.answer("le -f mine")).startswith(
        "ERROR: 'mine' reads values, which `lt -f mine` does"
    )


# Settings.


def test_a_setting_is_shown_changed_and_kept(tmp_path):
    file = tmp_path / "new" / "shell.json"
    shell = Shell(COMMANDS, None, settings=Settings(file))
    answer = shell.answer("config")
    assert lines_of(answer)[1].startswith("  graph_recursion_depth: 20 ")
    assert links_of(answer)["mouse_mode: True"] == "config set mouse_mode False"
    assert not file.exists()
    lines_of(shell.answer("cfg set graph_recursion_depth 7"))
    assert json.loads(file.read_text()) == {"graph_recursion_depth": 7, "mouse_mode": True}
    assert Settings(file)["graph_recursion_depth"] == 7
    assert len(lines_of(shell.answer("config show mouse_mode"))) == 3


def test_settings_of_another_version_stay_in_the_file(tmp_path):
    file = tmp_path / "shell.json"
    file.write_text('{"colour": "red", "mouse_mode": false}')
    settings = Settings(file)
    assert (settings["mouse_mode"], settings.problem) == (False, None)
    settings.set("mouse_mode", "on")
    assert json.loads(file.read_text())["colour"] == "red"


@pytest.mark.parametrize(
    "content", ["", "{", "[]", "[" * 100_000, '{"mouse_mode": 7}', '{"graph_recursion_depth": "x"}', "\udcff"]
)
def test_a_damaged_file_of_settings_is_one_line_and_the_defaults_hold(tmp_path, content):
    file = tmp_path / "shell.json"
    file.write_bytes(content.encode("utf-8", "surrogateescape"))
    settings = Settings(file)
    assert (settings["mouse_mode"], settings["graph_recursion_depth"]) == (True, 20)
    assert settings.problem is not None and "\n" not in settings.problem
    last = screen(Shell(COMMANDS, None, settings=settings).answer("config")).lines[-1]
    assert (text_of(last), last[0].style) == (settings.problem, Style.ERROR)


def test_a_file_in_the_place_of_the_folder_is_one_line(tmp_path):
    (tmp_path / "taken").write_text("")
    settings = Settings(tmp_path / "taken" / "shell.json")
    settings.set("mouse_mode", "off")
    assert settings["mouse_mode"] is False and "\n" not in str(settings.problem)


def test_the_file_of_the_user_is_in_the_folder_of_settings(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert user_file() == tmp_path / "tb_debugger_plugin" / "shell.json"
    monkeypatch.delenv("XDG_CONFIG_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert user_file() == tmp_path / ".config" / "tb_debugger_plugin" / "shell.json"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "config set graph_recursion_depth 0",
            "ERROR: graph_recursion_depth cannot be '0': give a whole number",
        ),
        ("config set graph_recursion_depth x", "ERROR: graph_recursion_depth cannot be 'x': "),
        ("config set mouse_mode 7", "ERROR: mouse_mode cannot be '7': give true or false."),
        (
            "config set colour red",
            "ERROR: There is no setting 'colour'; there is graph_recursion_depth, mouse_mode.",
        ),
        ("config set mouse_mode", "ERROR: config set needs the name and the value of a setting."),
        ("config show colour", "ERROR: There is no setting 'colour'"),
        ("config drop", "ERROR: config can `show [NAME]`, and `set NAME VALUE`."),
    ],
)
def test_a_wrong_setting_is_an_error_of_one_line(line, message):
    assert error_of(Shell(COMMANDS, None).answer(line)).startswith(message)


# help and version.


def test_help_lists_the_commands_in_groups(opened, stopped):
    lines = lines_of(opened["small"].answer("help"))
    assert {"Tensors and values", "The graphs", "Source lines and times"} <= set(lines)
    assert not any(line.strip().startswith("run, r ") for line in lines)
    assert any(line.strip().startswith("run, r ") for line in lines_of(stopped().answer("help")))


def test_every_example_can_be_parsed():
    for command in _COMMANDS:
        for example in command.examples:
            words = Shell(COMMANDS, None).command(example.split()[0])
            assert words is command, example


def test_version_names_the_tensorflow_of_the_recording(opened):
    assert "the recording: TensorFlow 2.21.0" in lines_of(opened["small"].answer("version"))
    assert len(lines_of(Shell(COMMANDS, None).answer("ver"))) == 2


def test_version_names_the_tensorflow_of_the_program_that_is_stopped(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorflow", SimpleNamespace(__version__="2.99.0"))
    shell = Shell(COMMANDS, None)
    assert not any("TensorFlow" in line for line in lines_of(shell.answer("ver")))
    shell.look_at(None, Call(1, "Session.run()", is_over=False))
    assert "the program: TensorFlow 2.99.0" in lines_of(shell.answer("ver"))


@pytest.mark.parametrize("command", _COMMANDS, ids=lambda command: command.name)
def test_each_command_explains_itself(command):
    answer = Shell(COMMANDS, None).answer(f"help '{command.name}'")
    assert isinstance(answer, Screen) and not answer.is_error and len(answer.lines) > 1


# `tbdbg shell`.


@pytest.fixture
def tbdbg_shell(monkeypatch, capsys, tmp_path):
    """Runs `tbdbg shell` with typed lines; returns its exit code, output and errors."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))

    def run(folder: Path, *arguments: str, typed: str = "") -> tuple[int, str, str]:
        monkeypatch.setattr("sys.stdin", io.StringIO(typed))
        code = main(["shell", str(folder), *arguments])
        return (code, *capsys.readouterr())

    return run


def test_the_shell_of_several_runs_opens_with_their_list(tbdbg_shell, tmp_path):
    for name in ("one", "two"):
        small_program(tmp_path / "logs" / name).close()
    code, out, err = tbdbg_shell(tmp_path / "logs", typed="lf\nruns two\nlf\n")
    assert (code, err) == (0, "")
    assert out.startswith("2 run(s); `runs NAME` opens one:")
    assert out.index("choose one with `runs NAME`") < out.index("Run two") < out.index("2 function(s):")


def test_the_shell_of_one_run_opens_with_what_it_holds(tbdbg_shell, tmp_path):
    small_program(tmp_path / "logs").close()
    assert tbdbg_shell(tmp_path / "logs")[1].startswith("Run .")
    assert tbdbg_shell(tmp_path / "logs", "-c", "ni Lgo")[0] == 1


def test_the_shell_of_a_folder_without_runs_ends_with_a_sentence(tbdbg_shell, tmp_path):
    (tmp_path / "logs" / "run_1_0").mkdir(parents=True)
    (tmp_path / "logs" / "run_1_0" / "notes.txt").write_text("no dump")
    for folder in (tmp_path / "logs", tmp_path / "logs" / "run_1_0"):
        code, out, err = tbdbg_shell(folder)
        assert (code, out) == (1, "") and "holds no debug events" in err
    assert tbdbg_shell(tmp_path / "nothing")[0] == 1


def test_a_damaged_file_of_settings_does_not_keep_the_shell_from_opening(tbdbg_shell, tmp_path):
    small_program(tmp_path / "logs").close()
    (tmp_path / "config" / "tb_debugger_plugin").mkdir(parents=True)
    (tmp_path / "config" / "tb_debugger_plugin" / "shell.json").write_text("{")
    code, out, err = tbdbg_shell(tmp_path / "logs", typed="config\n")
    assert code == 0 and "graph_recursion_depth: 20" in out and err.count("\n") == 1
