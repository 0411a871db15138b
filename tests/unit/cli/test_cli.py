"""`cli`: the output and the exit codes of the command `tbdbg`."""

from __future__ import annotations

import json
import math
import shutil
import sys
from contextlib import closing

import duckdb
import numpy as np
import pytest

from tb_debugger_plugin.analysis.lists.views import VIEWS
from tb_debugger_plugin.cli.main import main
from tb_debugger_plugin.events.modes import TensorDebugMode
from tb_debugger_plugin.events.text import event_lines
from tb_debugger_plugin.index.cache import database_path, databases
from tb_debugger_plugin.index.runs import find_runs
from tb_debugger_plugin.index.schema import TABLES
from tests.support.events import Recording, full_health, loaded, small_program, values_program
from tests.support.numerics import training


def test_info_shows_each_run(tmp_path, tbdbg):
    small_program(tmp_path / "one", recorder_version="0.1", tensor_debug_mode=4).close()
    small_program(tmp_path / "two", host="worker7", run_id="run2").close()
    text = tbdbg("info", tmp_path)
    for word in ("one", "two", "worker0", "worker7", "FULL_HEALTH", "1970-01-01", "tb-debugger-plugin 0.1"):
        assert word in text


def test_info_says_processes_where_two_are_on_one_machine(tmp_path, tbdbg):
    for pid in (7, 8):
        small_program(tmp_path / f"part{pid}", run_id="job", process_id=pid).close()
    text = tbdbg("info", tmp_path)
    assert "processes         worker0 (process 7), worker0 (process 8)" in text and "hosts" not in text


def test_info_as_json_says_the_same(tmp_path, tbdbg):
    small_program(tmp_path / "one").close()
    answer = tbdbg.json("info", tmp_path)["one"]
    assert (answer["num_executions"], answer["num_graph_executions"], answer["num_alerts"]) == (4, 8, 8)
    assert (answer["hosts"], answer["tensor_debug_mode"]) == (["worker0"], "FULL_HEALTH")
    assert answer["start_time"] < answer["end_time"]


def test_info_counts_what_a_circular_buffer_dropped(tmp_path, tbdbg):
    recording = small_program(tmp_path, recorder_version="0.1", circular_buffer_size=3)
    recording.counts(10, 2000, finished=True)
    text = tbdbg("info", recording.close())
    assert "dropped by the buffer" in text and "6 executions, 1992 graph executions" in text
    assert "kept by the buffer: the last 3, and 1 executions and 5 graph executions around first bad" in text


def test_info_shows_damage_and_times_that_no_calendar_has(tmp_path, tbdbg):
    recording = Recording(tmp_path, start=1e15)
    recording.close()
    recording.files.path("execution").write_bytes(b"damaged, and more than a header long")
    text = tbdbg("info", tmp_path)
    assert "1000000000000000.0" in text and ".execution at 0: Damaged file" in text


def test_dump_prints_each_record_of_a_folder_or_a_file(tmp_path, tbdbg):
    recording = small_program(tmp_path, steps=1)
    text = tbdbg("dump", recording.close())
    assert text.count("graph_execution_trace:") == 4 and " tensor_id=11.0 device_id=-1.0 dtype=1.0" in text
    text = tbdbg("dump", recording.files.path("execution"))
    assert text.count("  execution:") == 2 and "#0 execution at 0" in text


def test_dumps_of_two_recordings_of_one_program_are_equal_when_normalized(tmp_path, tbdbg):
    texts = []
    for name, start, host in (("a", 10.0, "x"), ("b", 99.0, "y")):
        small_program(tmp_path / name, start=start, host=host).close()
        texts.append(tbdbg("dump", "--normalize", tmp_path / name))
    assert texts[0] == texts[1] and "TIME" in texts[0]


