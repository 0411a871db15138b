"""`tb_debugger_plugin/shell/commands`: source files and their lines, and what the ops of each line took."""

from __future__ import annotations

from pathlib import Path

import pytest

from tb_debugger_plugin.errors import UsageError
from tb_debugger_plugin.shell.times import Interval, date_of, in_unit, parse_interval
from tests.support.checkout import ROOT
from tests.support.dumps import training
from tests.support.events import Recording, full_health, small_program
from tests.support.shells import error_of, lines_of, links_of, screen, shell_over, shells_over

GOLDEN = ROOT / "tests" / "golden"
LIBRARY = "/usr/lib/python3.11/site-packages/tensorflow/python/ops/math_ops.py"


def profiled(folder: Path) -> None:
    """Writes a session whose runs 1 and 3 were profiled; line 2 made `a` and `b`, line 3 made `c`."""
    recording = Recording(folder)
    recording.source("/home/me/net.py", ["import tf", "ab = a() + b()", "c()", "done()"])
    recording.source(LIBRARY, ["# ops"])
    recording.frame("f2", 0, 2, "build")
    recording.frame("f3", 0, 3, "build")
    recording.frame("f9", 1, 1, "op")
    recording.device(1)
    recording.graph("g0")
    recording.op("g0", "a", "MatMul", ids=[1], stack=["f2", "f9"])
    recording.op("g0", "b", "Add", ids=[2], stack=["f2", "f9"])
    recording.op("g0", "c", "MatMul", ids=[3], stack=["f3", "f9"])
    recording.request(1, fetches=["c:0"])
    begin = 1_700_000_000_000_000
    for run in (1, 2, 3):
        recording.session_run(run, 1)
        if run == 2:
            continue
        times = [("_SOURCE", begin, 0, 1, 1), ("a", begin + 10, 1, 100 * run, 110 * run)]
        times += [("b", begin + 200, 1, 50, 300), ("fused", begin + 300, 1, 5, 6)]
        recording.op_times(run, "/device:CPU:0", times)
        recording.op_times(run, "/device:GPU:0", [("c", begin + 400, 2, 2000, 2500)])
    recording.close()


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    """Shells over runs made by hand, by name."""
    folder = tmp_path_factory.mktemp("sources")
    small_program(folder / "small").close()
    profiled(folder / "profiled")
    training(folder / "training")
    with shells_over(folder, "small", "profiled", "training") as shells:
        yield shells


def test_files_of_the_program_come_before_those_of_libraries(opened):
    answer = opened["small"].answer("ls")
    assert [line.split() for line in lines_of(answer)] == [
        "List of source files that created nodes in this run".split(),
        [],
        ["Files", "of", "the", "program:"],
        ["Source", "file", "path", "#(nodes)", "#(tensors)", "#(tensor", "dumps)", "#(executions)"],
        ["/home/me/train.py", "4", "4", "8", "4"],
        [],
        ["Files", "of", "libraries:"],
        ["Source", "file", "path", "#(nodes)", "#(tensors)", "#(tensor", "dumps)"],
        [LIBRARY, "1", "1", "2"],
    ]
    assert links_of(answer)["/home/me/train.py"] == "ps /home/me/train.py -b 3"


def test_files_are_filtered_by_path_and_node(opened):
    shell = opened["small"]
    lines = lines_of(shell.answer("ls -p train -n 'M|L'"))
    assert lines[1:3] == ['File path regex filter: "train"', 'Node name regex filter: "M|L"']
    assert lines[6].split() == ["/home/me/train.py", "2", "2", "4"]
    assert lines[-1] == "[No files.]"
    assert lines_of(shell.answer("ls -n ^$"))[-1] == "[No source file fits.]"
    assert lines_of(shell.answer("ls -n og"))[-1] == "[No source file fits.]"


def test_a_file_is_printed_with_the_nodes_of_each_line(opened):
    shell = opened["small"]
    answer = shell.answer("ps /home/me/train.py")
    assert lines_of(answer) == [
        "L1  import tensorflow as tf",
        "L2  def loss(x):",
        "L3    return tf.math.log(x)",
        *("    Log", "    Mean", "    mul", "    x", "    (4 execution(s))"),
    ]
    assert links_of(answer)["Log"] == "pt Log:0"
    assert links_of(answer)["(4 execution(s))"] == "le -p /home/me/train.py -l 3"
    assert lines_of(shell.answer("le -p /home/me/train.py -l 3"))[0].startswith("4 execution(s) run by")
    assert lines_of(shell.answer("print_source train.py")) == lines_of(answer)


