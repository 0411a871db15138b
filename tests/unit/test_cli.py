"""The command `tbdbg`, by its output and exit codes."""

from __future__ import annotations

import json

import pytest

from tb_debugger_plugin.cli.main import main
from tb_debugger_plugin.events.text import event_lines
from tests.support.events import Recording, small_program


def test_info_shows_each_run(tmp_path, capsys):
    small_program(tmp_path / "one", recorder_version="0.1", tensor_debug_mode=4).close()
    small_program(tmp_path / "two", host="worker7").close()
    assert main(["info", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    for word in ("one", "two", "worker0", "worker7", "FULL_HEALTH", "1970-01-01", "tb-debugger-plugin 0.1"):
        assert word in text


def test_info_as_json_says_the_same(tmp_path, capsys):
    small_program(tmp_path / "one").close()
    assert main(["info", str(tmp_path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["one"]
    assert (found["num_executions"], found["num_graph_executions"], found["num_alerts"]) == (4, 8, 8)
    assert (found["hosts"], found["tensor_debug_mode"]) == (["worker0"], "FULL_HEALTH")
    assert found["start_time"] < found["end_time"]


def test_info_shows_damage_and_times_that_no_calendar_has(tmp_path, capsys):
    recording = Recording(tmp_path, start=1e15)
    recording.close()
    recording.files.path("execution").write_bytes(b"damaged, and more than a header long")
    assert main(["info", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert "1000000000000000.0" in text and ".execution at 0: Damaged file" in text


def test_dump_prints_each_record_of_a_folder_or_a_file(tmp_path, capsys):
    recording = small_program(tmp_path, steps=1)
    recording.close()
    assert main(["dump", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert text.count("graph_execution_trace:") == 4 and "float64[11] [11.0, -1.0, 1.0, 2.0, 2.0, 1.0" in text
    assert main(["dump", str(recording.files.path("execution"))]) == 0
    text = capsys.readouterr().out
    assert text.count("  execution:") == 2 and "#0 execution at 0" in text


def test_dumps_of_two_recordings_of_one_program_are_equal_when_normalized(tmp_path, capsys):
    texts = []
    for name, start, host in (("a", 10.0, "x"), ("b", 99.0, "y")):
        small_program(tmp_path / name, start=start, host=host).close()
        assert main(["dump", "--normalize", str(tmp_path / name)]) == 0
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1] and "TIME" in texts[0]


def test_a_dump_shows_where_a_file_is_damaged_or_unfinished(tmp_path, capsys):
    recording = small_program(tmp_path, steps=1)
    recording.close()
    path = recording.files.path("execution")
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    main(["dump", str(path)])
    assert "! unfinished record at" in capsys.readouterr().out
    path.write_bytes(b"x" + whole[1:])
    main(["dump", str(path)])
    assert "! damaged at 0: the checksum of a record's length is wrong" in capsys.readouterr().out


@pytest.mark.parametrize("verb", ["info", "dump"])
def test_a_folder_without_events_is_an_error_with_a_sentence(tmp_path, capsys, verb):
    assert main([verb, str(tmp_path)]) == 1
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.startswith("tbdbg: ") and captured.err.count("\n") == 1


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
