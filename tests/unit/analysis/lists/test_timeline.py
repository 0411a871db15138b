"""`analysis/lists/timeline.py`: rows and counts of each thread in a window, bad rows, durations and steps."""

from __future__ import annotations

import itertools
import random

import pytest

from tb_debugger_plugin.analysis.lists.timeline import AXES, timeline
from tb_debugger_plugin.errors import BadQueryError
from tests.support.events import TICK, Recording, full_health, small_program, snapshot_of

NAN = float("nan")


def lanes_of(answer):
    """The lanes of all threads, by thread and list."""
    return {(track["thread"], lane["list"]): lane for track in answer["tracks"] for lane in track["lanes"]}


def test_calls_are_around_what_ran_inside_them(tmp_path):
    small_program(tmp_path).close()
    with snapshot_of(tmp_path) as snapshot:
        answer = timeline(snapshot, "sequence", 20)
    lanes = lanes_of(answer)
    calls, ops = lanes["MainThread", "executions"], lanes["MainThread", "graph_executions"]
    assert calls["bins"] is None
    assert calls["rows"]["name"] == ["Fill", "__inference_loss_7"] * 2
    assert list(zip(calls["rows"]["begin"], calls["rows"]["end"], strict=True)) == [
        *((0, 1), (1, 6), (6, 7), (7, 12))
    ]
    assert calls["rows"]["bad"] == [False, True] * 2
    assert ops["rows"]["name"] == ["x", "Log", "mul", "Mean"] * 2
    assert ops["rows"]["type"] == ["Placeholder", "Log", "Mul", "Mean"] * 2
    assert ops["rows"]["begin"] == [1, 2, 3, 4, 7, 8, 9, 10]
    assert ops["rows"]["bad"] == [False, True, True, True] * 2
    assert answer["steps"] == [{"host": "worker0", "step": [0, 1], "end": [6, 12]}]


def test_a_call_begins_at_the_end_of_the_one_before_in_its_thread(tmp_path):
    with Recording(tmp_path) as recording:
        for thread in (0, 1, 0):
            recording.execution("Fill", [full_health([1.0])], ids=[thread], thread=thread)
    with snapshot_of(tmp_path) as snapshot:
        answer = timeline(snapshot, "time", 20)
    first, second = (track["lanes"][0]["rows"] for track in answer["tracks"])
    assert (first["position"], second["position"]) == ([0, 2], [1])
    assert first["begin"][1] == first["end"][0]
    assert first["end"][1] - first["begin"][1] == pytest.approx(2 * TICK)
    # The begin of the first one is not known.
    assert second["begin"] == second["end"]


def test_ops_are_in_the_thread_that_called(tmp_path):
    with Recording(tmp_path) as recording:
        for number, name in enumerate(("MainThread", "other")):
            recording.thread(number, name)
            recording.graph(f"g{number}", f"f{number}")
            recording.op(f"g{number}", "Log", "Log", ids=[10 + number])
        recording.trace("g1", "Log", full_health([NAN]))
        recording.trace("g0", "Log", full_health([1.0]))
        for number in (0, 1):
            recording.execution(f"__inference_f{number}_7", graph_id=f"g{number}", thread=number)
    with snapshot_of(tmp_path) as snapshot:
        lanes = lanes_of(timeline(snapshot, "time", 20))
    assert lanes["MainThread", "graph_executions"]["rows"]["position"] == [1]
    assert lanes["other", "graph_executions"]["rows"]["position"] == [0]
    assert lanes["other", "executions"]["rows"]["bad"] == [True]


