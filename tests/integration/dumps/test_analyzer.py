"""`tb_debugger_plugin/shell/commands`: answers about nodes and files are those of TensorFlow's analyzer."""

from __future__ import annotations

import gc
import re
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import config_pb2, rewriter_config_pb2
from tensorflow.python.debug.cli import analyzer_cli, cli_config, profile_analyzer_cli
from tensorflow.python.debug.lib import debug_data, debug_utils, source_utils

import tb_debugger_plugin
from tests.support.shells import lines_of, shell_over

tf1 = tf.compat.v1


def _config() -> config_pb2.ConfigProto:
    """The program's own nodes run, as far as the runtime lets them."""
    off = rewriter_config_pb2.RewriterConfig.OFF
    rewrites = rewriter_config_pb2.RewriterConfig(
        disable_meta_optimizer=True, constant_folding=off, arithmetic_optimization=off
    )
    options = config_pb2.GraphOptions(rewrite_options=rewrites)
    return config_pb2.ConfigProto(graph_options=options)


def _program() -> tf.Tensor:
    """Ops that wait for each other, an op with two outputs, and a loop."""
    end = _straight()
    loop = tf1.while_loop(lambda i: i < 3, lambda i: i + 1, [tf.constant(0)], name="loop")
    return tf.add(end, loop, name="sum")


def _straight() -> tf.Tensor:
    x = tf1.get_variable("x", initializer=np.float32([5, 3, 3]), use_resource=False)
    y = tf.add(x, x, name="y")
    with tf.control_dependencies([x]):
        waiting = tf.identity(y, name="waiting")
    z = tf.multiply(x, waiting, name="z")
    _, positions = tf.unique(z, name="unique")
    twice = tf.multiply(positions, 2, name="twice")
    with tf.control_dependencies([waiting, x]):
        return tf.reduce_sum(twice, name="end")


def _dump(folder: Path) -> None:
    """Runs the program with TensorFlow's debug ops."""
    with tf.Graph().as_default() as graph, tf1.Session(config=_config()) as session:
        end = _program()
        session.run(tf1.global_variables_initializer())
        options = config_pb2.RunOptions(output_partition_graphs=True)
        debug_utils.watch_graph(options, graph, debug_urls=f"file://{folder}")
        session.run(end, options=options)


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    """TensorFlow's analyzer and our shell over the dumps of a call, and the dumps."""
    folder = tmp_path_factory.mktemp("dumps")
    _dump(folder)
    dump = debug_data.DebugDumpDir(str(folder))
    config = cli_config.CLIConfig(str(tmp_path_factory.mktemp("config") / "config"))
    with shell_over(folder) as shell:
        yield analyzer_cli.DebugAnalyzer(dump, config), shell, dump


def _shown(dump) -> list[str]:
    """The nodes that TensorFlow shows: it fails at those that take another output than the first."""
    return [node for node in dump.nodes() if not any(":" in name for name in dump.node_inputs(node))]


def _theirs(handler, *words: str) -> list[str]:
    return [line.rstrip() for line in handler(list(words)).lines]


def test_each_node_has_tensorflows_answer(opened):
    analyzer, shell, dump = opened
    assert len(_shown(dump)) > 10
    for node in _shown(dump):
        theirs = _theirs(analyzer.node_info, node)
        ours = [line for line in lines_of(shell.answer(f"ni {node}")) if not _is_ours(line)]
        # The order of recipients is that of the graph, which TensorFlow has too, and that of hidden ones.
        assert sorted(ours) == sorted(theirs), node
        assert ours[:6] == theirs[:6]


def _is_ours(line: str) -> bool:
    return line.startswith(
        ("  Function:", "  Layer:", "  Variable:", "  Gradient of:", "  Part of the", "  Runs:")
    )


def test_a_node_that_takes_a_second_output_is_shown_where_tensorflow_fails(opened):
    analyzer, shell, dump = opened
    assert "twice" in {*dump.nodes()} - {*_shown(dump)}
    with pytest.raises(ValueError, match="unique:1"):
        analyzer.node_info(["twice"])
    assert "      [Unique] unique:1" in lines_of(shell.answer("ni twice"))


def test_each_node_has_tensorflows_attributes_and_as_many_dumps(opened):
    analyzer, shell, dump = opened
    for node in _shown(dump):
        theirs = _attributes(_theirs(analyzer.node_info, "-a", node))
        assert _attributes(lines_of(shell.answer(f"ni -a {node}"))) == theirs, node
        count = next(line for line in _theirs(analyzer.node_info, "-d", node) if "dumped tensor" in line)
        assert count in lines_of(shell.answer(f"ni -d {node}"))


def _attributes(lines: list[str]) -> dict[str, str]:
    """The attributes by name, without differences of spaces."""
    own = lines[lines.index("Node attributes:") + 1 :]
    names = [number for number, line in enumerate(own) if line.startswith("  ") and line[2] != " "]
    return {own[number].strip(): "".join(own[number + 1].split()) for number in names}


@pytest.mark.parametrize("command", ["li", "lo"])
@pytest.mark.parametrize("options", ["", "-t", "-c -t"])
def test_trees_of_depth_one_are_those_of_tensorflow(opened, command, options):
    analyzer, shell, dump = opened
    handler = analyzer.list_inputs if command == "li" else analyzer.list_outputs
    for node in dump.nodes():
        theirs = _theirs(handler, node, *options.split())
        ours = lines_of(shell.answer(f"{command} {node} {options}"))
        assert sorted(ours) == sorted(_named(theirs, command)), node