def test_a_dump_shows_where_a_file_is_damaged_or_unfinished(tmp_path, tbdbg):
    recording = small_program(tmp_path, steps=1)
    recording.close()
    path = recording.files.path("execution")
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    assert "! unfinished record at" in tbdbg("dump", path)
    path.write_bytes(b"x" + whole[1:])
    assert "! damaged at 0: the checksum of a record's length is wrong" in tbdbg("dump", path)


@pytest.mark.parametrize("argv", [[], ["nonsense"], ["info"]])
def test_a_wrong_command_line_exits_with_2(argv, capsys):
    with pytest.raises(SystemExit) as exit_:
        main(argv)
    assert exit_.value.code == 2 and "usage: tbdbg" in capsys.readouterr().err


def test_repeated_fields_and_bytes_have_a_form_in_the_dump(tmp_path):
    recording = Recording(tmp_path)
    event = recording.event()
    event.debugged_graph.graph_id = "g"
    event.debugged_graph.original_graph_def = b"12345"
    event.debugged_graph.instrumented_ops.extend(["a", "b"])
    recording.close()
    lines = event_lines(event)
    assert "    original_graph_def: <5 bytes>" in lines and "    instrumented_ops: 'a', 'b'" in lines


def test_index_builds_tables_and_brings_them_up_to_date(tmp_path, tbdbg):
    recording = small_program(tmp_path, steps=1)
    assert "2 executions, 4 graph executions" in tbdbg("index", tmp_path)
    recording.trace("g1", "Log", full_health([1.0]))
    answer = tbdbg.json("index", recording.close())["."]
    assert (answer["executions"], answer["graph_executions"], answer["bad_graph_executions"]) == (2, 5, 3)
    assert answer["database"] == str(database_path(find_runs(tmp_path)[0]))
    assert answer["bytes"] == sum(path.stat().st_size for path in tmp_path.iterdir())


def test_index_shows_how_far_it_is_where_somebody_looks(tmp_path, tbdbg, monkeypatch):
    small_program(tmp_path / "long_run").close()
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    said = tbdbg.said("index", tmp_path, "--json", code=0)
    size = sum(path.stat().st_size for path in (tmp_path / "long_run").iterdir()) / 1000
    assert "long_run" in said.err and f"{size:.1f}/{size:.1f} kB" in said.err
    assert json.loads(said.out)["long_run"]["executions"] == 4


def test_index_says_when_another_viewer_keeps_the_tables(small_run, tbdbg):
    with closing(loaded(small_run)):
        assert tbdbg.json("index", small_run)["."]["database"] is None
        assert "another program has the tables open" in tbdbg("index", small_run)


def test_sql_answers_a_query_with_rows(tmp_path, tbdbg):
    small_program(tmp_path, steps=1).close()
    query = "SELECT name, nan FROM graph_executions JOIN sites USING (site) JOIN ops USING (op) ORDER BY idx"
    assert tbdbg("sql", tmp_path, query).splitlines() == [
        "name\tnan",
        "x\t0.0",
        "Log\t0.0",
        "mul\t1.0",
        "Mean\t1.0",
    ]
    assert tbdbg.json("sql", tmp_path, f"{query} LIMIT 1") == [{"name": "x", "nan": 0.0}]
    odd = "SELECT 'nan'::DOUBLE AS a, NULL AS b, [1, 2] AS c, DATE '2026-01-02' AS d, {'x': 1} AS e"
    assert tbdbg.json("sql", tmp_path, odd) == [
        {"a": None, "b": None, "c": [1, 2], "d": "2026-01-02", "e": {"x": 1}}
    ]


def test_sql_shows_names_of_a_log_as_they_are_but_controls_nothing(tmp_path, tbdbg):
    recording = small_program(tmp_path, steps=0)
    recording.op("g1", "\x1b[2J[red]\ta\nb", "Evil")
    assert tbdbg("sql", recording.close(), "SELECT name FROM ops WHERE type = 'Evil'").splitlines() == [
        "name",
        "\\x1b[2J[red]\\ta\\nb",
    ]


