"""`capture/keep_values.py`: chosen values are on record whole, with summaries of everything else.

The oracle is what the program itself returns or computes again, and the same recording without `keep_values`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import tb_debugger_plugin
from tb_debugger_plugin import KeepValues, native
from tb_debugger_plugin.capture import placement
from tb_debugger_plugin.cli.main import main
from tb_debugger_plugin.errors import UsageError
from tb_debugger_plugin.events.messages import Message
from tb_debugger_plugin.events.modes import MEASURED, SUMMARY_COLUMNS, TensorDebugMode
from tb_debugger_plugin.keras import DebuggerCallback
from tests.support.events import snapshot_of
from tests.support.recorded import Recorded, counts, read, summary

pytestmark = [
    pytest.mark.tensorflow,
    pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning"),  # Keras's own
]

WHOLE = TensorDebugMode.FULL_TENSOR
MODES = ["NO_TENSOR", "CURT_HEALTH", "CONCISE_HEALTH", "FULL_HEALTH", "SHAPE", "FULL_NUMERICS"]
X = np.array([[0.0, 0.5, 1.0], [2.0, 3.0, 4.0]], np.float32)
F8 = tf.dtypes.experimental.float8_e5m2


def as_array(proto: Message) -> np.ndarray:
    """The tensor in a TensorProto, as TensorFlow reads it."""
    stock = tf.make_tensor_proto(0)
    stock.ParseFromString(proto.SerializeToString())
    return tf.make_ndarray(stock)


def is_whole(mode: int, proto: Message) -> bool:
    return mode == WHOLE and proto.dtype != 0 and not proto.summary_mode


def kept(recorded: Recorded) -> dict[str, list[np.ndarray]]:
    """The values on record of tensors in graphs, by op name, in the order in which they were computed."""
    values: dict[str, list[np.ndarray]] = {}
    for trace in recorded.records("graph_execution_trace"):
        if is_whole(trace.tensor_debug_mode, trace.tensor_proto):
            values.setdefault(trace.op_name, []).append(as_array(trace.tensor_proto))
    return values


def kept_eager(recorded: Recorded, op_type: str) -> list[np.ndarray | None]:
    """The outputs on record of eager ops of a type; None for an output that is not kept."""
    return [
        as_array(proto) if is_whole(e.tensor_debug_mode, proto) else None
        for e in recorded.executions
        if e.op_type == op_type
        for proto in e.tensor_protos
    ]


def assert_same(actual: dict[str, list[np.ndarray]], expected: dict[str, list[np.ndarray]]) -> None:
    assert sorted(actual) == sorted(expected)
    for name, values in expected.items():
        assert len(actual[name]) == len(values), name
        for mine, theirs in zip(actual[name], values, strict=True):
            theirs = np.asarray(theirs)
            assert (mine.dtype, mine.shape) == (theirs.dtype, theirs.shape)
            assert mine.tobytes() == theirs.tobytes(), name


@tf.function
def inner(x: tf.Tensor) -> tf.Tensor:
    return tf.exp(x, name="inner_exp")


@tf.function
def program(x: tf.Tensor) -> dict[str, tf.Tensor]:
    """Returns the tensors that it computes, by op name."""
    with tf.name_scope("first"):
        root = tf.sqrt(x, name="root")
        log = tf.math.log(root, name="log")
    flat = tf.reshape(log, [-1], name="flat")
    index = tf.argmax(flat, name="index")
    inside = inner(root)
    return {
        "x": x,
        "first/root": root,
        "first/log": log,
        "flat": flat,
        "index": index,
        "inner_exp": inside,
    }


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("keep", "names"),
    [
        ("^first/", {"first/root", "first/log"}),
        (KeepValues(op_regex="Log$|Arg"), {"first/log", "index"}),
        (KeepValues(name_regex="^first/", op_regex="Sqrt"), {"first/root"}),
        ([KeepValues(name_regex="flat$"), KeepValues(name_regex="^index$")], {"flat", "index"}),
        (KeepValues(function_regex="^inner$", op_regex="Exp"), {"inner_exp"}),
        (KeepValues(layer_regex="dense"), set()),
        (KeepValues(name_regex="no such name"), set()),
    ],
    # Two processes collect the same ids: a set has no order.
    ids=lambda value: " ".join(sorted(value)) if isinstance(value, set) else str(value),
)
def test_what_is_chosen_has_its_value_and_the_rest_its_summary(
    tmp_path: Path, mode: str, keep: object, names: set[str]
) -> None:
    results = []
    for folder, options in (("plain", {}), ("keeping", {"keep_values": keep})):
        with tb_debugger_plugin.record(tmp_path / folder, mode, **options):
            results = [{name: value.numpy() for name, value in program(x).items()} for x in (X, X + 1)]
    plain, keeping = read(tmp_path / "plain"), read(tmp_path / "keeping")
    assert_same(kept(keeping), {name: [result[name] for result in results] for name in names})
    others = [trace.op_name for trace in plain.traces if trace.op_name not in names]
    assert others
    for name in set(others):
        expected = [
            (t.mode, t.without_id if t.mode in SUMMARY_COLUMNS else []) for t in plain.traces_of(name)
        ]
        actual = [
            (t.mode, t.without_id if t.mode in SUMMARY_COLUMNS else []) for t in keeping.traces_of(name)
        ]
        assert actual == expected


def with_table(value: np.ndarray) -> Callable[[], list[tf.Tensor]]:
    """A program with a constant."""
    return lambda: tf.identity_n([tf.constant(value, name="table")])


DTYPES: list[np.ndarray | np.generic] = [
    *(np.array([1.5, np.nan], np.float16), np.array([[1, -2, 3]], np.int8), np.array([True, False])),
    *(
        np.array([1 + 2j, complex(np.inf, 0)], np.complex64),
        np.array(7, np.uint64),
        np.zeros([0, 3], np.int64),
    ),
    *(
        np.array([[b"", b"short"], [b"long enough to stand on the heap", b"\x00\xff"]], object),
        np.float64(-0.0),
    ),
    *(tf.constant([1.5, np.inf], tf.bfloat16).numpy(), tf.cast([1.0, -0.25], F8).numpy()),
]


@pytest.mark.parametrize("mode", ["NO_TENSOR", "FULL_HEALTH", "SHAPE", "FULL_NUMERICS"])
def test_values_of_every_dtype_are_kept_in_graphs_as_constants_and_of_eager_ops(
    tmp_path: Path, mode: str
) -> None:
    keep = [KeepValues(op_regex="IdentityN$"), KeepValues(op_regex="Const")]
    with tb_debugger_plugin.record(tmp_path, mode, keep_values=keep):
        for value in DTYPES:
            constant = tf.constant(value)
            tf.identity_n([constant, tf.constant(0)])
            tf.function(lambda x: tf.identity_n([x, tf.constant(0)], name="pair"))(constant)
            if value.dtype != F8.as_numpy_dtype:  # TensorFlow has no constants of float8 in graphs
                tf.function(with_table(value))()
    recorded = read(tmp_path)
    in_graphs = [
        as_array(trace.tensor_proto)
        for trace in recorded.records("graph_execution_trace")
        if trace.op_name == "pair" and trace.output_slot == 0
    ]
    eager, tables = kept_eager(recorded, "IdentityN")[::2], kept(recorded)["table"]
    small = [value for value in DTYPES if value.dtype != F8.as_numpy_dtype]
    for actual, expected in ((in_graphs, DTYPES), (eager, DTYPES), (tables, small)):
        assert len(actual) == len(expected)
        for mine, theirs in zip(actual, expected, strict=True):
            assert (mine.dtype, mine.shape) == (theirs.dtype, theirs.shape)
            assert (
                mine.tolist() == theirs.tolist()
                if theirs.dtype == object
                else mine.tobytes() == theirs.tobytes()
            )


@pytest.mark.parametrize("mode", MODES)
def test_only_bad_values_are_kept_each_time_they_are_computed(tmp_path: Path, mode: str) -> None:
    function = tf.function(lambda x: (tf.math.log(x, name="log"), tf.cast(x, tf.int32, name="whole")))
    batches = [X + 1, X, X + 2, -X]
    results = []
    with tb_debugger_plugin.record(tmp_path, mode, keep_values=KeepValues(only_bad=True)):
        for x in batches:
            results.append(function(x)[0].numpy())
            tf.math.log(x)
    recorded = read(tmp_path)
    bad = [value for value in results if not np.isfinite(value).all()]
    assert len(bad) == 2
    assert_same(kept(recorded), {"log": bad})
    assert len(recorded.traces_of("log")) == 4
    eager = kept_eager(recorded, "Log")
    assert [value is not None for value in eager] == [False, True, False, True]
    for value in (eager[1], eager[3]):
        assert value.tobytes() in {each.tobytes() for each in bad}
    if mode == "FULL_HEALTH":
        modes = [trace.mode for trace in recorded.traces_of("log")]
        assert modes == [4, WHOLE, 4, WHOLE]
        good = [trace.counts for trace in recorded.traces_of("log") if trace.mode != WHOLE]
        assert good == [counts(results[0]), counts(results[2])]


@pytest.mark.parametrize("mode", MODES)
def test_a_value_above_the_limit_leaves_the_summary_of_the_recording_and_its_size(
    tmp_path: Path, mode: str
) -> None:
    function = tf.function(lambda x: tf.identity_n([x], name="watched"))
    values = [np.ones(3, np.float32), np.array([1.0, np.nan, 0, 2], np.float32), np.arange(4, dtype=np.int64)]
    with tb_debugger_plugin.record(
        tmp_path, mode, keep_values=KeepValues(op_regex="IdentityN", max_tensor_bytes=12)
    ):
        for value in values:
            function(value)
            tf.identity_n([tf.constant(value)])
    recorded = read(tmp_path)
    in_graphs = [trace for trace in recorded.records("graph_execution_trace") if trace.op_name == "watched"]
    executions = [e for e in recorded.executions if e.op_type == "IdentityN"]
    assert (
        {trace.tensor_debug_mode for trace in in_graphs}
        == {WHOLE}
        == {e.tensor_debug_mode for e in executions}
    )
    own = TensorDebugMode[mode] if TensorDebugMode[mode] in SUMMARY_COLUMNS else TensorDebugMode.FULL_HEALTH
    for protos in ([t.tensor_proto for t in in_graphs], [e.tensor_protos[0] for e in executions]):
        said = [(proto.summary_mode, proto.left_out_bytes) for proto in protos]
        assert said == [(0, 0), (own, 16), (TensorDebugMode.SHAPE, 32)]
        columns = dict(zip(SUMMARY_COLUMNS[own], summary(protos[1]), strict=True))
        expected = dict(
            zip(
                ("size", "neg_inf", "pos_inf", "nan", "negative", "zero", "positive"),
                counts(values[1]),
                strict=True,
            )
        )
        assert all(columns[name] == expected[name] for name in columns if name in expected)


def test_values_are_kept_until_the_total_is_used_up(tmp_path: Path) -> None:
    function = tf.function(lambda x: tf.negative(x, name="negative"))
    keep = [
        KeepValues(name_regex="negative", max_total_bytes=3 * X.nbytes + 1),
        KeepValues(op_regex="Neg", only_bad=True),
    ]
    with tb_debugger_plugin.record(tmp_path, keep_values=keep):
        results = [function(X + i).numpy() for i in range(5)]
        last = function(X + np.nan).numpy()
        tf.negative(X)
    recorded = read(tmp_path)
    assert_same(kept(recorded), {"negative": [*results[:3], last]})
    left_out = [proto for proto in recorded.protos_of("negative") if proto.summary_mode]
    assert [proto.left_out_bytes for proto in left_out] == [X.nbytes] * 2
    assert [summary(proto)[4:] for proto in left_out] == [counts(value) for value in results[3:]]


@pytest.mark.parametrize("total", [None, 10])
def test_a_circular_buffer_keeps_the_last_values_and_no_more_than_the_total(
    tmp_path: Path, total: int | None
) -> None:
    function = tf.function(lambda x: tf.exp(tf.negative(x, name="negative"), name="exp"))
    value = np.zeros([1000], np.float32)
    keep = KeepValues(name_regex="negative", max_total_bytes=total and total * value.nbytes)
    with tb_debugger_plugin.record(tmp_path, circular_buffer_size=60, keep_values=keep):
        for step in range(300):
            function(value + step)
        (tail,) = tmp_path.glob("*.graph_execution_traces.tail")
        assert tail.stat().st_size < 60 * 1000 + 4 * 20 * value.nbytes
    recorded = read(tmp_path)
    assert len(recorded.traces) == 60
    values = [-each[0] for each in kept(recorded)["negative"]]
    assert values == sorted(values) and set(values) <= set(range(280, 300))
    if total is None:
        assert values == list(range(280, 300))
    else:
        assert 5 <= len(values) <= total


def test_an_execution_with_a_value_says_what_its_other_outputs_have(tmp_path: Path) -> None:
    @tf.function
    def function(x: tf.Tensor) -> tuple[tf.Tensor, ...]:
        return x + 1.0, tf.math.log(x), tf.cast(x, tf.int32)

    with tb_debugger_plugin.record(tmp_path, "FULL_HEALTH", keep_values=KeepValues(only_bad=True)):
        good, bad, _ = function(X)
        function(X + 1)
    recorded = read(tmp_path)
    first, second = [e for e in recorded.executions if e.graph_id]
    assert (first.tensor_debug_mode, second.tensor_debug_mode) == (WHOLE, TensorDebugMode.FULL_HEALTH)
    assert [proto.summary_mode for proto in first.tensor_protos] == [TensorDebugMode.FULL_HEALTH, 0, 0]
    assert summary(first.tensor_protos[0])[4:] == counts(good)
    assert as_array(first.tensor_protos[1]).tobytes() == bad.numpy().tobytes()
    assert not first.tensor_protos[2].ByteSize()
    assert [proto.summary_mode for proto in second.tensor_protos] == [0, 0, 0]
    with snapshot_of(tmp_path) as snapshot:
        rows = snapshot.rows("SELECT mode, health FROM execution_outputs WHERE has_value ORDER BY idx, slot")
    assert rows[:2] == [(4, 1), (7, 2)]


def test_small_large_and_reshaped_tensors_are_kept_wherever_they_are_watched(tmp_path: Path) -> None:
    @tf.function
    def function(x: tf.Tensor, large: tf.Tensor) -> dict[str, tf.Tensor]:
        scaled = tf.multiply(x, 0.5, name="scaled")  # is recorded with `shifted`
        shifted = tf.add(scaled, 1.0, name="shifted")
        rows = tf.reshape(large, [-1, 100], name="rows")  # has the elements of an argument
        column = tf.expand_dims(rows, 2, name="column")
        total = tf.reduce_sum(column, name="total")
        mean = tf.reduce_mean(large, name="mean")
        return {
            "scaled": scaled,
            "shifted": shifted,
            "rows": rows,
            "column": column,
            "total": total,
            "mean": mean,
        }

    large = np.random.default_rng(0).normal(size=1 << 17).astype(np.float32)[:131000]
    names = "scaled|shifted|rows|column|large"
    with tb_debugger_plugin.record(tmp_path, keep_values=KeepValues(name_regex=f"^({names})$")):
        results = {name: value.numpy() for name, value in function(X, large).items()}
    expected = {name: [value] for name, value in results.items() if re.fullmatch(names, name)}
    assert_same(kept(read(tmp_path)), {**expected, "large": [large]})


def test_in_a_loop_each_turn_has_its_value(tmp_path: Path) -> None:
    @tf.function
    def function(x: tf.Tensor) -> tf.Tensor:
        for _ in tf.range(5):
            x = tf.multiply(x, 2.0, name="doubled")
        return x

    with tb_debugger_plugin.record(tmp_path, keep_values="doubled$"):
        function(X)
    assert_same(kept(read(tmp_path)), {"while/doubled": [X * np.float32(2**turn) for turn in range(1, 6)]})


def test_values_of_sessions_are_kept(tmp_path: Path) -> None:
    v1 = tf.compat.v1
    with (
        tb_debugger_plugin.record(tmp_path, keep_values=KeepValues(op_regex="Log|ArgMax")),
        tf.Graph().as_default(),
    ):
        x = v1.placeholder(tf.float32, [None, 3], name="x")
        log = tf.math.log(x, name="log")
        index = tf.argmax(log, 1, name="index")
        with v1.Session() as session:
            results = [session.run([log, index], {x: value}) for value in (X, X + 1)]
    logs, indices = zip(*results, strict=True)
    assert_same(kept(read(tmp_path)), {"log": list(logs), "index": list(indices)})


def test_values_are_kept_when_graph_optimizations_are(tmp_path: Path) -> None:
    with tb_debugger_plugin.record(tmp_path, keep_graph_optimizations=True, keep_values="^first/"):
        results = program(X)
    values = kept(read(tmp_path))
    assert values and set(values) <= {"first/root", "first/log"}
    assert_same(values, {name: [results[name].numpy()] for name in values})


@pytest.mark.parametrize("mode", ["FULL_HEALTH", "NO_TENSOR"])
def test_values_of_other_devices_are_copied_and_the_rest_is_reduced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    monkeypatch.setattr(placement, "may_be_elsewhere", lambda device: True)
    function = tf.function(lambda x: tf.exp(tf.sqrt(x, name="root"), name="exp"))
    with tb_debugger_plugin.record(tmp_path, mode, keep_values=KeepValues(op_regex="Exp|AddV2")):
        result = function(X)
        total = tf.constant(X) + X
    recorded = read(tmp_path)
    assert_same(kept(recorded), {"exp": [result.numpy()]})
    assert [trace.mode.name for trace in recorded.traces_of("root")] == [mode]
    assert kept_eager(recorded, "AddV2")[0].tobytes() == total.numpy().tobytes()


def test_without_the_native_library_what_is_chosen_is_kept_and_what_cannot_be_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(native, "load", lambda: None)
    keep = [
        KeepValues(op_regex="Log|ArgMax|IdentityN"),
        KeepValues(name_regex="root", max_tensor_bytes=4),
        KeepValues(only_bad=True),
    ]
    values = tf.constant([1.0, np.nan]), tf.constant([1, 2])
    for _ in range(2):
        with tb_debugger_plugin.record(tmp_path / str(_), keep_values=keep):
            results = program(tf.constant(X))
            tf.identity_n(values)
            tf.math.exp(values[0])
    recorded = read(tmp_path / "0")
    assert_same(kept(recorded), {name: [results[name].numpy()] for name in ("first/log", "index")})
    assert recorded.counts_of("first/root") == [counts(results["first/root"])]
    assert [each.tolist() for each in kept_eager(recorded, "IdentityN")[1:]] == [[1, 2]]
    assert recorded.eager("Exp")[0].counts == counts(np.exp(values[0]))
    (reported,) = (
        event.not_recorded.message
        for event in recorded.events["graphs"]
        if "only_bad" in event.not_recorded.message
    )
    assert [record.message for record in caplog.records].count(reported) == 2  # once for each recording
    assert "max_total_bytes has no effect" in reported


@pytest.mark.parametrize("mode", ["FULL_HEALTH", "NO_TENSOR", "SHAPE"])
def test_of_compiled_functions_arguments_and_results_are_kept_and_the_rest_is_named(
    tmp_path: Path, mode: str
) -> None:
    @tf.function(jit_compile=True)
    def compiled(x: tf.Tensor) -> tuple[tf.Tensor, ...]:
        root = tf.sqrt(x, name="root")
        whole = tf.cast(root, tf.int32, name="whole")
        return tf.exp(root, name="exp"), tf.reduce_sum(whole, name="total")

    keep = KeepValues(name_regex="^(x|root|whole|exp|total)$")
    with tb_debugger_plugin.record(tmp_path, mode, keep_values=keep):
        results = [[value.numpy() for value in compiled(tf.constant(x))] for x in (X, X + 1)]
    recorded = read(tmp_path)
    exp, total = zip(*results, strict=True)
    assert_same(kept(recorded), {"x": [X, X + 1], "exp": list(exp), "total": list(total)})
    missing = [e.not_recorded for e in recorded.events["graphs"] if "keep_values" in e.not_recorded.message]
    (said,) = missing
    assert "chooses 2 tensors inside the function compiled" in said.message and "root" in said.message
    assert said.names[0].startswith("values inside compiled (test_keep_values.py:")
    assert recorded.traces_of("root")
    assert bool(recorded.traces_of("whole")) == (mode != "FULL_HEALTH")  # it has no health


def test_a_layer_of_keras_is_chosen_by_name(tmp_path: Path) -> None:
    model = tf.keras.Sequential(
        [
            tf.keras.Input([3]),
            tf.keras.layers.Dense(4, name="hidden"),
            tf.keras.layers.Dense(2, name="logits"),
        ]
    )
    model.compile("sgd", "mse", jit_compile=False)
    keep = KeepValues(layer_regex="(^|/)logits$", op_regex="MatMul$")
    model.fit(X, X[:, :2], verbose=0, batch_size=2, callbacks=[DebuggerCallback(tmp_path, keep_values=keep)])
    recorded = read(tmp_path)
    shapes = {name: values[0].shape for name, values in kept(recorded).items()}
    assert sorted(shapes.values()) == [(2, 2), (2, 4), (4, 2)]  # forward, and two gradients
    assert all(len(values) == 1 for values in kept(recorded).values())


def test_rows_of_kept_tensors_measure_what_summaries_do(tmp_path: Path) -> None:
    """The index counts whole tensors, so that FULL_NUMERICS loses nothing."""
    rows = []
    numbers = ", ".join(f"t.{name}" for name in MEASURED)
    for folder, options in (("plain", {}), ("keeping", {"keep_values": KeepValues()})):
        with tb_debugger_plugin.record(tmp_path / folder, "FULL_NUMERICS", **options):
            program(X)
            program(X + 1)
        with snapshot_of(tmp_path / folder) as snapshot:
            rows.append(
                snapshot.rows(
                    f"SELECT o.name, t.health, t.dtype, t.rank, {numbers} "
                    "FROM graph_executions t JOIN sites s ON t.site = s.site JOIN ops o ON s.op = o.op "
                    "WHERE t.dtype = 1 ORDER BY o.name, t.idx"
                )
            )
    plain, keeping = rows
    assert plain and [row[0] for row in plain] == [row[0] for row in keeping]
    for mine, theirs in zip(keeping, plain, strict=True):
        assert mine[:4] == theirs[:4]
        np.testing.assert_allclose(*[np.array(each[4:], np.float64) for each in (mine, theirs)], rtol=1e-12)


@pytest.mark.parametrize("buffer", [-1, 100])
def test_alerts_and_explanations_are_those_of_a_recording_without_values(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], buffer: int
) -> None:
    function = tf.function(lambda x: tf.reduce_sum(x * tf.math.log(x, name="log"), name="loss"))
    said = []
    keep = [KeepValues(op_regex="Log"), KeepValues(only_bad=True)]
    for folder, options in (("plain", {}), ("keeping", {"keep_values": keep})):
        with tb_debugger_plugin.record(tmp_path / folder, circular_buffer_size=buffer, **options):
            function(X + 1)
            function(X)
        assert main(["why", str(tmp_path / folder)]) == 0
        said.append(capsys.readouterr().out.replace(folder, ""))
    strip = re.compile(r"\d\d:\d\d:\d\d(\.\d+)?")
    assert strip.sub("", said[0]) == strip.sub("", said[1]) and "Log" in said[0]


def test_tensorflows_reader_returns_the_values_and_the_summaries(tmp_path: Path) -> None:
    from tensorflow.python.debug.lib import debug_events_reader

    function = tf.function(lambda x: tf.math.log(tf.sqrt(x, name="root"), name="log"))
    with tb_debugger_plugin.record(tmp_path, keep_values=KeepValues(op_regex="Log")):
        result = function(X)
        tf.math.log(X)
    with debug_events_reader.DebugDataReader(str(tmp_path)) as reader:
        reader.update()
        by_op = {trace.op_name: trace for trace in reader.graph_execution_traces()}
        log, root = by_op["log"], by_op["root"]
        assert (log.tensor_debug_mode, root.tensor_debug_mode) == (WHOLE, TensorDebugMode.FULL_HEALTH)
        np.testing.assert_array_equal(reader.graph_execution_trace_to_tensor_value(log), result)
        assert list(root.debug_tensor_value)[4:] == counts(np.sqrt(X))
        (eager,) = (e for e in reader.executions() if e.op_type == "Log")
        (value,) = reader.execution_to_tensor_values(eager)
        np.testing.assert_array_equal(value, tf.math.log(X))


@pytest.fixture
def nothing_recorded(tmp_path: Path) -> Iterator[None]:
    yield
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("nothing_recorded")
@pytest.mark.parametrize(
    ("keep", "sentence"),
    [
        ("(", r"^keep_values '\(' is not a regular expression"),
        (3, r"^keep_values is 3: give a tb_debugger_plugin.KeepValues, a list of them, or a regular"),
        (["log"], r"^keep_values is \['log'\]: give"),
        ([KeepValues()] * 33, "^keep_values has 33 elements: give at most 32"),
    ],
)
def test_what_cannot_choose_values_is_refused(tmp_path: Path, keep: object, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        tb_debugger_plugin.enable_dump_debug_info(tmp_path, "FULL_HEALTH", keep_values=keep)


@pytest.mark.usefixtures("nothing_recorded")
def test_beside_whole_tensors_of_everything_there_is_nothing_to_choose(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="'FULL_TENSOR' keeps all values: leave keep_values out"):
        tb_debugger_plugin.enable_dump_debug_info(tmp_path, "FULL_TENSOR", keep_values="log")
    # An empty list chooses nothing.
    assert tb_debugger_plugin.capture.options.make_rules([]) == ()


@pytest.mark.parametrize(
    ("attributes", "sentence"),
    [
        ({"op_regex": "("}, r"^KeepValues.op_regex '\(' is not a regular expression"),
        ({"layer_regex": 3}, "^KeepValues.layer_regex 3 is not a regular expression"),
        ({"only_bad": 1}, "^KeepValues.only_bad is 1: give True or False"),
        ({"max_tensor_bytes": -1}, "^KeepValues.max_tensor_bytes is -1: give a number of bytes, or None"),
        ({"max_total_bytes": "1 GB"}, "^KeepValues.max_total_bytes is '1 GB': give a number of bytes"),
    ],
    ids=str,
)
def test_rules_that_make_no_sense_are_refused_at_once(attributes: dict[str, object], sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        KeepValues(**attributes)


def test_a_recording_with_other_values_is_another_recording(tmp_path: Path) -> None:
    keep = KeepValues(op_regex="Log")
    recording = tb_debugger_plugin.enable_dump_debug_info(tmp_path, "FULL_HEALTH", keep_values=keep)
    again = tb_debugger_plugin.enable_dump_debug_info(
        tmp_path, "FULL_HEALTH", keep_values=[KeepValues(op_regex="Log")]
    )
    assert again is recording
    with pytest.raises(UsageError, match=r"with keep_values \[KeepValues\(op_regex='Log'\)\]: call"):
        tb_debugger_plugin.enable_dump_debug_info(tmp_path, "FULL_HEALTH")


def test_what_filters_leave_out_is_not_kept(tmp_path: Path) -> None:
    with tb_debugger_plugin.record(tmp_path, op_regex="Sqrt", keep_values="^first/"):
        results = program(X)
    recorded = read(tmp_path)
    assert_same(kept(recorded), {"first/root": [results["first/root"].numpy()]})
    assert recorded.types() == {"Sqrt"}
