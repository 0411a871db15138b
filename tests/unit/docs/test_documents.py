"""`docs`: the pages on the format, the tables and the modes describe what the code does."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb
import pytest

import tb_debugger_plugin
from tb_debugger_plugin.analysis.lists.views import VIEWS
from tb_debugger_plugin.events.framing import read_records
from tb_debugger_plugin.events.messages import DebugEvent, parse_event
from tb_debugger_plugin.events.modes import DIMS, MODES, SUMMARY_COLUMNS, TensorDebugMode
from tb_debugger_plugin.index import schema
from tb_debugger_plugin.reading.run import open_run
from tb_debugger_plugin.server import query
from tests.support.asking import PARAMETERS
from tests.support.checkout import ROOT
from tests.support.events import small_program

_DOCS = ROOT / "docs"
_RECORDING = (_DOCS / "guide" / "recording.md").read_text("utf-8")
_API = (Path(tb_debugger_plugin.__file__).parent / "capture" / "api.py").read_text("utf-8")
_FORMAT = (_DOCS / "event-format.md").read_text("utf-8")
_ROUTES = (_DOCS / "http-api.md").read_text("utf-8")
_SERVER = Path(query.__file__).parent
_SCHEMA = (_DOCS / "schema.md").read_text("utf-8")


def test_the_worked_example_is_a_record_that_means_what_is_said():
    dump = re.findall(r"^[0-9a-f]{4}  ((?:[0-9a-f]{2} ?)+)$", _FORMAT, re.MULTILINE)
    records, _ = read_records(bytes.fromhex(" ".join(dump)))
    event = parse_event(records[0][1])
    trace = event.graph_execution_trace
    assert (event.wall_time, trace.tfdbg_context_id, trace.op_name) == (2.0, "g1", "Log")
    assert (trace.tensor_debug_mode, trace.device_name) == (TensorDebugMode.CURT_HEALTH, "CPU")
    assert len(records) == 1


def test_every_kind_of_record_is_on_the_page_of_the_format():
    kinds = [field.name for field in DebugEvent.DESCRIPTOR.oneofs_by_name["what"].fields]
    assert not [kind for kind in kinds if f"`{kind}`" not in _FORMAT]


@pytest.mark.parametrize("spec", MODES, ids=lambda spec: spec.mode.name)
def test_every_mode_is_on_the_page_with_its_columns(spec):
    (cell,) = re.findall(rf"^\| {spec.mode.name} \({spec.mode.value}\) \| (.*) \|$", _FORMAT, re.MULTILINE)
    cell = re.sub(r"those of ([A-Z_]+)", lambda m: ", ".join(SUMMARY_COLUMNS[TensorDebugMode[m[1]]]), cell)
    cell = re.sub(r" \(.*?\)| of the finite elements", "", cell).replace(
        f"{DIMS[0]} … {DIMS[-1]}", ", ".join(DIMS)
    )
    named = [] if cell in ("none", "the tensor itself") else re.split(r", (?:then )?", cell)
    assert named == list(spec.columns)


@pytest.mark.parametrize("spec", [s for s in MODES if s.is_recorded], ids=lambda spec: spec.mode.name)
def test_the_guide_and_the_docstring_say_what_each_mode_measures(spec):
    assert f"| `{spec.mode.name}` | {spec.measures} |\n" in _RECORDING
    assert f'"{spec.mode.name}"' in _API


def test_the_proto_has_the_numbers_of_the_modes():
    numbers = DebugEvent.DESCRIPTOR.file.enum_types_by_name["TensorDebugMode"].values_by_name
    assert {name: value.number for name, value in numbers.items()} == TensorDebugMode.__members__


def _documented() -> dict[str, set[str]]:
    tables = {}
    for section in re.split(r"^## ", _SCHEMA, flags=re.MULTILINE)[1:]:
        name, _, body = section.partition("\n")
        _, _, *cells = re.findall(r"^\| ([^|]*) \|", body, re.MULTILINE)
        tables[name] = {word for cell in cells for word in cell.split(", ")}
    return tables


def test_every_table_view_and_column_is_documented_and_no_other(tmp_path):
    with duckdb.connect() as connection:
        schema.create_tables(connection)
        rows = connection.execute("SELECT table_name, column_name FROM duckdb_columns()").fetchall()
    actual: dict[str, set[str]] = {}
    for table, column in rows:
        if table in schema.TABLES:
            actual.setdefault(table, set()).add(column)
    with open_run(small_program(tmp_path).close()) as run:
        views = {name: set(run.sql(f"SELECT * FROM {name}").columns) for name in VIEWS}
    assert _documented() == {**actual, **views}


def test_every_parameter_of_a_route_is_documented_and_asked_with_hostile_values():
    sources = [path.read_text("utf-8") for path in _SERVER.glob("*.py")]
    readers = r"\.(?:text|texts|integer|position|bounded|choice|optional_[a-z]+)\(\s*\"([a-z_]+)\""
    names = {name for source in sources for name in re.findall(readers, source)}
    assert len(names) > 20
    assert sorted(name for name in names if not re.search(rf"`{name}\b", _ROUTES)) == []
    assert sorted(names - set(PARAMETERS)) == []
