"""`docs/architecture.md`: rooms import only what its table allows."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.support.checkout import PACKAGE, ROOT, imports_of, modules_of

_OURS = "tb_debugger_plugin."
_TENSORFLOW = ("tensorflow", "keras", "tf_keras")
_VIEWER = ("errors", "events", "index", "analysis", "live/messages", "live/viewer", "server", "cli")
_DASK = PACKAGE / "pipeline" / "cluster.py"
_ROW = re.compile(
    r"^\| `(?:tb_debugger_plugin/)?(?P<room>\w+(?:/\w+)?)(?:/|\.py)` \|[^|]*\|(?P<may>[^|]*)\|$", re.MULTILINE
)


_ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text("utf-8")


def _may_import() -> dict[str, tuple[set[str], bool]]:
    """Of each room: the rooms it may import, and whether TensorFlow."""
    return {
        row["room"]: (
            set(re.findall(r"`([\w/]+)`", row["may"].partition(";")[0])),
            "TensorFlow" in row["may"],
        )
        for row in _ROW.finditer(_ARCHITECTURE)
        if row["room"] not in ("protos", "frontend/src")
    }


ROOMS = _may_import()


def _is_room(name: str) -> bool:
    return (PACKAGE / name).is_dir() or (PACKAGE / f"{name}.py").is_file()


def _room_of(name: str) -> str:
    """The room of an imported module: `live/messages`, since a room may have rooms, or `events`."""
    first, _, rest = name.removeprefix(_OURS).partition(".")
    inner = f"{first}/{rest.partition('.')[0]}"
    return inner if inner in ROOMS else first


def test_the_table_names_every_room_of_the_package():
    on_disk = {file.parent.name for file in PACKAGE.glob("*/__init__.py")}
    on_disk |= {file.stem for file in PACKAGE.glob("*.py")} - {"__init__"}
    assert on_disk == {room.partition("/")[0] for room in ROOMS}
    inside = {file.parent.name for file in (PACKAGE / "live").glob("*/__init__.py")}
    assert inside == {room.partition("/")[2] for room in ROOMS if "/" in room}


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_the_rooms_the_table_allows(room):
    allowed = ROOMS[room][0] | {room}
    wrong = []
    for module in modules_of(room):
        for name in imports_of(module):
            other = _room_of(name)
            if name.startswith(_OURS) and _is_room(other) and other not in allowed:
                wrong.append(f"{module.relative_to(ROOT)} imports {other}")
    assert not wrong


def test_a_room_may_import_only_the_rooms_above_it():
    order = list(ROOMS)
    for room, (allowed, _) in ROOMS.items():
        assert allowed <= set(order[: order.index(room)]), room


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_uses_what_the_table_allows(room):
    used = {_room_of(name) for module in modules_of(room) for name in imports_of(module)}
    assert ROOMS[room][0] <= used, "take the rooms that nobody imports out of the table"


@pytest.mark.parametrize("room", ROOMS)
def test_tensorflow_is_imported_only_where_the_table_allows_it(room):
    if ROOMS[room][1]:
        return
    wrong = [
        f"{module.relative_to(ROOT)} imports {name}"
        for module in modules_of(room)
        for name in imports_of(module)
        if name.partition(".")[0] in _TENSORFLOW
    ]
    assert not wrong


def _floors(table: str) -> dict[str, int]:
    """The folders and files of a room, by how far up they stand in its table."""
    rows = [line for line in table.splitlines() if line.startswith("| `")]
    return {
        name: -row
        for row, line in enumerate(rows)
        for name in re.findall(r"`(\w+)(?:/|\.py)`", line.split("|")[1])
    }


_COLUMNS = {
    "capture": _floors(_ARCHITECTURE.partition("Inside `capture/`")[2]),
    "analysis": _floors((PACKAGE / "analysis" / "README.md").read_text("utf-8")),
}


@pytest.mark.parametrize("room", _COLUMNS)
def test_inside_a_room_with_a_column_imports_go_down(room):
    floors, prefix = _COLUMNS[room], f"{_OURS}{room}."
    wrong = []
    for module in modules_of(room):
        here = module.relative_to(PACKAGE / room).with_suffix("").parts[0]
        for name in imports_of(module):
            inner = name.removeprefix(prefix).partition(".")[0]
            if name.startswith(prefix) and here != "__init__" and floors[inner] > floors[here]:
                wrong.append(f"{module.relative_to(ROOT)} imports {inner}")
    assert not wrong


def test_the_column_of_analysis_has_a_row_for_each_of_its_rooms():
    on_disk = {module.relative_to(PACKAGE / "analysis").parts[0] for module in modules_of("analysis")}
    assert {name.removesuffix(".py") for name in on_disk} - {"__init__"} == set(_COLUMNS["analysis"])


def test_the_recorder_reads_recordings_in_one_module_only_and_imports_that_late():
    importers = [
        module.relative_to(PACKAGE).as_posix()
        for module in modules_of("capture")
        if any(name.startswith(f"{_OURS}reading") for name in imports_of(module))
    ]
    assert importers == ["capture/own_recording.py"]
    lines = (PACKAGE / "capture" / "own_recording.py").read_text("utf-8").splitlines()
    assert all(
        line.startswith("    ") for line in lines if "import" in line and "reading" in line and "from" in line
    )


def test_dask_is_imported_by_one_module_only():
    modules = [module for room in ROOMS for module in modules_of(room)]
    assert [
        module
        for module in modules
        if any(name.startswith(("dask", "distributed")) for name in imports_of(module))
    ] == [_DASK]


def test_the_viewer_imports_where_there_is_no_tensorflow():
    names = [
        ".".join(module.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for room in _VIEWER
        for module in modules_of(room)
    ]
    # A module that is None in sys.modules is one that cannot be imported.
    program = f"""
import importlib, sys
sys.modules.update(dict.fromkeys({_TENSORFLOW!r}))
for name in {names!r}:
    importlib.import_module(name)
"""
    run = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