def test_a_node_without_dumps_leads_to_the_node(opened):
    assert links_of(opened["profiled"].answer("ps net.py"))["a"] == "ni -a -d -t a"


def test_a_file_is_printed_with_tensors(opened):
    shell = opened["small"]
    tensors = ["    Log:0", "    Mean:0", "    mul:0", "    x:0"]
    assert lines_of(shell.answer("ps -t train.py"))[3:7] == tensors
    assert lines_of(shell.answer("ps train.py --tensors"))[3:7] == tensors


def test_many_nodes_of_a_line_are_left_out_with_a_link(opened):
    answer = opened["small"].answer("ps train.py -m 1 -t")
    assert lines_of(answer)[3:5] == ["    Log:0", "    (... Omitted 3 of 4 tensor(s) ...) +5"]
    assert links_of(answer)["+5"] == "ps /home/me/train.py -b 3 -m 6 -t"
    more = lines_of(opened["small"].answer(links_of(answer)["+5"]))
    assert "    x:0" in more and not any("Omitted" in line for line in more)


def test_a_file_begins_at_a_line(opened):
    shown = screen(opened["small"].answer("ps train.py -b 3"))
    assert (shown.begin, shown.lines[2][0].text.strip()) == (2, "L3")
    assert screen(opened["small"].answer("ps train.py -b 99")).begin == 0


def test_no_path_of_a_recording_is_opened(tmp_path):
    """The recording names a file that exists here, and does not hold its lines."""
    secret = tmp_path / "secret.py"
    secret.write_text("password\n")
    recording = Recording(tmp_path / "run")
    recording.source(str(secret), [])
    recording.frame("f1", 0, 1, "f", around=(0, ()))
    recording.graph("g0")
    recording.op("g0", "a", "Const", ids=[1], stack=["f1"])
    with shell_over(recording.close()) as shell:
        assert lines_of(shell.answer("ps secret.py")) == ["L1  (not on record)", "    a"]


def test_lines_around_frames_are_printed_with_gaps(tmp_path):
    recording = Recording(tmp_path)
    recording.source("/lib/net.py", [])
    recording.frame("f1", 0, 5, "f", around=(4, ["four", "five"]))
    recording.frame("f2", 0, 20, "g", around=(20, ["twenty"]))
    recording.graph("g0")
    recording.op("g0", "a", "Const", ids=[1], stack=["f1", "f2"])
    with shell_over(recording.close()) as shell:
        assert lines_of(shell.answer("ps net.py")) == [
            *("...", "L4   four", "L5   five", "...", "L20  twenty", "    a"),
        ]


def test_a_node_belongs_to_the_innermost_line_of_a_file(tmp_path):
    recording = Recording(tmp_path)
    recording.source("/a/main.py", ["f()", "def f(): op()"])
    recording.frame("f1", 0, 1, "<module>")
    recording.frame("f2", 0, 2, "f")
    recording.graph("g0")
    recording.op("g0", "a", "Const", ids=[1], stack=["f1", "f2"])
    with shell_over(recording.close()) as shell:
        assert lines_of(shell.answer("ps main.py")) == ["L1  f()", "L2  def f(): op()", "    a"]
        assert lines_of(shell.answer("ps main.py -c")) == ["L1  f()", "    a", "L2  def f(): op()", "    a"]


def test_two_hosts_with_one_file_count_together(tmp_path):
    for host in ("w0", "w1"):
        small_program(tmp_path, host=host).close()
    with shell_over(tmp_path) as shell:
        assert lines_of(shell.answer("ls -p train"))[5].split() == ["/home/me/train.py", "8", "8", "16", "8"]
        assert lines_of(shell.answer("ps train.py"))[3:5] == ["    Log", "    Log"]
        assert "2 hosts have" in error_of(shell.answer("le -p train.py"))


