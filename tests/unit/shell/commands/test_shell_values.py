"""`shell/commands/print_tensor.py`: values of tensors, feeds and expressions, over runs made by hand."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tb_debugger_plugin.events.dtypes import NUMBER_OF
from tb_debugger_plugin.events.messages import TensorProto
from tb_debugger_plugin.events.modes import TensorDebugMode
from tb_debugger_plugin.shell.commands.table import COMMANDS
from tb_debugger_plugin.shell.program import Call
from tb_debugger_plugin.shell.screen import Style, text_of
from tb_debugger_plugin.shell.shell import Shell
from tests.support.checkout import ROOT
from tests.support.dumps import DumpedCall, node, training
from tests.support.events import Recording, small_program, values_program, whole
from tests.support.shells import error_of, last_links_of, lines_of, shell_over

_DUMPS = ROOT / "tests" / "golden" / "dumps-tensorflow-2.21.0" / "session"

#: Name, dtype and value of tensors of every kind.
_KINDS = {
    "float": ("float32", np.float32([[1, np.nan], [-np.inf, 0.5], [np.inf, 0]])),
    "scalar": ("float64", np.float64(0.25)),
    "none": ("float32", np.zeros((0, 3), np.float32)),
    "whole": ("int64", np.arange(-3, 3)),
    "flags": ("bool", np.array([True, False, True])),
    "complex": ("complex64", np.complex64([3 + 4j, np.nan])),
    "brain": ("bfloat16", np.array([1, 0.1, np.nan], ml_dtypes.bfloat16)),
    "eight": ("float8_e5m2", np.array([1, -0.5], ml_dtypes.float8_e5m2)),
    "deep": ("int32", np.arange(32, dtype=np.int32).reshape(2, 2, 2, 2, 2)),
    "long": ("float32", np.arange(3000, dtype=np.float32).reshape(3, 1000)),
}


@pytest.fixture(scope="module")
def shell(tmp_path_factory):
    """A tensor of each kind, computed once; one of strings."""
    folder = tmp_path_factory.mktemp("logdir")
    recording = Recording(folder, mode=TensorDebugMode.FULL_TENSOR)
    recording.graph("g1", "loss")
    for number, (name, (dtype, value)) in enumerate(_KINDS.items()):
        recording.op("g1", name, "Identity", ids=[number])
        recording.trace("g1", name, whole(value, NUMBER_OF[dtype]))
    strings = TensorProto(dtype=NUMBER_OF["string"], string_val=["é".encode(), b"\xff"])
    strings.tensor_shape.dim.add(size=2)
    recording.op("g1", "texts", "AsString", ids=[90])
    recording.trace("g1", "texts", strings)
    recording.op("g1", "never", "Identity", ids=[91])
    with shell_over(recording.close()) as shell:
        yield shell


@pytest.fixture(scope="module")
def steps(tmp_path_factory):
    """`values_program`: three steps with x and its logarithm."""
    folder = tmp_path_factory.mktemp("logdir")
    with shell_over(values_program(folder).close()) as shell:
        yield shell


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "pt float:0",
            "shape: (3, 2)||array([[ 1. ,  nan],|       [-inf,  0.5],|       [ inf,  0. ]], dtype=float32)",
        ),
        ("pt float[::-1, 0]", "shape: (3,)||array([ inf, -inf,   1.], dtype=float32)"),
        ("pt float[..., -1]", "shape: (3,)||array([nan, 0.5, 0. ], dtype=float32)"),
        ("pt float[1, 1]", "shape: ()||array(0.5, dtype=float32)"),
        ("pt scalar:0", "shape: ()||array(0.25)"),
        ("pt none", "shape: (0, 3)||array([], shape=(0, 3), dtype=float32)"),
        ("pt whole[1:6:2]", "shape: (3,)||array([-2,  0,  2])"),
        ("pt flags", "shape: (3,)||array([ True, False,  True])"),
        ("pt complex", "shape: (2,)||array([ 3.+4.j, nan+0.j], dtype=complex64)"),
        ("pt brain", "shape: (3,)||array([       1, 0.100098,      nan], dtype=bfloat16)"),
        ("pt eight", "shape: (2,)||array([ 1. , -0.5], dtype=float8_e5m2)"),
        ("pt texts", "shape: (2,)||array([    'é', b'\\xff'], dtype=object)"),
        ("pt #3[0]", "shape: ()||array(-3)"),
    ],
)
def test_a_tensor_is_printed(shell, line, expected):
    lines = lines_of(shell.answer(line))
    assert lines[0].startswith('Tensor "') and lines[0].endswith('":')
    assert "|".join(lines[2:]).strip() == expected


def test_the_title_has_the_slice(shell):
    assert lines_of(shell.answer("pt float[0, :]"))[:3] == [
        'Tensor "float:0[0, :]":',
        "  dtype: float32",
        "  shape: (2,)",
    ]


def test_a_long_tensor_shows_its_edges_or_all(shell):
    assert (
        lines_of(shell.answer("pt long[0]"))[-1].endswith("dtype=float32)")
        and len(_array("pt long[0]", shell)) > 9
    )
    assert any("..." in line for line in _array("pt long", shell))
    assert not any("..." in line for line in _array("pt long -a", shell))
    assert not any("..." in line for line in _array("pt long[:2]", shell))


def _array(line, shell):
    lines = lines_of(shell.answer(line))
    return lines[next(number for number, one in enumerate(lines) if one.startswith("array(")) :]


def test_five_dimensions_look_as_in_numpy(shell):
    expected = repr(_KINDS["deep"][1]).replace(",\n      dtype", ", dtype")
    assert "\n".join(_array("pt deep", shell)) == expected


def test_a_screen_knows_where_the_elements_are(shell):
    screen = shell.answer("pt long -a -s")
    places = screen.places
    line = places.line_of((2, 999))
    assert line == len(screen.lines) - 1 and text_of(screen.lines[line]).endswith(
        "2.999e+03]], dtype=float32)"
    )
    assert places.indices_at(places.line_of((1, 0))) == (1, 0) and places.indices_at(0) is None


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("pt float -s", ["| nan -inf 0 + +inf | total |", "|   1    1 1 2    1 |     6 |"]),
        ("pt float[0] -s", ["| nan   + | total |", "|   1   1 |     2 |"]),
        ("pt flags -s", ["| False  True | total |", "|     1     2 |     3 |"]),
        ("pt none -s", ["No numeric summary: the tensor is empty.", ""]),
        ("pt texts -s", ["No numeric summary: the elements are no numbers.", ""]),
        ("pt whole -s", ["| - 0 + | total |", "| 3 1 2 |     6 |"]),
        ("pt complex -s", ["| nan   + | total |", "|   1   1 |     2 |"]),
        ("pt brain -s", ["| nan   + | total |", "|   1   2 |     3 |"]),
    ],
)
def test_a_summary_counts_what_there_is(shell, line, expected):
    lines = lines_of(shell.answer(line))
    begin = lines.index("Numeric summary:")
    squeezed = [" ".join(one.split()) for one in lines[begin + 1 : begin + 3]]
    assert squeezed == [" ".join(one.split()) for one in expected]


def test_a_summary_has_the_moments_of_the_finite_elements(shell):
    lines = lines_of(shell.answer("pt float -s"))
    begin = lines.index("Numeric summary:")
    assert lines[begin + 3].split() == ["|", "min", "max", "mean", "std", "|"]
    assert [float(one) for one in lines[begin + 4].strip("| ").split()] == pytest.approx(
        [0, 1, 0.5, 0.40824828]
    )
    assert "min |x|" in lines_of(shell.answer("pt complex -s"))[7]
    bad = [part.style for part in shell.answer("pt float -s").lines[5] if part.text.strip() == "nan"]
    assert bad == [Style.BAD]


@pytest.mark.parametrize(
    ("ranges", "count"),
    [("[-inf, 0]", 2), ("[0.5,0.5]", 1), ("[[-1e9, 0.6], [1, inf]]", 4), ("(0, 9)", 3), ("[5, 6]", 0)],
)
def test_numbers_in_ranges_are_highlighted(shell, ranges, count):
    screen = shell.answer(f'pt float:0 -r "{ranges}"')
    share = f"{count} of 6 element(s) ({100 * count / 6:.2f}%)"
    assert lines_of(screen)[0] == f'Tensor "float:0": Highlighted({ranges}): {share}'
    marked = [part for line in screen.lines[1:] for part in line if part.style is Style.HIGHLIGHT]
    assert len(marked) == count


def test_a_value_is_written(shell, tmp_path):
    file = tmp_path / "float.npy"
    lines = lines_of(shell.answer(f"pt float[1:] -w {file}"))
    assert f"Saved value to: {file} ({file.stat().st_size}B)" in lines
    np.testing.assert_array_equal(np.load(file), _KINDS["float"][1][1:])
    lines_of(shell.answer(f"pt brain -w {file}"))
    assert np.load(file).dtype == np.float32


@pytest.mark.parametrize(
    ("line", "part"),
    [
        ("pt flaot:0", "No tensor flaot:0 is recorded; did you mean 'float' or 'flags'?"),
        (
            "pt zzzzzz",
            "No tensor zzzzzz is recorded; there is 'brain', 'complex', 'deep', 'eight', 'flags', ….",
        ),
        ("pt lags", "did you mean 'flags'?"),
        ("pt float:3", "float has no recorded output 3; it has 0."),
        ("pt never", "never is a node of the graph, but none of its outputs is recorded."),
        ("pt float:0 -g nowhere", "There is no function 'nowhere'; there is 'loss'."),
        ("pt float:0 -g '('", "( is no regular expression"),
        ("pt float:0[3]", "Index 3 is out of range for axis 0, which has size 3."),
        ("pt float:0[0, 0, 0]", "The slice has 3 indices, but the tensor has 2 dimensions."),
        ("pt float:0[a]", "is not NumPy's notation"),
        ("pt float:0 -n 1", "float:0 was computed 1 time(s), so there is no number 1."),
        ("pt float:0 -n x", "invalid int value: 'x'"),
        ("pt float:0 -r 3", '-r 3: write a range such as "[-inf, 0]"'),
        ('pt float:0 -r "[1, 2], 3"', "write a range"),
        ('pt texts:0 -r "[1, 2]"', "-r highlights numbers"),
        ("pt float:0 -w /nowhere/at/all.npy", "No such file or directory"),
        ("pt texts:0 -w x.npy", "Strings have no place in a .npy file"),
        ("pt #99", "There is no graph execution 99; there are 11."),
        ("pt #e0", "There is no execution 0; there are 0."),
        ("pt #x", "#x is no position"),
        ("pt float:0:DebugNumericSummary", "is a debug op of tfdbg v1"),
        ("pt", "the following arguments are required: TENSOR"),
        ("pt ''", "Give the name of a tensor"),
    ],
)
def test_a_mistake_is_one_line(shell, line, part):
    assert error_of(shell.answer(line)).startswith("ERROR: ") and part in error_of(shell.answer(line))


class TestSeveral:
    """A tensor that was computed several times, and in several functions."""

    def test_occurrences_are_links(self, steps):
        answer = steps.answer("pt Log")
        assert lines_of(answer) == [
            'Tensor "Log:0" generated 3 dumps:',
            "-n K prints one of them; -n -1 prints the last.",
            "",
            "#0 [1.000 ms] Log:0",
            "#1 [5.000 ms] Log:0",
            "#2 [9.000 ms] Log:0",
        ]
        commands = [part.command for line in answer.lines for part in line if part.command]
        assert commands == [f"pt Log:0 -n {number}" for number in range(3)]

    def test_a_link_keeps_slice_function_and_options(self, steps):
        answer = steps.answer("pt Log[:, 1] -a -s -g loss")
        assert last_links_of(answer)["Log:0"] == "pt 'Log:0[:, 1]' -n 2 -g loss -a -s"
        assert lines_of(steps.answer(last_links_of(answer)["Log:0"]))[0] == 'Tensor "Log:0[:, 1] (dump #2)":'

    def test_one_of_them_is_printed(self, steps):
        assert lines_of(steps.answer("pt x -n 2"))[-1] == "       [ 4.,  2.,  2.]], dtype=float32)"
        assert lines_of(steps.answer("pt x -n -1")) == lines_of(steps.answer("pt x -n 2"))
        assert "Numeric summary:" in lines_of(steps.answer("pt x -n 0 -s"))

    def test_their_summaries_are_in_the_list(self, steps):
        assert lines_of(steps.answer("pt Log -s"))[3:] == [
            "#0 [1.000 ms] Log:0  nan 1, -inf 2, 0 1, + 2, total 6, min 0, max 1.386294, mean 0.6931472",
            "#1 [5.000 ms] Log:0  nan 1, -inf 1, 0 2, + 2, total 6, min 0, max 1.386294, mean 0.5198604",
            "#2 [9.000 ms] Log:0  nan 1, -inf 1, 0 1, + 3, total 6, min 0, max 1.386294, mean 0.6931472",
        ]

    def test_functions_and_outputs_are_chosen(self, tmp_path):
        recording = Recording(tmp_path, mode=TensorDebugMode.FULL_TENSOR)
        for number, name in enumerate(("train", "evaluate")):
            recording.graph(f"g{number}", name)
            recording.op(f"g{number}", "x", "Split", ids=[1, 2])
            recording.trace(f"g{number}", "x", whole(np.float32([number]), 1))
        recording.trace("g0", "x", whole(np.float32([7]), 1), slot=1)
        with shell_over(recording.close()) as shell:
            assert last_links_of(shell.answer("pt x")) == {"x:0": "pt x:0", "x:1": "pt x:1"}
            assert lines_of(shell.answer("pt x:1"))[-1] == "array([7.], dtype=float32)"
            assert lines_of(shell.answer("pt x:0"))[3:] == [
                "#0 [0.000 ms] x:0  in train",
                "#1 [3.000 ms] x:0  in evaluate",
            ]
            assert lines_of(shell.answer("pt x:0 -g eval"))[-1] == "array([1.], dtype=float32)"

    def test_an_execution_is_printed_by_its_position(self, steps):
        assert lines_of(steps.answer("pt #e0"))[-1] == "       [ 4.,  0.,  2.]], dtype=float32)"
        assert lines_of(steps.answer("pt #e6:0[0]"))[-1] == "array('a b', dtype=object)"
        assert "Execution 0 has no output 4" in error_of(steps.answer("pt #e0:4"))


class TestNotKept:
    """Values of which only a summary is on record."""

    def test_the_reason_and_the_summary_are_shown(self, tmp_path):
        with shell_over(small_program(tmp_path).close()) as shell:
            lines = lines_of(shell.answer("pt Log -n 0"))
        assert lines[:3] == ['Tensor "Log:0":', "  dtype: float32", "  shape: ?"]
        assert lines[4].startswith("The recording holds the summary of mode FULL_HEALTH, but not the value")
        assert lines[7:] == ["| -inf    0 | total |", "|    1    1 |     2 |"]

    def test_what_was_left_out_says_why(self, steps):
        lines = lines_of(steps.answer("pt #e6:2"))
        assert "which is more than the recording keeps" in "".join(lines)
        assert lines[-1] == "| 6 |     6 |"


class TestFeeds:
    """`pf`."""

    @pytest.fixture
    def stopped(self):
        feeds = {
            "x:0": np.float32([[1, np.nan]]),
            "n:0": 3,
            "s:0": ["a", "b"],
            "sparse:0": {"not": "an array"},
        }
        return Shell(COMMANDS, None, call=Call(1, "Session.run()", False, feeds=feeds))

    def test_feeds_of_a_stopped_program_are_listed(self, stopped):
        answer = stopped.answer("pf")
        assert lines_of(answer) == [
            "4 feed(s):",
            "",
            "x:0  float32 (1, 2)",
            "n:0  int64 ()",
            "s:0  object (2,)",
            "sparse:0  dict",
        ]
        assert last_links_of(answer)["x:0"] == "pf x:0"

    def test_a_feed_takes_the_options_of_pt(self, stopped, tmp_path):
        lines = lines_of(stopped.answer(f'pf x:0[0] -s -r "[1, 1]" -w {tmp_path / "x.npy"}'))
        assert lines[0].startswith('Tensor "x:0[0] (feed)": Highlighted([1, 1]): 1 of 2')
        assert "Numeric summary:" in lines and (tmp_path / "x.npy").exists()
        assert lines_of(stopped.answer("pf n"))[-1] == "array(3)"
        assert lines_of(stopped.answer("pf s"))[-1] == "array(['a', 'b'], dtype=object)"
        assert lines_of(stopped.answer("pf sparse"))[-1] == "{'not': 'an array'}"

    def test_an_unknown_feed_is_one_line(self, stopped):
        assert "There is no feed loss; there is 'n:0', 's:0'" in error_of(stopped.answer("pf loss"))
        assert "did you mean 'sparse:0'?" in error_of(stopped.answer("pf sparce:0"))
        nothing = Shell(COMMANDS, None, call=Call(1, "Session.run()", False))
        assert error_of(nothing.answer("pf")) == "ERROR: Nothing is fed to Session.run()."

    def test_a_recording_says_what_was_fed(self, tmp_path):
        recording = Recording(tmp_path, mode=TensorDebugMode.FULL_TENSOR)
        recording.graph("g1", "")
        recording.op("g1", "x", "Placeholder", ids=[1])
        recording.request(1, feeds=[("x:0", 1, [2, 3]), ("y:0", 9, [])], fetches=["x:0"])
        recording.session_run(1, 1)
        recording.trace("g1", "x", whole(np.ones((2, 3), np.float32), 1))
        with shell_over(recording.close()) as shell:
            answer = shell.answer("pf")
            assert lines_of(answer) == [
                "2 feed(s) of the runs of sessions:",
                "",
                "x:0  float32 [2, 3]  recorded: x:0",
                "y:0  int64 []",
                "",
                "Values of feeds are shown at a program that is stopped, unless they are recorded.",
            ]
            assert last_links_of(answer) == {"x:0": "pt x:0"}
            assert lines_of(shell.answer("pf y"))[2:3] == ["y:0  int64 []"]
            assert "There is no feed z" in error_of(shell.answer("pf z"))

    def test_a_program_without_sessions_fed_nothing(self, steps):
        assert "No feed is on record" in error_of(steps.answer("pf"))


class TestEval:
    """`eval`."""

    @pytest.mark.parametrize(
        ("line", "last"),
        [
            ("eval np.max(np.abs(`x:0`))", "array(4., dtype=float32)"),
            ("ev `x:0[1]` - `x:0[0]`", "       [0., 1., 0.]], dtype=float32)"),
            ("eval `x:0[-1]`[1:, 1] * 2", "array([4.], dtype=float32)"),
            ("eval `#1`[1]", "array([1.3862944,      -inf, 0.6931472], dtype=float32)"),
            ("eval \"`#e6:0` == 'a b'\"", "array([ True, False, False])"),
            ('eval "`x:0` > 3"', "       [ True, False, False]])"),
            ("eval `x`.shape", "array([2, 3])"),
            ("eval `x:0`.dtype", "'float32'"),
            ("eval np.linspace(0, 9, 10)[:2]", "array([0., 1.])"),
        ],
    )
    def test_an_expression_is_computed_and_summarised(self, steps, line, last):
        lines = lines_of(steps.answer(line))
        assert last in lines and lines[0].startswith('Tensor "from eval of expression')
        assert ("Numeric summary:" in lines) is (last != "'float32'")

    def test_results_are_shown_whole_or_written(self, steps, tmp_path):
        assert any("..." in line for line in lines_of(steps.answer("eval np.arange(3000)")))
        assert not any("..." in line for line in lines_of(steps.answer("eval np.arange(3000) -a")))
        lines_of(steps.answer(f"eval `x:0` * 2 -w {tmp_path / 'x.npy'}"))
        assert np.load(tmp_path / "x.npy").shape == (2, 3)

    @pytest.mark.parametrize(
        ("line", "part"),
        [
            ("eval `y:0`", "No tensor y:0 is recorded"),
            ("eval `x:0[3]`", "x:0 was computed 3 time(s), so there is no number 3."),
            ("eval `x:0[:, 1]`", "write slices after the backticks"),
            ("eval `#99`", "There is no graph execution 99"),
            ("eval `#e6:2`", "has no value here"),
            ("eval 1 +", "is no expression"),
        ],
    )
    def test_a_mistake_is_one_line(self, steps, line, part):
        assert part in error_of(steps.answer(line))


class TestDumps:
    """Dump folders of tfdbg v1."""

    def test_other_debug_ops_are_printed_and_computed(self, tmp_path):
        for number in range(2):
            call = DumpedCall(tmp_path / f"run_100000{number}_{number}", session_run=number + 1)
            call.graph({"a": node("Const")})
            call.dump("a", np.float32([number, np.nan]), time=1_000_050 + number)
            call.dump(
                "a", np.float64([1, 2, number]), time=1_000_060 + number, debug_op="DebugNumericSummary"
            )
        with shell_over(tmp_path) as shell:
            name = "a:0:DebugNumericSummary"
            listed = shell.answer(f"pt {name}")
            assert lines_of(listed)[3:] == [f"#0 [0.000 ms] {name}", f"#1 [0.001 ms] {name}"]
            assert lines_of(shell.answer(last_links_of(listed)[name]))[-1] == "array([1., 2., 1.])"
            assert lines_of(shell.answer(f"eval `{name}[1]`[2]"))[-1] == "array(1.)"
            assert lines_of(shell.answer("eval `a:0:DebugIdentity`[0]"))[-1] == "array(1., dtype=float32)"
            device = "/job:localhost/replica:0/task:0/device:CPU:0"
            assert lines_of(shell.answer(f"eval `{device}:a:0[1]`"))[-1] == "array([ 1., nan], dtype=float32)"
            assert "there is DebugIdentity, DebugNumericSummary" in error_of(
                shell.answer("pt a:0:DebugNanCount")
            )
            assert "was not recorded on /job:localhost" in error_of(shell.answer(f"pt {device[:-1]}7:a:0"))

    def test_calls_of_a_session_are_occurrences(self, tmp_path):
        training(tmp_path)
        with shell_over(tmp_path) as shell:
            assert lines_of(shell.answer("pt step"))[0] == 'Tensor "step:0" generated 3 dumps:'
            assert lines_of(shell.answer("eval `log:0[1]`"))[-1] == "array([-inf,   0.], dtype=float32)"

    def test_what_was_not_initialised_says_so(self):
        with shell_over(_DUMPS) as shell:
            assert any(
                "not initialized" in line or "no value" in line
                for line in lines_of(shell.answer("pt variable"))
            )
            assert lines_of(shell.answer("pf"))[2] == "x:0  ?"


_WORDS = """
float float:0 long:0 texts none:0 complex #0 #e0 # [ ] [0] [::-1] [9] `float:0` ` -a -s -r
[[0,1],[2,inf]] -n 0 -1 -g loss ( ' " np.sum( ) + -t -f has_inf_or_nan -fenn --where nan>0 --dtype
float32 : /job:a/replica:0/task:0/device:CPU:0:float:0 :0:DebugX é --layer --variable dump_size op_type
99999999999999999999 #99999999999 @[0] *
""".split()
_TYPED = st.sampled_from([*_WORDS, "[..., None]", "[0, 1]", "\0"])


@given(command=st.sampled_from(["lt", "pt", "pf", "eval"]), words=st.lists(_TYPED, max_size=6))
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_is_typed_gets_an_answer(shell, command, words):
    answer = shell.answer(" ".join([command, *words]))
    shown = [text_of(line) for line in answer.lines[:50]]
    assert not any("a mistake in the shell" in line for line in shown), (words, shown)
    assert not answer.is_error or len(shown) == 1


def test_a_value_that_was_changed_at_a_breakpoint_says_so(tmp_path):
    recording = values_program(tmp_path)
    recording.execution("Fill", [whole(np.float32([1, 2]), 1)])
    recording.changed_value("Fill_3", "value * 2", graph_id="")
    recording.changed_value("Log", "np.nan_to_num(value)")
    with shell_over(recording.close()) as shell:
        changed = "  changed: the ops after it got np.nan_to_num(value)"
        assert changed in lines_of(shell.answer("pt Log -n -1"))
        assert changed not in lines_of(shell.answer("pt Log -n 0"))
        assert "  changed: the ops after it got value * 2" in lines_of(shell.answer("pt #e7"))
        assert "  changed: the ops after it got value * 2" not in lines_of(shell.answer("pt #e0"))
        node = shell.answer("ni Log")
        assert "  Changed: Log:0 to np.nan_to_num(value)" in lines_of(node)
        assert last_links_of(node)["Log:0"] == "pt #5"
        assert not any("Changed" in line for line in lines_of(shell.answer("ni x")))