def test_sql_needs_to_know_which_run(tmp_path, tbdbg):
    small_program(tmp_path / "one").close()
    small_program(tmp_path / "two").close()
    query = "SELECT count(*) AS n FROM graph_executions"
    assert "'one' and 'two'" in tbdbg.error("sql", tmp_path, query)
    assert tbdbg.json("sql", tmp_path, query, "--run", "two") == [{"n": 8}]
    assert "'three'" in tbdbg.error("sql", tmp_path, query, "--run", "three")


def test_export_writes_every_table_of_every_run(tmp_path, tbdbg):
    small_program(tmp_path / "logs" / "one").close()
    small_program(tmp_path / "logs" / "two", steps=1).close()
    out = tmp_path / "it's out"
    answer = tbdbg.json("export", tmp_path / "logs", "--parquet", out)
    assert set(answer) == {"one", "two"} and set(answer["one"]["rows"]) == {*TABLES, *VIEWS}
    assert {path.stem for path in (out / "two").glob("*.parquet")} == {*TABLES, *VIEWS}
    with duckdb.connect() as connection:
        read = (
            f"SELECT idx, health FROM '{str(out).replace(chr(39), chr(39) * 2)}/one/graph_executions.parquet'"
        )
        assert connection.execute(read).fetchall() == [(n, 1 if n % 4 == 0 else 2) for n in range(8)]
    assert answer["one"]["rows"]["graph_executions"] == 8


def test_export_to_where_nothing_can_be_written_fails(tmp_path, tbdbg):
    small_program(tmp_path / "logs").close()
    (tmp_path / "file").touch()
    assert "cannot be written" in tbdbg.error("export", tmp_path / "logs", "--parquet", tmp_path / "file")


def test_clean_deletes_tables_and_leaves_event_files(tmp_path, tbdbg, monkeypatch):
    monkeypatch.setenv("TB_DEBUGGER_CACHE", str(tmp_path / "cache"))
    for name in ("one", "two"):
        small_program(tmp_path / name).close()
        assert main(["index", str(tmp_path / name)]) == 0
    (one,) = find_runs(tmp_path / "one")
    answer = tbdbg.json("clean", tmp_path / "one")
    assert answer["deleted"] == [str(database_path(one))] and answer["bytes"] > 0
    assert len(list((tmp_path / "cache").glob("*.duckdb"))) == 1
    assert tbdbg("clean").startswith("1 deleted")
    assert not list((tmp_path / "cache").iterdir()) and find_runs(tmp_path / "one")
    assert main(["clean"]) == 0


def test_clean_says_what_it_would_delete_and_also_finds_runs_that_are_gone(tmp_path, tbdbg, monkeypatch):
    monkeypatch.setenv("TB_DEBUGGER_CACHE", str(tmp_path / "cache"))
    for name in ("logs/one", "logs/two", "logs2"):
        small_program(tmp_path / name).close()
        assert main(["index", str(tmp_path / name)]) == 0
    shutil.rmtree(tmp_path / "logs" / "two")
    paths = {one.folder: str(one.path) for one in databases()}
    answer = tbdbg.json("clean", tmp_path / "logs", "--dry-run")
    logs = {paths[str(tmp_path / "logs" / name)] for name in ("one", "two")}
    assert set(answer["would_delete"]) == logs and answer["bytes"] > 0
    *lines, last = tbdbg("clean", "--dry-run").splitlines()
    assert last.startswith("3 would be deleted, ") and last.endswith("The cache may hold 2147.5 MB.")
    assert [line.split(None, 4)[4] for line in lines] == [
        str(tmp_path / "logs" / "one"),
        f"{tmp_path / 'logs' / 'two'} (gone)",
        str(tmp_path / "logs2"),
    ]
    assert len(databases()) == 3
    assert set(tbdbg.json("clean", tmp_path / "logs")["deleted"]) == logs
    assert [one.folder for one in databases()] == [str(tmp_path / "logs2")]