@pytest.mark.parametrize("axis", AXES)
def test_parts_of_a_window_count_its_rows_and_name_the_first_bad_one(tmp_path, axis):
    chance = random.Random(7)
    order = []
    with Recording(tmp_path) as recording:
        recording.graph("g1", "loss")
        recording.op("g1", "Log", "Log", ids=[10])
        for _ in range(400):
            is_bad = chance.random() < 0.02
            order.append(is_bad)
            recording.trace("g1", "Log", full_health([NAN if is_bad else 1.0]))
            if chance.random() < 0.1:
                order.append(None)
                recording.execution("__inference_loss_7", graph_id="g1")
    with snapshot_of(tmp_path) as snapshot:
        whole = timeline(snapshot, axis, 4)
        begin = whole["first"] + (whole["last"] - whole["first"]) / 3
        answer = timeline(snapshot, axis, 10, begin, whole["last"])
        times = snapshot.columns("SELECT wall_time FROM graph_executions ORDER BY idx")["wall_time"].tolist()
    places = [place + 1 for place, is_bad in enumerate(order) if is_bad is not None]
    health = [is_bad for is_bad in order if is_bad is not None]
    width = (answer["end"] - begin) / 10
    wanted = {}
    for position, (is_bad, time, place) in enumerate(zip(health, times, places, strict=True)):
        # A row of the sequence takes a place, and is in the part where the place begins.
        at = time if axis == "time" else place - 1
        if at < begin:
            continue
        part = min(int((at - begin) / width), 9)
        count, bad, first = wanted.get(part, (0, 0, None))
        wanted[part] = (count + 1, bad + is_bad, position if is_bad and first is None else first)
    lane = lanes_of(answer)[None, "graph_executions"]
    bins = lane["bins"]
    found = zip(bins["count"], bins["bad"], bins["first_bad"], strict=True)
    assert dict(zip(bins["bin"], found, strict=True)) == wanted
    assert lane["total"] == sum(count for count, _, _ in wanted.values())
    assert sum(bins["bad"]) > 0


def test_calls_that_are_wider_than_a_part_are_shown_among_many_short_ones(tmp_path):
    with Recording(tmp_path) as recording:
        for number in range(50):
            recording.now += 1.0 if number == 20 else 0
            recording.execution("Fill", ids=[number])
    with snapshot_of(tmp_path) as snapshot:
        (lane,) = lanes_of(timeline(snapshot, "time", 10)).values()
    assert lane["rows"]["position"] == [20]
    assert lane["rows"]["end"][0] - lane["rows"]["begin"][0] == pytest.approx(1 + TICK)
    assert sum(lane["bins"]["count"]) == 50


def test_a_call_that_surrounds_the_window_is_shown(tmp_path):
    with Recording(tmp_path) as recording:
        recording.execution("Fill", ids=[1])
        recording.now += 1
        recording.execution("Mul", ids=[2])
    with snapshot_of(tmp_path) as snapshot:
        first = timeline(snapshot, "time", 10)["first"]
        answer = timeline(snapshot, "time", 10, first + 0.4, first + 0.6)
    (lane,) = lanes_of(answer).values()
    assert (lane["total"], lane["rows"]["name"]) == (0, ["Mul"])
    assert (answer["since"], answer["until"]) == (None, None)


def test_runs_of_sessions_have_a_begin_and_an_end(tmp_path):
    with Recording(tmp_path) as recording:
        recording.graph("g1", "loss")
        recording.op("g1", "Log", "Log", ids=[10])
        for run in (1, 2):
            event = recording.session_run_event(run, error="" if run == 1 else "InvalidArgumentError")
            recording.trace("g1", "Log", full_health([1.0]), at=event.wall_time - TICK / 2)
            recording.writer.write("session_runs", event)
            recording.now += 1
    with snapshot_of(tmp_path) as snapshot:
        lanes = lanes_of(timeline(snapshot, "time", 20))
        sequence = lanes_of(timeline(snapshot, "sequence", 20))
    runs = lanes[None, "session_runs"]["rows"]
    assert runs["name"] == ["session 1, run 1", "session 1, run 2"]
    assert runs["type"] == ["", "InvalidArgumentError"]
    assert [end - begin for begin, end in zip(runs["begin"], runs["end"], strict=True)] == [
        pytest.approx(TICK)
    ] * 2
    assert lanes[None, "graph_executions"]["total"] == 2
    assert sequence[None, "session_runs"]["rows"]["begin"] == [0, 1]
    assert sequence[None, "session_runs"]["rows"]["end"] == [1, 2]


