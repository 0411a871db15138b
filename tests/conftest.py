"""Options of the whole test run, a time limit for each test, and no process that outlives its test."""

from __future__ import annotations

import faulthandler
import importlib
import os
import signal
import subprocess
import sys
import uuid
from collections import Counter
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from tb_debugger_plugin.live.messages.key import KEY_VARIABLE
from tb_debugger_plugin.server.judge import JUDGE_VARIABLE
from tests.support.checkout import ROOT
from tests.support.processes import VARIABLE, Process, Processes, wait_until
from tests.support.serving import KEY
from tests.support.suites import durations, invariants, is_fast, slow_part, store_durations

# Hypothesis' profiles are those of all tests.
importlib.import_module("tests.support.examples")

#: For a test that is marked as long; that of the others stands in pyproject.toml.
_LONG_S = 3600
#: After its time a test is interrupted by a signal; one that hangs inside a library takes none.
_GRACE_S = 60

_stderr = pytest.StashKey[int]()
_seconds: Counter[str] = Counter()  # by file
_MARK = uuid.uuid4().hex
_processes = Processes(_MARK)


class _Fixtures:
    """What a fixture of a module or of the session starts may live as long as it does.

    A plugin of its own: of fixtures of the session pytest says nothing to a conftest.
    """

    def __init__(self) -> None:
        self.processes: dict[object, set[int]] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[object]) -> Generator[None, object, object]:
        if fixturedef.scope == "function":
            return (yield)
        before = set(_processes.running())
        try:
            return (yield)
        finally:
            self.processes[fixturedef] = set(_processes.running()) - before

    def pytest_fixture_post_finalizer(self, fixturedef: pytest.FixtureDef[object]) -> None:
        self.processes.pop(fixturedef, None)


_fixtures = _Fixtures()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-screenshots",
        action="store_true",
        help="write the screenshots into docs/images instead of test-results",
    )
    parser.addoption(
        "--update-examples",
        action="store_true",
        help="write the answers of the routes into the examples of docs/http-api.md",
    )
    parser.addoption(
        "--rest",
        action="store_true",
        help="run what `make test` leaves out",
    )
    parser.addoption(
        "--store-durations",
        action="store_true",
        help="write into tests/durations.json how long each file takes, which orders the files",
    )
    parser.addoption(
        "--patience",
        type=float,
        default=10.0,
        metavar="SECONDS",
        help="how long what ends by itself when its test ends may take (default: %(default)s)",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_stderr] = os.dup(2)  # the real one: while a test runs its output is caught
    config.pluginmanager.register(_fixtures)
    # A shell's job in the background ignores it, and so would the programs that tests interrupt.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # Here, since modules of tests look at the environment when they are imported.
    os.environ[VARIABLE] = f"{os.environ.get(VARIABLE, '')} {_MARK}"


def pytest_unconfigure(config: pytest.Config) -> None:
    os.close(config.stash[_stderr])


def _path(nodeid: str) -> str:
    return nodeid.partition("::")[0]


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    is_left_out = config.getoption("rest") and is_fast(f"{collection_path.relative_to(ROOT).as_posix()}/")
    return True if is_left_out else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    # The files that take longest run first, so that the processes of a run end at about one time.
    items.sort(key=lambda item: -durations().get(_path(item.nodeid), 0.0))
    done = set(slow_part()) if config.getoption("rest") else set()
    left = [item for item in items if item.nodeid.partition("[")[0] not in done]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(left)])
    items[:] = left
    for item in items:
        if item.nodeid.partition("[")[0] in invariants():
            item.add_marker(pytest.mark.invariant)
        if item.get_closest_marker("long") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(_LONG_S))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _seconds[_path(report.nodeid)] += report.duration


def pytest_sessionfinish(session: pytest.Session) -> None:
    if session.config.getoption("store_durations") and not hasattr(session.config, "workerinput"):
        store_durations(_seconds)


def pytest_timeout_set_timer(item: pytest.Item, settings) -> None:
    """Beside the signal: the stacks of all threads, and the end of everything."""
    file = item.config.stash[_stderr]
    faulthandler.dump_traceback_later(settings.timeout + _GRACE_S, exit=True, file=file)


def pytest_timeout_cancel_timer() -> None:
    faulthandler.cancel_dump_traceback_later()


def _left(but: int) -> list[Process]:
    """The processes that nobody may have left: not those of fixtures that still live, and not one other."""
    running = _processes.running()
    excused = {but}.union(*_fixtures.processes.values())
    while young := {pid for pid in running.keys() - excused if running[pid].parent in excused}:
        excused |= young
    return [process for pid, process in running.items() if pid not in excused]


def _end_what_is_left(but: int, patience: float) -> None:
    """Fail when there is anything to end."""
    if wait_until(lambda: not _left(but), patience):
        return
    left = _left(but)
    for process in left:
        process.kill()
    pytest.fail("Processes were left; they are ended now:\n" + "\n".join(map(str, left)), pytrace=False)


@pytest.fixture(autouse=True, scope="session")
def _key_of_the_tests() -> Iterator[None]:
    """All viewers and programs have one key, which is not kept, and viewers judge no runs by themselves."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(KEY_VARIABLE, KEY)
        patch.setenv(JUDGE_VARIABLE, "0")
        yield


@pytest.fixture(autouse=True, scope="session")
def watcher(pytestconfig: pytest.Config) -> Iterator[int]:
    """The number of a process that ends the others when the test run itself is killed."""
    command = [sys.executable, "-m", "tests.support.processes", _MARK]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, start_new_session=True) as process:
        yield process.pid
        _end_what_is_left(process.pid, pytestconfig.getoption("patience"))


@pytest.fixture(autouse=True)
def no_process_outlives_its_test(watcher: int, pytestconfig: pytest.Config) -> Iterator[None]:
    yield
    _end_what_is_left(watcher, pytestconfig.getoption("patience"))