def test_clean_leaves_what_a_viewer_has_open(tmp_path, tbdbg, monkeypatch):
    monkeypatch.setenv("TB_DEBUGGER_CACHE", str(tmp_path / "cache"))
    small_program(tmp_path / "logs").close()
    with closing(loaded(tmp_path / "logs")):
        assert len(json.loads(tbdbg("clean", "--json", code=1))["in_use"]) == 1
    assert main(["clean"]) == 0
    (tmp_path / "cache" / f"{0:032}.duckdb").write_bytes(b"not a database" * 100)
    assert main(["clean"]) == 0
    assert not list((tmp_path / "cache").iterdir())


@pytest.mark.parametrize("verb", ["info", "dump", "index", "sql", "export", "clean"])
def test_a_verb_that_looks_at_recordings_speaks_json(tmp_path, tbdbg, verb):
    small_program(tmp_path / "logs").close()
    more = {"sql": ["SELECT 1 AS n"], "export": ["--parquet", str(tmp_path / "out")]}.get(verb, [])
    text = tbdbg(verb, tmp_path / "logs", *more, "--json")
    assert json.loads(text if verb != "dump" else text.splitlines()[0], parse_constant=pytest.fail)


def test_dump_as_json_has_an_object_for_each_record_and_each_damage(tmp_path, tbdbg):
    recording = small_program(tmp_path, steps=1)
    recording.trace("g1", "Log", full_health([float("nan")]), at=float("inf"))
    recording.close()
    path = recording.files.path("execution")
    path.write_bytes(path.read_bytes()[:-1])
    answer = [
        json.loads(line, parse_constant=pytest.fail)
        for line in tbdbg("dump", tmp_path, "--json").splitlines()
    ]
    traces = [one for one in answer if "graph_execution_trace" in one.get("event", {})]
    assert len(traces) == 5 and traces[0]["offset"] == 0 and traces[-1]["event"]["wall_time"] == "Infinity"
    assert traces[1]["event"]["graph_execution_trace"]["op_name"] == "Log"
    (damaged,) = [one for one in answer if "damage" in one]
    assert (damaged["file"], damaged["damage"]) == (path.name, "an unfinished record")
    assert main(["dump", str(tmp_path), "--json", "--normalize"]) == 1


def test_a_log_does_not_move_the_cursor(tmp_path, tbdbg):
    folder = tmp_path / "a\x1b[2Jb"
    recording = small_program(folder, host="h\x07", host_name="h\x07\nother", recorder_version="\x1b]0;x\x07")
    recording.counts(1, 1, finished=True, failure="\rgood")
    recording.close()
    recording.files.path("execution").write_bytes(b"damaged, and more than a header long")
    (tmp_path / "out").mkdir()
    for words in (["info"], ["index"], ["export", "--parquet", str(tmp_path / "out")], ["dump"]):
        path = str(folder if words == ["dump"] else tmp_path)
        text = tbdbg(words[0], path, *words[1:])
        assert text and not [letter for letter in text if not letter.isprintable() and letter != "\n"], words
    assert "\x1b" not in tbdbg.error("info", tmp_path / "\x1b[2J")