@pytest.mark.parametrize(
    ("name", "line", "message"),
    [
        ("small", "ps nothing.py", "ERROR: No source file has 'nothing.py' in its path; `ls` lists those"),
        ("small", "ps .py", "ERROR: 2 source files have '.py': /home/me/train.py, /usr/lib"),
        ("small", "ps", "ERROR: print_source: give a path; `ls` lists them."),
        ("small", "ps train.py -m 0", "ERROR: -m is 0; give a whole number from 1 on."),
        ("small", "ls -p (", "ERROR: A ) is missing."),
        ("small", "ls -p '*'", "ERROR: the path filter is not a regular expression"),
        ("small", "ls -n '*'", "ERROR: the node name filter is not a regular expression"),
        ("small", "lp", "ERROR: No run of a session was profiled: `run -p` profiles the next one"),
        ("small", "ps train.py --cost_type op_time", "ERROR: No run of a session was profiled"),
        (
            "small",
            "ps train.py --cost_type size",
            "ERROR: print_source: argument --cost_type: invalid choice",
        ),
        (
            "training",
            "ps train.py",
            "ERROR: No source files are on record: TensorFlow's own dumps hold none.",
        ),
        (
            "profiled",
            "lp -s size",
            "ERROR: lp cannot sort by 'size': choose one of node, op_type, start_time",
        ),
        ("profiled", "lp --time_unit h", "ERROR: There is no time unit 'h': choose one of us, ms, s."),
        ("profiled", "lp -e 100", "ERROR: '100' is no interval of times: write '>100ms'"),
        ("profiled", "lp -n '*'", "ERROR: the node name filter is not a regular expression"),
        (
            "profiled",
            "lp --run 2",
            "ERROR: No such run was profiled; the last ones are run 1 of session 1, 3 of",
        ),
    ],
)
def test_a_wrong_line_is_an_error_of_one_line(opened, name, line, message):
    assert error_of(opened[name].answer(line)).startswith(message)


def test_dump_folders_have_no_source_files(opened):
    assert lines_of(opened["training"].answer("ls"))[-1].startswith("[No source files are on record")


def test_recordings_of_tensorflow_itself_have_source_files():
    with shell_over(GOLDEN / "tensorflow-2.21.0" / "FULL_HEALTH") as shell:
        lines = lines_of(shell.answer("ls"))
        assert lines[4].split()[0] == "/home/user/program.py"
        listing = lines_of(shell.answer("ps program.py"))
        at = next(number for number, line in enumerate(listing) if line.startswith("L11 "))
        assert listing[at + 1 : at + 4] == ["    Log", "    Neg", "    mul"]


def test_the_times_of_the_last_profiled_run_are_listed_by_device(opened):
    answer = opened["profiled"].answer("lp")
    assert [line.split() for line in lines_of(answer)] == [
        "Run 3 of session 1 others: run 1 of session 1".split(),
        [],
        "Device 1 of 2: /device:CPU:0".split(),
        [],
        "Node Op Type Start Time (us) Op Time (us) Exec Time (us) Filename:Lineno(function)".split(),
        "a MatMul 0 300us 330us net.py:2(build)".split(),
        "b Add 190 50us 300us net.py:2(build)".split(),
        "fused 290 5us 6us".split(),
        [],
        "Device Total 355us 636us".split(),
        [],
        "Device 2 of 2: /device:GPU:0".split(),
        [],
        "Node Op Type Start Time (us) Op Time (us) Exec Time (us) Filename:Lineno(function)".split(),
        "c MatMul 390 2000us 2500us net.py:3(build)".split(),
        [],
        "Device Total 2000us 2500us".split(),
    ]
    links = links_of(answer)
    assert links["a"] == "ni -a -d -t a" and "fused" not in links
    assert links["net.py:2(build)"] == "ps /home/me/net.py --cost_type exec_time --init_line 2"
    assert links["Start Time (us)"] == "lp -s start_time -r"
    assert lines_of(opened["profiled"].answer(links["run 1 of session 1"]))[5].split()[3] == "100us"


def nodes(answer) -> list[str]:
    """The nodes of a list of times."""
    return [line.split()[0] for line in lines_of(answer) if "us  " in line and line[0].islower()]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("-s op_time", ["fused", "b", "a", "c"]),
        ("-s exec_time -r", ["a", "b", "fused", "c"]),
        ("-s node -r", ["fused", "b", "a", "c"]),
        ("-s line", ["fused", "a", "b", "c"]),
        ("-s op_type", ["fused", "b", "a", "c"]),
        ("-d .*GPU", ["c"]),
        ("-n 'a|c'", ["a", "c"]),
        ("-t MatMul", ["a", "c"]),
        ("-f /home/me/net.py --min_lineno 3", ["c"]),
        ("--max_lineno 3", ["a", "b", "fused"]),
        ("-e '>300us'", ["a", "c"]),
        ("-e '[300us, 1ms]'", ["a", "b"]),
        ("-o '<.1ms'", ["b", "fused"]),
    ],
)
def test_times_are_sorted_and_filtered(opened, options, expected):
    assert nodes(opened["profiled"].answer(f"lp {options}")) == expected


