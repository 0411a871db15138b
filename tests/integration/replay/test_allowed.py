"""`replay/allowed.py`: a bundle that does more than compute is refused before anything of it runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import tensorflow as tf
from tensorflow.core.framework import function_pb2

from tb_debugger_plugin.capture.graph.definitions import library_of
from tb_debugger_plugin.errors import FormatError
from tb_debugger_plugin.events.bundle import Argument, Bundle, Header
from tb_debugger_plugin.replay.allowed import is_allowed
from tb_debugger_plugin.replay.call import Variant, run

pytestmark = [pytest.mark.tensorflow, pytest.mark.timeout(120)]

HEADER = Header("f", "f", "f", 0, None, 0.0, (), (), (), (), {}, {}, {})


def bundle_of(function: object, *specs: tf.TensorSpec) -> Bundle:
    """A bundle that no recorder has written, of any function."""
    concrete = tf.function(function).get_concrete_function(*specs)
    library = function_pb2.FunctionDefLibrary()
    library.CopyFrom(library_of(concrete.graph.as_graph_def()))
    library.function.append(concrete.function_def)
    name = concrete.function_def.signature.name
    arguments = [Argument(spec.name or "x", "value", spec.dtype.name, values=(0,)) for spec in specs]
    value = tf.io.serialize_tensor(tf.ones(specs[0].shape, specs[0].dtype)).numpy() if specs else b""
    header = replace(HEADER, function=name, arguments=tuple(arguments), sizes=(len(value),))
    return Bundle(header, library.SerializeToString(), [value])


def test_a_function_that_computes_runs() -> None:
    bundle = bundle_of(lambda x: tf.math.log(x - 1.0), tf.TensorSpec([2], name="x"))
    assert run(bundle, Variant()).results[0]["bad"] == [2, 0, 0]


@pytest.mark.parametrize("inside", ["outermost", "branch", "called"])
@pytest.mark.parametrize("op", ["WriteFile", "ReadFile", "PyFunc", "PrintV2", "MatchingFiles", "Abort"])
def test_an_op_that_does_more_is_refused_by_name(tmp_path: Path, op: str, inside: str) -> None:
    path = str(tmp_path / "written")

    def harmful(x: tf.Tensor) -> tf.Tensor:
        if op == "WriteFile":
            tf.io.write_file(path, "hello")
        elif op == "ReadFile":
            return x + tf.cast(tf.strings.length(tf.io.read_file(path)), tf.float32)
        elif op == "MatchingFiles":
            return x + tf.cast(tf.size(tf.io.matching_files("/*")), tf.float32)
        elif op == "PyFunc":
            return tf.ensure_shape(tf.numpy_function(lambda y: y, [x], tf.float32, stateful=True), [2])
        elif op == "PrintV2":
            tf.raw_ops.PrintV2(input="hello", output_stream=f"file://{path}")
        else:
            tf.raw_ops.Abort(exit_without_error=True)
        return x

    def outer(x: tf.Tensor) -> tf.Tensor:
        if inside == "branch":
            return tf.cond(tf.reduce_sum(x) > 0, lambda: harmful(x), lambda: x)
        return tf.function(harmful)(x) if inside == "called" else harmful(x)

    with pytest.raises(FormatError, match=f"refused: it runs the op {op}"):
        run(bundle_of(outer, tf.TensorSpec([2], name="x")), Variant())
    assert not (tmp_path / "written").exists()


def test_a_function_that_is_not_in_the_bundle_is_not_called() -> None:
    bundle = bundle_of(lambda x: tf.function(lambda y: y + 1.0)(x), tf.TensorSpec([2], name="x"))
    library = function_pb2.FunctionDefLibrary.FromString(bundle.functions)
    alone = function_pb2.FunctionDefLibrary(
        function=[one for one in library.function if one.signature.name == bundle.header.function]
    )
    with pytest.raises(FormatError, match="which is not in it"):
        run(replace(bundle, functions=alone.SerializeToString()), Variant())


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"functions": b"nonsense"}, "damaged"),
        ({"values": [b"nonsense"]}, "The value of x is damaged"),
        ({"header": {"function": "g"}}, "does not have the function"),
        ({"header": {"arguments": ()}}, "another number of arguments"),
        ({"header": {"arguments": (Argument("x", "value", "nonsense", values=(0,)),)}}, "nonsense"),
        ({"header": {"arguments": (Argument("x", "value", "float32"),)}}, "0 values of the argument x"),
    ],
)
def test_a_damaged_bundle_gets_a_sentence(change: dict[str, object], sentence: str) -> None:
    bundle = bundle_of(lambda x: x + 1.0, tf.TensorSpec([2], name="x"))
    header = change.pop("header", None)
    if isinstance(header, dict):
        bundle = replace(bundle, header=replace(bundle.header, **header))
    with pytest.raises(FormatError, match=sentence):
        run(replace(bundle, **change), Variant())  # type: ignore[arg-type]


@pytest.mark.parametrize("change", ["argument", "result", "type"])
def test_a_function_that_does_not_fit_fails_with_a_sentence(change: str) -> None:
    bundle = bundle_of(lambda x: x + 1.0, tf.TensorSpec([2], name="x"))
    library = function_pb2.FunctionDefLibrary.FromString(bundle.functions)
    (function,) = library.function
    if change == "argument":
        next(node for node in function.node_def if node.input).input[0] = "nothing:0"
    elif change == "result":
        function.ret[function.signature.output_arg[0].name] = "nothing:y:0"
    else:
        function.signature.input_arg[0].type = tf.int32.as_datatype_enum
    with pytest.raises(FormatError, match="damaged"):
        run(replace(bundle, functions=library.SerializeToString()), Variant())


def test_the_list_holds_what_computes_and_nothing_else() -> None:
    computing = (
        "MatMul",
        "Conv2D",
        "While",
        "ResourceApplyAdam",
        "StatelessRandomNormalV2",
        "TensorListPushBack",
    )
    assert all(map(is_allowed, computing))
    more = (
        *(
            "ReadFile",
            "WriteFile",
            "PyFunc",
            "EagerPyFunc",
            "RemoteCall",
            "SaveV2",
            "RestoreV2",
            "Send",
            "Recv",
        ),
        *("IteratorGetNext", "TextLineDataset", "DebugIdentityV3", "QueueEnqueueV2", "CollectiveReduceV2"),
        *(
            "InitializeTableFromTextFileV2",
            "CreateSummaryFileWriter",
            "Abort",
            "PrintV2",
            "Print",
            "TPUExecute",
        ),
        *("FileSystemSetConfiguration", "LoadAndRemapMatrix", "MutexLock", "NotAnOp", "_Send", "XlaLaunch"),
    )
    assert [op for op in more if is_allowed(op)] == []