def test_a_file_that_may_not_be_read_is_an_error_with_a_sentence(tmp_path, tbdbg, monkeypatch):
    def refuse(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("tb_debugger_plugin.cli.dump.dump_file", lambda path, _: refuse(path))
    (tmp_path / "file").touch()
    assert tbdbg.error("dump", tmp_path / "file").startswith("tbdbg: [Errno 13] Permission denied")


#: The recordings of these tests seem to be TensorFlow's own.
_DOUBT = (
    "  TensorFlow's own recorder leaves out arguments of functions and outermost backward graphs, and does"
    " not say what its circular buffer dropped.\n"
)


def test_why_explains_the_first_bad_value_of_each_run(tmp_path, tbdbg):
    small_program(tmp_path / "bad").close()
    small_program(tmp_path / "good", steps=0).close()
    small_program(tmp_path / "blind", steps=0, tensor_debug_mode=TensorDebugMode.SHAPE).close()
    assert tbdbg("why", tmp_path) == (
        "bad\n"
        "  First bad value: Log in loss, train.py:3\n"
        "  Log (tensor Log:0 in function loss) produced 1 −∞ out of 2 values.\n"
        "  Its input x:0 held 1 zero: the logarithm of 0 is −∞.\n"
        "  This was in step 0.\n"
        "  train.py:3 return tf.math.log(x)\n"
        "  Where the factor is 0, the product is meant to be 0, but 0 · ∞ is NaN: tf.math.xlogy gives 0"
        " there.\n"
        "  Example: tf.math.xlogy(y, p)\n"
        "  Alerts: 8 NaN/∞\n"
        "\n"
        "blind\n"
        "  NaN and infinity were not measured\n"
        "  This run was recorded in mode SHAPE, which does not measure NaN and infinity. Record with"
        ' tensor_debug_mode="FULL_HEALTH" to find them.\n'
        f"{_DOUBT}"
        "\n"
        "good\n"
        "  Nothing is on record\n"
        "  Nothing has been recorded yet.\n"
        f"{_DOUBT}"
    )


def test_why_does_not_say_that_there_is_no_alert_where_rules_are_broken(tmp_path, tbdbg):
    training(tmp_path / "dead", [{"Relu": [0.0, 0.0]}] * 4).close()
    training(tmp_path / "low", [{"Relu": [0.0, 0.0]}, *[{"Relu": [1.0, 2.0]}] * 4]).close()
    assert tbdbg("why", tmp_path) == (
        "dead\n"
        "  Alert rules found 1 alert above low\n"
        "  The most urgent one is Dead ReLU: 100 % inactive in Relu:0, train.py:2.\n"
        f"  `tbdbg alerts {tmp_path / 'dead'}` lists them.\n"
        "  No NaN and no infinity in what was recorded so far.\n"
        f"{_DOUBT}"
        "\n"
        "low\n"
        "  No NaN and no infinity in what was recorded so far\n"
        "  All that so far is on record was finite wherever it was measured: 5 executions and 5 tensors in"
        " graphs.\n"
        f"{_DOUBT}"
    )
    (tmp_path / "dead" / "tbdbg_allow.toml").write_text(
        '[[allow]]\nrule = "DeadReluAlert"\nreason = "It is meant."\n'
    )
    assert "finite wherever it was measured: 4 executions" in tbdbg("why", tmp_path, "--run", "dead")


def test_why_says_that_all_bad_values_are_expected(tmp_path, tbdbg):
    recording = small_program(tmp_path, steps=0)
    recording.op("g1", "mask", "Const", ids=[20])
    recording.trace("g1", "mask", full_health([-math.inf, 0.0]))
    recording.execution("__inference_loss_7", [full_health([1.0])], graph_id="g1")
    assert tbdbg("why", recording.close()) == (
        ".\n"
        "  All bad values are expected in what was recorded so far\n"
        "  No NaN and no infinity in what was recorded so far does harm: `tbdbg origins` says why.\n"
        f"{_DOUBT}"
        "  Alerts: 1 NaN/∞\n"
    )


def test_why_says_what_swallowed_a_value_that_no_result_shows(tmp_path, tbdbg):
    recording = small_program(tmp_path, steps=0)
    recording.op("g1", "root", "Sqrt", ["x:0"], ids=[20], outputs=[(1, [])])
    recording.op("g1", "level", "Cast", ["root:0"], ids=[21], outputs=[(3, [])])
    recording.op("g1", "Identity_9", "Identity", ["level:0"], ids=[22], outputs=[(3, [])])
    recording.trace("g1", "x", full_health([-1.0]))
    recording.trace("g1", "root", full_health([math.nan]))
    recording.execution("__inference_loss_7", [full_health([1.0])], graph_id="g1")
    lines = tbdbg("why", recording.close()).splitlines()
    assert lines[1].startswith("  First bad value: Sqrt")
    assert lines[2] == "  No result shows it. Cast: the integer of a NaN is undefined."
    assert tbdbg("origins", tmp_path).splitlines()[1].startswith("  Swallowed of NaN: Sqrt")


def test_why_calls_nothing_expected_whose_origin_is_not_known(tmp_path, tbdbg, monkeypatch):
    recording = small_program(tmp_path, steps=0)
    recording.op("g1", "mask", "Const", ids=[20])
    recording.trace("g1", "mask", full_health([-math.inf, 0.0]))
    recording.close()
    monkeypatch.setattr("tb_debugger_plugin.analysis.verdict.origins", lambda _: [])
    said = tbdbg("why", tmp_path)
    assert "Bad values are on record, but not where they come from\n" in said and "expected" not in said


def test_origins_prints_the_way_back_to_the_birth(small_run, tbdbg):
    lines = tbdbg("origins", small_run).splitlines()
    assert lines[1] == "  Origin of ∞: Log in loss, train.py:3"
    assert lines[-4:] == [
        "      loss took it as an input, train.py:3, step 0",
        "      Mean was returned by the function, train.py:3, step 0",
        "      Mul took it as an input, train.py:3, step 0",
        "      Log took it as an input, train.py:3, step 0",
    ]


def test_why_prints_one_run_as_json_and_names_what_is_not_recorded(tmp_path, tbdbg):
    recording = small_program(tmp_path / "one")
    recording.not_recorded(1, "The debugger does not watch f.", "f")
    recording.close()
    small_program(tmp_path / "two").close()
    answer = tbdbg.json("why", tmp_path, "--run", "one")
    assert list(answer) == ["one"]
    assert answer["one"]["diagnosis"]["headline"] == "Log in loss, train.py:3"
    assert answer["one"]["alerts_breakdown"] == {"InfNanAlert": 8}
    assert answer["one"]["not_recorded"][0]["names"] == ["f"]
    assert "  Not recorded: The debugger does not watch f.\n" in tbdbg("why", tmp_path, "--run", "one")


def test_value_prints_a_slice_or_its_statistics(tmp_path, tbdbg):
    values_program(tmp_path).close()
    assert (
        tbdbg("value", tmp_path, "Log:0", "--occurrence", "0", "--slice", "[0, :2]")
        == "Log:0  float32 [2, 3]\n[  0. -inf]\n"
    )
    assert "'a b' 'é' b'\\xff'" in tbdbg("value", tmp_path, "--execution", "6")
    text = tbdbg("value", tmp_path, "Log", "--statistics")
    assert "size" in text and "nan       1" in text and "max       1.38629" in text


def test_value_speaks_json_and_saves_for_numpy(tmp_path, tbdbg):
    values_program(tmp_path / "log").close()
    logdir = str(tmp_path / "log")
    facts = tbdbg.json("value", logdir, "--graph_execution", "1", "--slice", "0")
    assert (facts["name"], facts["is_kept"], facts["elements"]) == ("Log:0", True, ["0.0", "-inf", "nan"])
    assert main(["value", logdir, "Log", "--save", str(tmp_path / "log.npy")]) == 0
    assert np.load(tmp_path / "log.npy").shape == (2, 3)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "Give the name of a tensor, --graph_execution or --execution."),
        (["Sin"], "No tensor Sin is recorded; there is 'Log', 'x'."),
        (["Log", "--slice", "7"], "Index 7 is out of range for axis 0"),
        (["--execution", "6", "--slot", "2"], "more than the recording keeps"),
        (["--execution", "6", "--save", "x.npy"], "Strings have no place"),
    ],
)
def test_value_fails_with_a_sentence(tmp_path, tbdbg, words, said):
    values_program(tmp_path).close()
    assert said in tbdbg.error("value", tmp_path, *words)
