"""`tb_debugger_plugin/shell/commands`: nodes, trees of their neighbours, functions, layers and variables."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tb_debugger_plugin.shell.commands.list_neighbours import MAX_LINES
from tb_debugger_plugin.shell.screen import Screen, Style
from tests.support.checkout import ROOT
from tests.support.dumps import DumpedCall, node, training
from tests.support.events import Recording, full_health, small_program
from tests.support.shells import error_of, lines_of, links_of, screen, shell_over, shells_over

GOLDEN = ROOT / "tests" / "golden"
DUMPS = GOLDEN / "dumps-tensorflow-2.21.0" / "session"


def waiting(folder: Path) -> None:
    """Writes a graph of a session in which ops wait for each other.

    ::

        x -> x/read -> y -> ctrl_y -> z -> ctrl_z        ctrl_y and ctrl_z wait for x, ctrl_z for ctrl_y
    """
    recording = Recording(folder)
    recording.source("/home/me/train.py", ["x = variable()", "y = x + x"])
    recording.frame("f1", 0, 2, "<module>")
    recording.device(1)
    recording.graph("g0")
    recording.op("g0", "x", "VariableV2", ids=[1])
    recording.op("g0", "x/read", "Identity", ["x:0"], ids=[2])
    recording.op("g0", "y", "Add", ["x/read:0", "x/read:0"], ids=[3], stack=["f1"])
    recording.op("g0", "ctrl_y", "Identity", ["y:0"], ids=[4], control_input_names=["x"])
    recording.op("g0", "z", "Mul", ["x/read:0", "ctrl_y:0"], ids=[5])
    recording.op("g0", "ctrl_z", "Identity", ["z:0"], ids=[6], control_input_names=["ctrl_y", "x"])
    recording.op("g0", "unique", "Unique", ["x/read:0"], ids=[7, 8])
    recording.op("g0", "twice", "Mul", ["unique:1"], ids=[9])
    recording.op("g0", "z/_1", "_Send", ["z:0"])
    recording.close()


def calling(folder: Path) -> None:
    """Writes a function that calls another one, which has an op of the same name.

    ::

        outer:  a -> call -> out        inner:  b -> Log
    """
    recording = Recording(folder)
    recording.device(1)
    recording.graph("g0")
    recording.graph("g1", "outer", "g0")
    recording.graph("g2", "inner", "g1")
    recording.op("g2", "b", "Placeholder", ids=[1])
    recording.op("g2", "Log", "Log", ["b:0"], ids=[2], layer="dense", variable="kernel")
    recording.op("g1", "a", "Placeholder", ids=[3])
    recording.op("g1", "call", "PartitionedCall", ["a:0"], ids=[4], called_graph_ids=["g2"])
    recording.op("g1", "Log", "Log", ["call:0"], ids=[5], outputs=[(1, [2])], gradient_of=["bias"])
    for _ in range(2):
        recording.trace("g2", "Log", full_health([[1.0, 2.0]], 2))
        recording.trace("g1", "Log", full_health([[np.nan, 2.0]], 5))
    recording.close()


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    """Shells over runs made by hand, by name."""
    folder = tmp_path_factory.mktemp("graphs")
    small_program(folder / "small").close()
    waiting(folder / "waiting")
    calling(folder / "calling")
    training(folder / "training")
    with shells_over(folder, "small", "waiting", "calling", "training") as shells:
        yield shells


def test_a_node_is_shown_with_its_data_and_control_neighbours(opened):
    shell = opened["waiting"]
    assert lines_of(shell.answer("ni ctrl_y")) == [
        "Node ctrl_y",
        "",
        "  Op: Identity",
        "  Device: not placed when the graph was made",
        "",
        "  1 input(s) + 1 control input(s):",
        "    1 input(s):",
        "      [Add] y",
        "",
        "    1 control input(s):",
        "      [VariableV2] x",
        "",
        "  1 recipient(s) + 1 control recipient(s):",
        "    1 recipient(s):",
        "      [Mul] z",
        "",
        "    1 control recipient(s):",
        "      [Identity] ctrl_z",
    ]
    assert links_of(shell.answer("ni ctrl_y"))["x"] == "ni -a -d -t x"


def test_a_recipient_is_listed_as_often_as_it_takes_the_node(opened):
    lines = lines_of(opened["waiting"].answer("ni x/read"))
    assert lines[lines.index("    4 recipient(s):") + 1 :] == [
        *("      [Add] y", "      [Add] y", "      [Mul] z", "      [Unique] unique"),
    ]


def test_a_node_is_found_by_the_name_of_its_tensor(opened):
    shell = opened["waiting"]
    assert lines_of(shell.answer("ni y:0")) == lines_of(shell.answer("node_info y"))


def test_the_ops_that_move_tensors_between_devices_are_left_out(opened):
    assert "0 recipient(s)" not in "".join(lines_of(opened["waiting"].answer("ni z")))
    assert not any("_Send" in line for line in lines_of(opened["waiting"].answer("ni z")))
    assert not any("z/_1" in line for line in lines_of(opened["waiting"].answer("lo -r z")))


def test_attributes_dumps_and_stack_come_on_demand(opened):
    shell = opened["small"]
    lines = lines_of(shell.answer("ni -a -d -t Log"))
    attributes = lines.index("Node attributes:")
    assert lines[attributes + 1 : attributes + 3] == ["  T:", "    float32"]
    dumps = lines.index("2 dumped tensor(s):")
    assert lines[dumps + 2 : dumps + 4] == ["  Slot 0 @ 1.000 ms  1 -inf", "  Slot 0 @ 7.000 ms  1 -inf"]
    stack = lines.index("Traceback of node construction:")
    assert lines[stack + 1 :] == [
        "0: /home/me/train.py",
        "  Line:     3",
        "  Function: loss",
        '  Text:     "return tf.math.log(x)"',
        "",
        "Frames of libraries:",
        "1: /usr/lib/python3.11/site-packages/tensorflow/python/ops/math_ops.py",
        "  Line:     1",
        "  Function: log",
        '  Text:     "# ops"',
        "",
    ]
    links = links_of(shell.answer("ni -a -d -t Log"))
    assert links["Line:     3"] == "ps /home/me/train.py -b 3"
    assert links["Slot 0 @ 1.000 ms"] == "pt #1"


def test_what_a_recording_does_not_hold_of_a_node_is_said(opened):
    lines = lines_of(opened["waiting"].answer("ni -a -t x"))
    assert any("Not recorded" in line for line in lines[lines.index("Node attributes:") :])
    assert lines[-1] == "(Not recorded: TensorFlow's own dumps hold no stacks.)"


def test_a_node_of_several_graphs_lists_them(opened):
    shell = opened["calling"]
    answer = shell.answer("ni -d Log")
    assert lines_of(answer)[0] == "Node Log is in 2 graphs; choose one with -g:"
    assert links_of(answer)["inner"] == "ni -d Log -g inner"
    assert "  Layer: dense" in lines_of(shell.answer("ni Log -g inner"))
    assert "  Gradient of: bias" in lines_of(shell.answer("ni Log -g g1"))
    assert links_of(shell.answer("ni call"))["Log"] == "ni -a -d -t Log -g outer"
    assert "  Runs: inner" in lines_of(shell.answer("ni call"))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("ni Lgo", "ERROR: There is no node 'Lgo'; did you mean 'Log'?"),
        ("ni other/scope/Log", "ERROR: There is no node 'other/scope/Log'; did you mean 'Log'?"),
        ("ni Log -g innner", "ERROR: There is no function 'innner'; did you mean 'inner'?"),
        ("ni call -g inner", "ERROR: call is not in the function 'inner', but in outer."),
        ("li Lgo:0", "ERROR: There is no node 'Lgo'; did you mean 'Log'?"),
        ("lo -r -d 0 call", "ERROR: The depth is 0; give a whole number from 1 on."),
        ("ni", "ERROR: node_info: the following arguments are required: NAME. `help node_info` shows"),
    ],
)
def test_a_wrong_name_is_one_line_that_says_what_there_is(opened, line, message):
    assert error_of(opened["calling"].answer(line)).startswith(message)


def test_inputs_are_shown_to_the_depth_one(opened):
    shell = opened["waiting"]
    tree = ["|- (1) x/read", "|  |- ...", "|- (1) ctrl_y", "   |- ..."]
    legend = ["", "Legend:", "  (d): recursion depth = d."]
    assert lines_of(shell.answer("li z")) == ['Inputs to node "z" (Depth limit = 1):', *tree, *legend]
    assert lines_of(shell.answer("li z:0")) == lines_of(shell.answer("list_inputs z"))
    assert links_of(shell.answer("li z"))["ctrl_y"] == "li -c -r ctrl_y"


def test_inputs_are_shown_with_types_and_control_inputs(opened):
    assert lines_of(opened["waiting"].answer("li -t ctrl_z -c")) == [
        'Inputs to node "ctrl_z" (Depth limit = 1, control inputs included):',
        *("|- (1) [Mul] z", "|  |- ...", "|- (1) (Ctrl) [Identity] ctrl_y", "|  |- ..."),
        *("|- (1) (Ctrl) [VariableV2] x", "", "Legend:", "  (d): recursion depth = d."),
        *("  (Ctrl): Control input.", "  [Op]: Input node has op type Op."),
    ]


def test_what_is_below_a_node_is_shown_once(opened):
    assert lines_of(opened["waiting"].answer("li -r -c z"))[1:-4] == [
        "|- (1) x/read",
        "|  |- (2) x",
        "|- (1) ctrl_y",
        "   |- (2) y",
        "   |  |- (3) x/read (shown above)",
        "   |  |- (3) x/read (shown above)",
        "   |- (2) (Ctrl) x",
    ]


def test_a_node_that_was_cut_off_is_shown_where_it_is_less_deep(opened):
    assert lines_of(opened["waiting"].answer("lo -r -d 2 x/read"))[1:9] == [
        *("|- (1) y", "|  |- (2) ctrl_y", "|     |- ...", "|- (1) y (shown above)"),
        *("|- (1) z", "|  |- (2) ctrl_z", "|- (1) unique", "   |- (2) twice"),
    ]


def test_the_output_of_a_node_with_several_is_named(opened):
    assert lines_of(opened["waiting"].answer("li twice"))[1] == "|- (1) unique:1"


def test_a_node_without_neighbours_has_none(opened):
    assert lines_of(opened["waiting"].answer("li x"))[1] == "  [None]"
    assert lines_of(opened["waiting"].answer("lo -r -c ctrl_z"))[1] == "  [None]"


def test_the_depth_is_a_setting(opened):
    shell = opened["waiting"]
    assert "(Depth limit = 20)" in lines_of(shell.answer("li -r z"))[0]
    lines_of(shell.answer("config set graph_recursion_depth 1"))
    try:
        assert "(Depth limit = 1)" in lines_of(shell.answer("li -r z"))[0]
        assert "(Depth limit = 3)" in lines_of(shell.answer("li -r -d 3 z"))[0]
    finally:
        shell.answer("config set graph_recursion_depth 20")


def test_the_walk_follows_into_functions_and_out_of_them(opened):
    shell = opened["calling"]
    assert lines_of(shell.answer("li -r Log -g outer"))[1:3] == [
        *("|- (1) call (runs inner)", "   |- (2) a"),
    ]
    assert lines_of(shell.answer("li -r -f Log -g outer"))[1:6] == [
        *("|- (1) call", "   |- (2) a", "   |- (2) (out) Log", "      |- (3) b", "         |- (4) (into) a"),
    ]
    assert lines_of(shell.answer("lo -r -f a"))[1:7] == [
        *("|- (1) call", "   |- (2) Log", "   |- (2) (into) b", "      |- (3) Log"),
        *("         |- (4) (out) call (shown above)", ""),
    ]


def test_a_node_with_bad_tensors_is_marked(opened):
    answer = screen(opened["small"].answer("li -r Mean"))
    styles = {part.text: part.style for line in answer.lines for part in line if part.command}
    assert (styles["Log"], styles["x"]) == (Style.BAD, Style.PLAIN)


def test_functions_are_listed_with_counts_and_links(opened):
    shell = opened["calling"]
    answer = shell.answer("lf")
    assert [line.split()[:4] for line in lines_of(answer)[4:6]] == [
        ["outer", "3", "2", "2"],
        ["inner", "2", "2", "0"],
    ]
    links = links_of(answer)
    assert links["outer"] == "lt -g '^outer$'"
    assert links["2"] == "lt -g '^outer$' -f has_inf_or_nan"
    assert len(lines_of(shell.answer("lf inner"))) == 4


def test_layers_and_variables_are_listed_with_counts_and_links(opened):
    shell = opened["calling"]
    assert lines_of(shell.answer("ll"))[3].split() == ["dense", "1", "2", "0"]
    assert links_of(shell.answer("ll"))["dense"] == "lt --layer '^dense$'"
    rows = [line.split() for line in lines_of(shell.answer("lv"))[3:]]
    assert rows == [["bias", "1", "2", "2"], ["kernel", "1", "2", "0"]]
    assert lines_of(opened["waiting"].answer("lv")) == ["No variable is on record."]


def test_dump_folders_have_nodes_and_trees(opened):
    shell = opened["training"]
    lines = lines_of(shell.answer("ni -d log"))
    assert "      [Sub] step" in lines and not any("_Send" in line for line in lines)
    assert "3 dumped tensor(s):" in lines
    assert lines_of(shell.answer("li -r -t log"))[1:4] == [
        *("|- (1) [Sub] step", "   |- (2) [Const] x", "   |- (2) [_Arg] _arg_step_0_0"),
    ]


def test_dumps_of_other_debug_ops_are_listed(tmp_path):
    call = DumpedCall(tmp_path / "run_1_1")
    call.graph({"a": node("Const")})
    call.dump("a", np.float32([1]), time=1_700_000_000_000_000)
    call.dump("a", np.float64([1] * 14), time=1_700_000_000_000_500, debug_op="DebugNumericSummary")
    with shell_over(tmp_path) as shell:
        answer = shell.answer("ni -d a")
    assert lines_of(answer)[-4:] == [
        *("2 dumped tensor(s):", "", "  Slot 0 @ 0.000 ms", "  Slot 0 @ DebugNumericSummary @ 0.500 ms"),
    ]
    assert links_of(answer)["Slot 0 @ DebugNumericSummary @ 0.500 ms"] == "pt a:0:DebugNumericSummary"


def test_the_graphs_of_dump_folders_have_attributes_but_no_stacks():
    with shell_over(DUMPS) as shell:
        lines = lines_of(shell.answer("ni -a -t logs"))
    assert lines[lines.index("Node attributes:") :][1:3] == ["  T:", "    type: DT_FLOAT"]
    assert lines[-1] == "(Not recorded: TensorFlow's own dumps hold no stacks.)"


def test_recordings_of_tensorflow_itself_have_nodes_stacks_and_trees():
    with shell_over(GOLDEN / "tensorflow-2.21.0" / "FULL_HEALTH") as shell:
        lines = lines_of(shell.answer("ni -d -t Log"))
        assert "2 dumped tensor(s):" in lines and "0: /home/user/program.py" in lines
        assert lines_of(shell.answer("li -r -t mul -g loss"))[1:3] == [
            *("|- (1) [Neg] Neg", "|  |- (2) [Placeholder] labels"),
        ]


@pytest.mark.parametrize("name", ["a b", "x[0", "don't", 'say "hi"', "`x`", "a>b"])
def test_a_name_with_any_letter_is_one_word_of_its_links(tmp_path, name):
    recording = Recording(tmp_path)
    recording.graph("g0")
    recording.op("g0", name, "Const", ids=[1])
    recording.op("g0", "user", "Log", [f"{name}:0"], ids=[2])
    with shell_over(recording.close()) as shell:
        command = links_of(shell.answer("ni user"))[name]
        assert lines_of(shell.answer(command))[0] == f"Node {name}"
        tree = links_of(shell.answer("li user"))[name]
        assert lines_of(shell.answer(tree))[1] == "  [None]"


def test_a_tree_of_a_large_graph_is_bounded(tmp_path):
    """Each op takes both ops before it, so that there are more ways than atoms."""
    recording = Recording(tmp_path)
    recording.graph("g0")
    for op in range(4000):
        recording.op("g0", f"op{op}", "Add", [f"op{n}:0" for n in (op - 1, op - 2) if n >= 0], ids=[op])
    with shell_over(recording.close()) as shell:
        shell.answer("ni op0")
        answer = shell.answer("li -r -d 3999 op3999")
        lines = lines_of(answer)
        assert len(lines) < MAX_LINES and sum("op0 " in f"{line} " for line in lines) == 2
        # All ways would be 2 ** 15.
        assert len(lines_of(shell.answer("li -r -d 15 op3999"))) < 400


def test_a_tree_with_too_many_lines_is_cut_with_a_word(tmp_path):
    recording = Recording(tmp_path)
    recording.graph("g0")
    recording.op("g0", "x", "Const", ids=[1])
    for op in range(MAX_LINES + 5):
        recording.op("g0", f"op{op}", "Neg", ["x:0"])
    with shell_over(recording.close()) as shell:
        answer = shell.answer("lo x")
    assert isinstance(answer, Screen)
    assert f"(Cut after {MAX_LINES:,} lines: give a smaller depth with -d.)" in lines_of(answer)


def test_the_links_to_tensors_lead_to_values(tmp_path):
    """Also where two graphs of one name have the tensor."""
    recording = Recording(tmp_path)
    recording.source("/home/me/net.py", ["log()"])
    recording.frame("f1", 0, 1, "call")
    for graph in ("g1", "g2"):
        recording.graph(graph, "call")
        recording.op(graph, "Log", "Log", ids=[1], stack=["f1"])
    recording.trace("g2", "Log", full_health([[np.nan, 2.0]], 5))
    recording.trace("g1", "Log", full_health([[1.0, 2.0]], 5))
    with shell_over(recording.close()) as shell:
        made = [
            part.command for line in screen(shell.answer("ps net.py")).lines for part in line if part.command
        ]
        assert made == ["pt Log:0 -g g1", "pt Log:0 -g g2"]
        counted = [[line for line in lines_of(shell.answer(command)) if "total" in line] for command in made]
        assert [len(lines) for lines in counted] == [1, 1] and "nan" in counted[1][0]
        dumps = links_of(shell.answer("ni -d Log -g g1"))
        assert lines_of(shell.answer(dumps["Slot 0 @ 1.000 ms"]))[0].startswith("Tensor")


def test_the_links_to_dumps_of_other_debug_ops_lead_to_values(tmp_path):
    call = DumpedCall(tmp_path / "run_1_1")
    call.graph({"a": node("Const")})
    call.dump("a", np.float32([1]), time=1_700_000_000_000_000)
    call.dump("a", np.float64([7] * 14), time=1_700_000_000_000_500, debug_op="DebugNumericSummary")
    with shell_over(tmp_path) as shell:
        links = links_of(shell.answer("ni -d a"))
        for text, command in links.items():
            assert lines_of(shell.answer(command)), text