def test_timed_ops_are_in_lanes_of_their_device_and_lead_to_what_they_computed(tmp_path):
    chance = random.Random(3)
    device = "/job:localhost/replica:0/task:0/device:CPU:0"
    times = []
    with Recording(tmp_path) as recording:
        recording.graph("g1", "loss")
        for number in range(6):
            recording.op("g1", f"op{number}", "Log", ids=[10 + number])
        for run in (1, 2):
            begin = recording.now
            for number in range(6):
                recording.trace("g1", f"op{number}", full_health([NAN if (run, number) == (2, 4) else 1.0]))
            event = recording.session_run_event(run)
            event.session_run.begin_time = begin
            recording.writer.write("session_runs", event)
            # A run has one op more than the program: TensorFlow's optimizer made it.
            timed = [(f"op{number}", chance.randrange(1000), chance.randrange(900)) for number in range(7)]
            micros = int(begin * 1e6)
            rows = [(name, micros + start, 5, took, took + 9) for name, start, took in timed]
            recording.op_times(run, device, [("_SOURCE", micros, 0, 9, 9), *rows])
            times += [
                (run, name, micros + start + 5, micros + start + 5 + took) for name, start, took in timed
            ]
            recording.now += 1
    with snapshot_of(tmp_path) as snapshot:
        answer = timeline(snapshot, "time", 50)
        (counted,) = (track for track in timeline(snapshot, "time", 1)["tracks"] if track["device"])
    assert [track["device"] for track in answer["tracks"]] == [None, device]
    lanes = answer["tracks"][1]["lanes"]
    assert {lane["list"] for lane in lanes} == {"op_times"}
    found = []
    for lane in lanes:
        rows = lane["rows"]
        spans = list(zip(rows["begin"], rows["end"], strict=True))
        assert all(before[1] <= after[0] for before, after in itertools.pairwise(spans))
        found += zip(
            *(rows[name] for name in ("position", "name", "type", "begin", "end", "bad")), strict=True
        )
    wanted = []
    for run, name, begin, end in times:
        number = int(name.removeprefix("op"))
        position = 6 * (run - 1) + number if number < 6 else None
        is_bad = (run, number) == (2, 4)
        kind = "Log" if number < 6 else ""
        wanted.append((position, name, kind, pytest.approx(begin / 1e6), pytest.approx(end / 1e6), is_bad))
    by_time = sorted(found, key=lambda row: (row[1], row[3]))
    assert by_time == sorted(wanted, key=lambda row: (row[1], row[3].expected))
    # As many lanes as ops that run at once.
    most = max(sum(begin <= at < end for _, _, begin, end in times) for _, _, at, _ in times)
    assert len(lanes) == most
    assert sum(lane["total"] for lane in counted["lanes"]) == len(times)
    assert [10] == [
        one for lane in counted["lanes"] if lane["bins"] for one in lane["bins"]["first_bad"] if one
    ]


def test_of_many_steps_the_borders_of_round_numbers_are_named(tmp_path):
    with Recording(tmp_path) as recording:
        for step in range(1001):
            recording.step = step
            recording.execution("Fill", ids=[1])
    with snapshot_of(tmp_path) as snapshot:
        ((few,), (all_of_a_part,)) = (
            timeline(snapshot, "sequence", 10, *window)["steps"] for window in ((), (100, 150))
        )
    assert few["step"] == list(range(0, 1001, 20))
    assert all_of_a_part["step"] == list(range(99, 150))
    assert all_of_a_part["end"] == list(range(100, 151))


def test_the_times_of_a_window_choose_its_rows(tmp_path):
    small_program(tmp_path).close()
    with snapshot_of(tmp_path) as snapshot:
        answer = timeline(snapshot, "sequence", 1, 7, 10)
        rows = snapshot.rows(
            "SELECT idx FROM graph_executions WHERE wall_time >= ? AND wall_time < ? ORDER BY idx",
            [answer["since"], answer["until"]],
        )
    assert rows == [(4,), (5,), (6,)]


def test_an_empty_run_has_no_threads_and_a_window_needs_a_length(tmp_path):
    Recording(tmp_path / "empty").close()
    with snapshot_of(tmp_path / "empty") as snapshot:
        assert timeline(snapshot, "time", 5)["tracks"] == []
    small_program(tmp_path / "small").close()
    with snapshot_of(tmp_path / "small") as snapshot, pytest.raises(BadQueryError, match="must be after"):
        timeline(snapshot, "time", 5, 7, 7)
