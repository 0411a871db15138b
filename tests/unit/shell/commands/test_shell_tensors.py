"""`shell/commands/list_tensors.py`: lists of tensors, with filters and orders, over runs made by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tb_debugger_plugin.analysis.lists import selection
from tb_debugger_plugin.cli.main import main
from tb_debugger_plugin.errors import UsageError
from tb_debugger_plugin.events.dumps.datum import NoTensor
from tb_debugger_plugin.events.modes import TensorDebugMode
from tb_debugger_plugin.shell.screen import Style
from tb_debugger_plugin.shell.tensor_filters import TensorFilters, add_filters_of
from tests.support.checkout import ROOT
from tests.support.events import Recording, full_health, small_program, values_program, whole
from tests.support.shells import error_of, last_links_of, lines_of, shell_over

_DUMPS = ROOT / "tests" / "golden" / "dumps-tensorflow-2.21.0" / "session"


@pytest.fixture(scope="module")
def shell(tmp_path_factory):
    """A run with two functions, with layers, variables, dtypes and sizes."""
    folder = tmp_path_factory.mktemp("logdir")
    recording = Recording(folder)
    recording.device(1)
    recording.graph("g1", "train_step")
    recording.graph("g2", "evaluate")
    recording.op("g1", "layer_1/Log", "Log", ids=[1], layer="layer_1", outputs=[(1, [2])])
    recording.op("g1", "layer_2/MatMul", "MatMul", ids=[2], layer="layer_2", outputs=[(2, [2])])
    recording.op("g2", "Read", "ReadVariableOp", ids=[3], variable="w", outputs=[(1, [300])])
    recording.trace("g1", "layer_2/MatMul", None)
    recording.trace("g1", "layer_1/Log", full_health([-math.inf, math.nan]))
    recording.trace("g2", "Read", full_health([1.0] * 300))
    recording.trace("g1", "layer_1/Log", full_health([0.0]))
    recording.execution("Fill", [full_health([0.0])], ids=[9])
    with shell_over(recording.close()) as shell:
        yield shell


def names(shell, line) -> list[str]:
    """The tensors that a command lists."""
    answer = shell.answer(line)
    rows = lines_of(answer)
    begin = next(number for number, row in enumerate(rows) if row.startswith("t (ms)"))
    return [row.split()[-1] for row in rows[begin + 1 :]]


_ALL = ["layer_2/MatMul:0", "layer_1/Log:0", "Read:0", "layer_1/Log:0"]


def test_the_list_has_the_columns_of_tfdbg_and_the_function(shell):
    assert lines_of(shell.answer("lt")) == [
        "4 dumped tensor(s):",
        "",
        "t (ms)      Size (B)  Op type         Function    Tensor name",
        "[0.000]     16        MatMul          train_step  layer_2/MatMul:0",
        "[1.000]     8         Log             train_step  layer_1/Log:0",
        "[2.000]     1.17k     ReadVariableOp  evaluate    Read:0",
        "[3.000]     4         Log             train_step  layer_1/Log:0",
    ]


def test_one_function_has_no_column(tmp_path):
    with shell_over(small_program(tmp_path).close()) as shell:
        assert lines_of(shell.answer("lt -n x"))[3] == "t (ms)      Size (B)  Op type      Tensor name"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("-f has_inf_or_nan", [_ALL[1]]),
        ("-n layer", [_ALL[0], _ALL[1], _ALL[3]]),
        ("-n Log", []),
        ("-n .*Log", [_ALL[1], _ALL[3]]),
        ("-t Mat", [_ALL[0]]),
        ("-t atMul", []),
        ("-f has_inf_or_nan -fenn .*Log", []),
        ("--tensor_filter has_inf_or_nan --filter_exclude_node_names MatMul", [_ALL[1]]),
        ("-g eval", ["Read:0"]),
        ("--function train -t Log", [_ALL[1], _ALL[3]]),
        ("--layer layer_2", [_ALL[0]]),
        ("--variable w", ["Read:0"]),
        ("--dtype float64", [_ALL[0]]),
        ('--where "nan>0,size>=2"', [_ALL[1]]),
        ("-r", _ALL[::-1]),
        ("-s timestamp", _ALL),
        ("-s dump_size", [_ALL[3], _ALL[1], _ALL[0], _ALL[2]]),
        ("-s dump_size -r", [_ALL[2], _ALL[0], _ALL[1], _ALL[3]]),
        ("-s op_type", [_ALL[1], _ALL[3], _ALL[0], _ALL[2]]),
        ("-s op_type -r", [_ALL[2], _ALL[0], _ALL[1], _ALL[3]]),
        ("-s tensor_name -n layer", [_ALL[1], _ALL[3], _ALL[0]]),
    ],
)
def test_options_choose_and_sort(shell, options, expected):
    assert names(shell, f"lt {options}") == expected


@pytest.mark.parametrize(
    ("interval", "expected"),
    [
        ("[1k, 2k]", ["Read:0"]),
        (">1k", ["Read:0"]),
        ("<1k", ["layer_2/MatMul:0", "layer_1/Log:0", "layer_1/Log:0"]),
        ("[4,8] -n layer_1", ["layer_1/Log:0", "layer_1/Log:0"]),
        ("(8, 1k)", ["layer_2/MatMul:0"]),
    ],
)
def test_a_list_may_be_of_tensors_of_some_sizes(shell, interval, expected):
    size, _, more = interval.partition(" -")
    assert names(shell, f'lt --size "{size}"{" -" if more else ""}{more}') == expected


def test_the_type_of_an_op_is_that_of_the_program(tmp_path):
    recording = Recording(tmp_path)
    recording.graph("g1", "step")
    for number, kind in enumerate(
        ["_MklMatMul", "_FusedMatMul", "MatMul", "_MklNativeFusedMatMul", "BatchMatMul"]
    ):
        recording.op("g1", f"op_{number}", kind, ids=[number], outputs=[(1, [2])])
        recording.trace("g1", f"op_{number}", full_health([1.0]))
    with shell_over(recording.close()) as shell:
        assert names(shell, "lt -t MatMul") == ["op_0:0", "op_1:0", "op_2:0", "op_3:0"]
        assert names(shell, "lt -t _Mkl") == ["op_0:0", "op_3:0"]


def test_the_lines_above_the_list_say_what_was_chosen(shell):
    assert lines_of(shell.answer("lt -f has_inf_or_nan -t L -n l --dtype float32"))[:5] == [
        '1 dumped tensor(s) passing filter "has_inf_or_nan":',
        'Op type regex filter: "L"',
        'Node name regex filter: "l"',
        "dtype: float32",
        "",
    ]


def test_heads_sort_and_keep_the_filters_and_names_print_exactly_that_tensor(shell):
    found = last_links_of(shell.answer("lt -n 'l.* y|l' -s op_type"))
    assert found["Op type"] == "lt --node_name_filter 'l.* y|l' -s op_type -r"
    assert found["Size (B)"] == "lt --node_name_filter 'l.* y|l' -s dump_size"
    assert found["layer_1/Log:0"] == "pt #3"
    assert lines_of(shell.answer(found["Op type"]))[0] == "3 dumped tensor(s):"
    assert last_links_of(shell.answer(found["Op type"]))["Op type"].endswith("-s op_type")


def test_bad_tensors_have_a_style(shell):
    lines = shell.answer("lt").lines
    assert [line[-1].style for line in lines[3:]] == [Style.PLAIN, Style.BAD, Style.PLAIN, Style.PLAIN]


def test_a_sorted_list_is_cut_and_says_so(shell, monkeypatch):
    monkeypatch.setattr(selection, "FIRST_SORTED", 2)
    monkeypatch.setattr(selection, "_ORDER_BYTES", 8)
    with shell.run.snapshot() as snapshot:
        snapshot.loader.memory.clear()
        assert lines_of(shell.answer("lt -s op_type"))[:2] == [
            "4 dumped tensor(s):",
            "The first 2 of 4; -n, -t, -g or --where leave fewer.",
        ]
        assert names(shell, "lt -s op_type") == [_ALL[1], _ALL[3]]
        snapshot.loader.memory.clear()
    assert len(names(shell, "lt -r")) == 4


@pytest.mark.parametrize(
    ("line", "part"),
    [
        ("lt -f has_inf", "tensor filter 'has_inf' does not exist; did you mean 'has_inf_or_nan'?"),
        ("lt -fenn x", "-fenn (--filter_exclude_node_names) needs -f (--tensor_filter)."),
        ("lt -n '('", "--node_name_filter ( is not a regular expression: missing ): (."),
        ("lt --size 2q", "'2q' is no interval of sizes: write '>100k', '<=3M' or '[2k, 6k]'"),
        ("lt -t '*'", "--op_type_filter * is not a regular expression"),
        ("lt -s size", "lt cannot sort by 'size': choose one of timestamp, dump_size, op_type, tensor_name."),
        ("lt --where nan", "where must be like 'nan>0'"),
        ("lt --dtype float31", "There is no dtype named 'float31'."),
        ("lt x", "unrecognized arguments: x"),
    ],
)
def test_a_mistake_is_one_line(shell, line, part):
    assert error_of(shell.answer(line)).startswith("ERROR: ") and part in error_of(shell.answer(line))


def test_a_program_without_graphs_leads_to_its_executions(tmp_path):
    recording = Recording(tmp_path)
    for _ in range(3):
        recording.execution("Fill", [full_health([0.0])], ids=[9])
    with shell_over(recording.close()) as shell:
        answer = shell.answer("lt -f has_inf_or_nan")
        assert lines_of(answer)[2:] == [
            "No tensor of a graph is recorded.",
            "Python ran 3 execution(s) of eager ops and functions: le lists them.",
        ]
        assert list(last_links_of(answer).values()) == ["le"]


def test_a_recording_without_measurements_says_why_nothing_is_found(tmp_path):
    recording = Recording(tmp_path, mode=TensorDebugMode.NO_TENSOR)
    recording.graph("g1", "loss")
    recording.op("g1", "x", "Log", ids=[1])
    recording.trace("g1", "x", None)
    with shell_over(recording.close()) as shell:
        assert lines_of(shell.answer("lt -f has_inf_or_nan"))[-1].startswith("No tensor was measured")
        assert lines_of(shell.answer("lt"))[-1] == "[0.000]     ?         Log      x:0"


class TestFilters:
    """Filters in Python."""

    @pytest.fixture
    def shell(self, tmp_path):
        recording = values_program(tmp_path)
        with shell_over(recording.close()) as shell:
            yield shell

    def test_a_filter_gets_a_datum_and_an_array(self, shell):
        shell.filters.add("big", lambda datum, array: datum.node_name == "x" and array.max() >= 4)
        assert names(shell, "lt -f big") == ["x:0"] * 3
        assert names(shell, "lt -f big -n Log") == []
        assert lines_of(shell.answer("lt -f big"))[0] == '3 dumped tensor(s) passing filter "big":'

    def test_its_rows_can_be_sorted(self, shell):
        shell.filters.add("second", lambda datum, array: datum.index % 2 == 1)
        assert last_links_of(shell.answer("lt -f second -r"))["Log:0"] == "pt #1"
        assert names(shell, "lt -f second -s tensor_name") == ["Log:0"] * 3

    def test_names_can_be_left_out(self, shell):
        shell.filters.add("all", lambda datum, array: True)
        assert names(shell, "lt -f all -fenn L") == ["x:0"] * 3

    def test_a_filter_that_raises_is_one_line_with_both_names(self, shell):
        shell.filters.add("broken", lambda datum, array: array[9])
        message = error_of(shell.answer("lt -f broken"))
        assert (
            "The tensor filter 'broken' failed at x:0 (#0): IndexError: index 9 is out of bounds" in message
        )
        assert names(shell, "lt -n x") == ["x:0"] * 3

    def test_a_value_that_is_not_kept_is_not_read(self, tmp_path):
        small_program(tmp_path / "health").close()
        seen = []
        with shell_over(tmp_path / "health") as shell:
            shell.filters.add("seen", lambda datum, array: seen.append(array) or datum.is_bad)
            assert len(names(shell, "lt -f seen")) == 6
        assert all(isinstance(one, NoTensor) for one in seen) and "FULL_HEALTH" in str(seen[0])

    def test_a_damaged_value_is_none(self, tmp_path):
        recording = Recording(tmp_path / "damaged", mode=7)
        recording.graph("g1", "loss")
        recording.op("g1", "x", "Log", ids=[1])
        recording.trace("g1", "x", whole(np.ones(1000, np.float32), 1))
        recording.close()
        (file,) = (tmp_path / "damaged").glob("*graph_execution_traces")
        with shell_over(tmp_path / "damaged") as shell:
            assert names(shell, "lt") == ["x:0"]
            data = bytearray(file.read_bytes())
            data[len(data) // 2] ^= 1
            file.write_bytes(data)
            shell.filters.add("none", lambda datum, array: isinstance(array, NoTensor))
            assert names(shell, "lt -f none") == ["x:0"]


class TestFilterFiles:
    """Files of filters."""

    def test_the_functions_of_a_file_become_filters(self, tmp_path):
        file = tmp_path / "mine.py"
        file.write_text(
            "import numpy as np\n"
            "from os.path import join\n"
            "LIMIT = 1\n"
            "def _helper(a, b): return a\n"
            "def one(a): return a\n"
            "def large(datum, tensor):\n"
            "    return np.any(np.abs(tensor) > LIMIT)\n"
        )
        filters = TensorFilters()
        assert add_filters_of(str(file), filters) == ["large"]
        assert filters.names() == ["has_inf_or_nan", "large"]
        assert filters.get("large").predicate(None, np.array([-2]))

    @pytest.mark.parametrize(
        ("text", "part"),
        [
            ("x = 1", "defines no filter"),
            ("1 / 0", "ZeroDivisionError: division by zero"),
            ("def x(:", "SyntaxError"),
            ("import sys; sys.exit(3)", "it ended Python"),
            (None, "No such file"),
        ],
    )
    def test_a_file_without_filters_is_refused(self, tmp_path, text, part):
        file = tmp_path / "mine.py"
        if text is not None:
            file.write_text(text)
        with pytest.raises(UsageError, match=part):
            add_filters_of(str(file), TensorFilters())

    def test_the_command_line_takes_a_file(self, tmp_path, capsys):
        values_program(tmp_path / "run").close()
        file = tmp_path / "mine.py"
        file.write_text("def wide(datum, tensor):\n    return tensor.shape == (2, 3)\n")
        assert main(["shell", str(tmp_path / "run"), "--filters", str(file), "-c", "lt -f wide"]) == 0
        assert capsys.readouterr().out.startswith('6 dumped tensor(s) passing filter "wide":')
        assert main(["shell", str(tmp_path / "run"), "--filters", "nobody.py", "-c", "lt"]) != 0


def test_dumps_of_tfdbg_are_listed_too():
    with shell_over(_DUMPS) as shell:
        assert names(shell, "lt -f has_inf_or_nan") == ["logs:0"]
        shell.filters.add("texts", lambda datum, array: datum.node_name == "texts" and array.size > 0)
        assert names(shell, "lt -f texts") == ["texts:0", "texts:0"]