def test_times_are_in_a_unit(opened):
    lines = lines_of(opened["profiled"].answer("lp --time_unit ms -n c"))
    assert lines[5].split()[2:5] == ["390", "2ms", "2.5ms"]
    assert lines[4].split("  ")[-1] == "Filename:Lineno(function)" and "Op Time (ms)" in lines[4]


def test_a_file_is_printed_with_what_each_line_cost(opened):
    answer = opened["profiled"].answer("ps net.py --cost_type exec_time")
    assert lines_of(answer) == [
        "             exec_time   #nodes    lineno",
        "                         (#execs)  source",
        "                                   L1 import tf",
        "[|||       ] 630us       2(2)      L2 ab = a() + b()",
        "[||||||||||] 2500us      1(1)      L3 c()",
        "                                   L4 done()",
    ]
    links = links_of(answer)
    assert links["2(2)"] == "lp -f '/home/me/net\\.py$' --min_lineno 2 --max_lineno 3"
    assert nodes(opened["profiled"].answer(links["2(2)"])) == ["a", "b"]


def test_the_cost_of_lines_is_filtered_and_scrolled(opened):
    shell = opened["profiled"]
    answer = shell.answer("ps net.py --cost_type op_time -t MatMul --time_unit ms --init_line 3 --run 1")
    assert screen(answer).begin == 4
    assert [line.split()[:2] for line in lines_of(answer)[3:5]] == [["[|", "]"], ["[||||||||||]", "2ms"]]
    assert links_of(answer)["1(1)"].endswith("--op_type_filter MatMul --run 1")
    nothing = lines_of(shell.answer("ps net.py --cost_type op_time -d TPU"))
    assert nothing == ["No op of run 3 of session 1 that fits was made in /home/me/net.py."]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (">100ms", Interval(100_000, False, float("inf"), False)),
        (">= 1.5s", Interval(1_500_000, True, float("inf"), False)),
        ("<3", Interval(0, True, 3, False)),
        ("<=.5us", Interval(0, True, 0.5, True)),
        ("[100us, 2ms)", Interval(100, True, 2000, False)),
        ("(1, 2]", Interval(1, False, 2, True)),
    ],
)
def test_an_interval_is_parsed(text, expected):
    assert parse_interval(text) == expected


@pytest.mark.parametrize("text", ["", "100", "[1, 2", "[1]", "[2, 1]", ">x", "[1, 2, 3]", "<-1", ">1h"])
def test_what_is_no_interval_is_refused(text):
    with pytest.raises(UsageError):
        parse_interval(text)


def test_an_interval_knows_whether_it_has_its_ends():
    half_open = parse_interval("(1, 2]")
    assert [half_open.has(time) for time in (1, 1.5, 2, 3)] == [False, True, True, False]


@pytest.mark.parametrize("seconds", [1e300, -1e300, float("inf"), float("nan")])
def test_a_damaged_time_is_shown_as_it_is(seconds):
    assert date_of(seconds) == f"{seconds} s"


def test_a_time_has_at_most_three_decimals():
    assert [in_unit(1234, unit) for unit in ("us", "ms", "s")] == ["1234us", "1.234ms", "0.001s"]
    assert in_unit(0, "ms") == "0"


def test_a_bad_value_on_a_line_is_marked(opened):
    shell = opened["small"]
    shown = screen(shell.answer("ps train.py"))
    styles = {part.text: part.style.value for line in shown.lines for part in line if part.command}
    assert (styles["Log"], styles["x"]) == ("bad", "plain")


def test_a_stack_with_frames_that_are_missing_lists_no_files(tmp_path):
    recording = Recording(tmp_path)
    recording.graph("g0")
    recording.op("g0", "a", "Const", ids=[1], stack=["gone"])
    recording.trace("g0", "a", full_health([1.0]))
    with shell_over(recording.close()) as shell:
        assert lines_of(shell.answer("ls"))[-1].startswith("[No source files are on record")
