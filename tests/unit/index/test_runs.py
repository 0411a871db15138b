"""`index/runs.py`: which runs a logdir holds, and how they are named."""

from __future__ import annotations

import math
import shutil
from pathlib import Path

import pytest

from tb_debugger_plugin.events.framing import frame
from tb_debugger_plugin.index.runs import find_runs, has_debug_events
from tests.support.events import Recording


def _names(logdir):
    return [run.name for run in find_runs(logdir)]


def test_runs_at_any_depth_are_named_by_their_relative_path(tmp_path):
    for folder in ("a", "b/c/d"):
        Recording(tmp_path / folder).close()
    (tmp_path / "empty").mkdir()
    assert _names(tmp_path) == ["a", "b/c/d"]


def test_a_logdir_that_is_itself_a_dump_root_is_the_run_dot(tmp_path):
    Recording(tmp_path).close()
    assert _names(tmp_path) == ["."]


def test_people_read_the_name_of_the_logdir_where_it_is_the_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for number in (1, 2):
        Recording(tmp_path / "digits", run_id=f"run{number}", start=1000.0 * number).close()
    Recording(tmp_path / "more", run_id="run3").close()
    titles = {run.name: run.title for run in find_runs(Path("digits"))}
    assert titles == {".": "digits", ". (2)": "digits (2)"}
    assert [run.title for run in find_runs(tmp_path)] == ["digits", "digits (2)", "more"]


def test_hosts_of_one_job_are_one_run(tmp_path):
    Recording(tmp_path, host="b", start=20.0).close()
    Recording(tmp_path, host="a", start=10.0).close()
    (run,) = find_runs(tmp_path)
    assert [files.host for files in run.file_sets] == ["a", "b"]
    assert 10 < run.start_time < 11


def test_hosts_of_one_job_with_a_folder_each_are_one_run_of_the_folder_above(tmp_path):
    for host in range(3):
        Recording(tmp_path / "job" / f"host{host}", host="same", run_id="job1", process_id=host + 1).close()
    Recording(tmp_path / "job" / "other", run_id="job2", process_id=9).close()
    (job, other) = find_runs(tmp_path)
    assert (job.name, job.folder, len(job.file_sets)) == ("job", tmp_path / "job", 3)
    assert [files.folder.name for files in job.file_sets] == ["host0", "host1", "host2"]
    assert other.name == "job/other"


def test_a_copy_of_a_recording_and_a_second_recording_of_a_process_are_runs_of_their_own(tmp_path):
    Recording(tmp_path / "first", run_id="p", process_id=7).close()
    Recording(tmp_path / "second", run_id="p", process_id=7, start=2000.0).close()
    shutil.copytree(tmp_path / "first", tmp_path / "copy")
    assert _names(tmp_path) == ["copy", "first", "second"]


def test_folders_outside_the_logdir_are_nobodys_hosts(tmp_path):
    for host in range(2):
        Recording(tmp_path / f"host{host}", run_id="job", process_id=host).close()
    assert _names(tmp_path) == ["."] and _names(tmp_path / "host0") == ["."]
    assert len(find_runs(tmp_path / "host0")[0].file_sets) == 1


def test_programs_that_shared_a_folder_are_runs_of_their_own_oldest_first(tmp_path):
    Recording(tmp_path / "r", run_id="second", start=20.0).close()
    Recording(tmp_path / "r", run_id="first", start=10.0).close()
    assert [(run.name, run.run_id) for run in find_runs(tmp_path)] == [("r", "first"), ("r (2)", "second")]


def test_a_set_whose_metadata_cannot_be_read_is_still_a_run(tmp_path):
    recording = Recording(tmp_path)
    recording.close()
    recording.files.path("metadata").write_bytes(b"damaged")
    (run,) = find_runs(tmp_path)
    assert (run.run_id, run.start_time) == ("", 1000.0)


@pytest.mark.parametrize("time", [math.inf, math.nan])
def test_a_start_that_is_no_time_becomes_zero(tmp_path, time):
    recording = Recording(tmp_path)
    metadata = recording.event(at=time)
    metadata.debug_metadata.tfdbg_run_id = "run1"
    recording.close()
    recording.files.path("metadata").write_bytes(frame(metadata.SerializeToString()))
    assert [run.start_time for run in find_runs(tmp_path)] == [0.0]


def test_a_logdir_without_debug_events_has_no_runs(tmp_path):
    (tmp_path / "events.out.tfevents.1.h").write_bytes(b"")
    assert find_runs(tmp_path) == [] and not has_debug_events(tmp_path)
    assert find_runs(tmp_path / "absent") == [] and not has_debug_events(tmp_path / "absent")


def test_links_are_followed_and_a_loop_of_them_ends(tmp_path):
    Recording(tmp_path / "real").close()
    logdir = tmp_path / "logdir"
    logdir.mkdir()
    (logdir / "linked").symlink_to(tmp_path / "real")
    (logdir / "loop").symlink_to(logdir)
    assert _names(logdir) == ["linked"]
    assert has_debug_events(logdir)