def _named(lines: list[str], command: str) -> list[str]:
    """TensorFlow's lines with the legend of inputs changed to that of recipients, which it has not."""
    if command == "li":
        return lines
    legends = {"  (Ctrl): Control input.": "  (Ctrl): Control recipient."}
    legends["  [Op]: Input node has op type Op."] = "  [Op]: Recipient node has op type Op."
    return [legends.get(line, line) for line in lines]


@pytest.mark.parametrize("command", ["li", "lo"])
@pytest.mark.parametrize("depth", [2, 3, 20])
def test_deeper_trees_show_the_nodes_of_tensorflows_once(opened, command, depth):
    analyzer, shell, dump = opened
    handler = analyzer.list_inputs if command == "li" else analyzer.list_outputs
    for node in dump.nodes():
        if "loop" in node:
            continue  # TensorFlow goes round the loop again and again
        theirs = _theirs(handler, node, "-r", "-c", "-t", "-d", str(depth))
        ours = lines_of(shell.answer(f"{command} -r -c -t -d {depth} {node}"))
        assert _nodes(ours) == _nodes(theirs), node
        assert len(ours) <= len(theirs)


def _nodes(lines: list[str]) -> set[str]:
    found = (re.search(r"\(\d+\) (.*?)(?: \(shown above\))?$", line) for line in lines)
    return {match[1] for match in found if match}


def test_source_files_have_tensorflows_counts(tmp_path):
    """Offline, where TensorFlow has none: its own answer needs the graph of the program."""
    gc.collect()  # functions of other tests would be recorded
    with tf.Graph().as_default() as graph:
        end, start = _straight(), tf1.global_variables_initializer()
        with tb_debugger_plugin.record(tmp_path / "recording"), tf1.Session() as session:
            session.run(start)
            session.run(end)
        session = tf1.Session()
        session.run(start)
        options = config_pb2.RunOptions(output_partition_graphs=True)
        debug_utils.watch_graph(options, graph, debug_urls=f"file://{tmp_path / 'dumps'}")
        session.run(end, options=options)
        session.close()
        dump = debug_data.DebugDumpDir(str(tmp_path / "dumps"))
        dump.set_python_graph(graph)
        theirs = {
            path: (nodes, tensors)
            for path, is_library, nodes, tensors, _, _ in source_utils.list_source_files_against_dump(dump)
            if not is_library
        }
        called = source_utils.annotate_source(dump, __file__)
        innermost = source_utils.annotate_source(dump, __file__, file_stack_top=True)
    with shell_over(tmp_path / "recording") as shell:
        row = next(line for line in lines_of(shell.answer("ls")) if line.startswith(__file__)).split()
        with_callers = lines_of(shell.answer(f"ps {Path(__file__).name} -m 1000 -c"))
        listing = lines_of(shell.answer(f"ps {Path(__file__).name} -m 1000"))
    assert (int(row[1]), int(row[2])) == theirs[__file__]
    assert _elements(with_callers) == {line: sorted(set(names)) for line, names in called.items()}
    assert _elements(listing) == {line: sorted(set(names)) for line, names in innermost.items()}


def _elements(lines: list[str]) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    line = 0
    for text in lines:
        match = re.match(r"L(\d+) ", f"{text} ")
        line = int(match[1]) if match else line
        if not match and text.startswith("    ") and not text.endswith("execution(s))"):
            found.setdefault(line, []).append(text.strip())
    return {line: sorted(set(names)) for line, names in found.items()}


def test_times_of_ops_are_those_of_tensorflows_profiler(tmp_path):
    gc.collect()
    metadata = config_pb2.RunMetadata()
    options = config_pb2.RunOptions(trace_level=config_pb2.RunOptions.FULL_TRACE)
    with tf.Graph().as_default() as graph:
        end, start = _straight(), tf1.global_variables_initializer()
        with tb_debugger_plugin.record(tmp_path), tf1.Session() as session:
            session.run(start)
            session.run(end, options=options, run_metadata=metadata)
        analyzer = profile_analyzer_cli.ProfileAnalyzer(graph, metadata)
        theirs = _times(_theirs(analyzer.list_profile))
        costs = _theirs(analyzer.print_source, __file__, "--cost_type", "op_time")
    with shell_over(tmp_path) as shell:
        ours = _times(lines_of(shell.answer("lp")))
        own_costs = lines_of(shell.answer(f"ps {Path(__file__).name} --cost_type op_time"))
    assert {node: row for node, row in theirs.items() if not node.startswith("TbDebugger")} == ours
    assert "twice" in ours and "Mul" in ours["twice"]
    assert _cost_lines(own_costs) == _cost_lines(costs)


def _times(lines: list[str]) -> dict[str, list[str]]:
    """The columns of each op but its start, which TensorFlow counts from 1970; without times of 0."""
    rows = [line.split() for line in lines]
    return {row[0]: [cell for cell in row[1:] if not cell.isdigit()] for row in rows if _is_time(row)}


def _is_time(row: list[str]) -> bool:
    return len(row) > 3 and any(re.fullmatch(r"[\d.]+us", cell) for cell in row) and row[0] != "Device"


def _cost_lines(lines: list[str]) -> dict[str, list[str]]:
    """Bar, time and counts by line."""
    found = (re.match(r"(\[.*\]) +(\S+) +(\S+) +(L\d+) ", line) for line in lines)
    return {match[4]: [match[1], match[2], match[3]] for match in found if match}
