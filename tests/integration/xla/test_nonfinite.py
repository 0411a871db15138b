"""`capture/engines/xla/nonfinite.py`: the witnesses of a tensor are non-finite if one of its elements is."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from tb_debugger_plugin.capture.engines.xla import nonfinite

pytestmark = pytest.mark.tensorflow


def some(*shape: int) -> np.ndarray:
    """Numbers between 0 and 1, to be changed."""
    return np.random.default_rng(sum(shape)).uniform(0.1, 0.9, shape).astype(np.float32)


def ints(*values: int) -> np.ndarray:
    """A vector of int32."""
    return np.array(values, np.int32)


PAIR = {"x": some(2, 3), "y": some(3)}
GRADIENT = {"y": some(2, 3), "dy": some(2, 3)}
CONV = {"strides": [1, 1, 1, 1], "padding": "SAME"}
BATCH_NORM = {"scale": some(2), "is_training": True, "epsilon": 1e-3}
CASES: list[tuple[str, dict[str, object]]] = [
    *((name, PAIR) for name in ("Add", "AddV2", "Div", "Mul", "RealDiv", "SquaredDifference", "Sub")),
    ("Pow", {"x": some(2, 3), "y": np.float32(3.0)}),
    ("Pow", {"x": some(2, 3), "y": np.float32(0.5)}),
    *((name, {"x": some(2, 3)}) for name in ("Abs", "Ceil", "Cos", "Floor", "Log", "Log1p", "Neg", "Rint")),
    *((name, {"x": some(2, 3)}) for name in ("Round", "Sin", "Sqrt", "Square")),
    *((name, {"input": some(2, 3)}) for name in ("Identity", "PreventGradient", "Snapshot", "StopGradient")),
    *((name, GRADIENT) for name in ("ReciprocalGrad", "RsqrtGrad", "SigmoidGrad", "SqrtGrad")),
    ("TanhGrad", GRADIENT),
    ("AddN", {"inputs": [some(2, 3), some(2, 3) + 1, some(2, 3) - 1]}),
    ("BiasAdd", {"value": some(2, 3), "bias": some(3)}),
    ("BiasAddGrad", {"out_backprop": some(2, 3)}),
    ("Cast", {"x": some(2, 3), "DstT": tf.bfloat16}),
    ("Cast", {"x": some(2, 3), "DstT": tf.float64}),
    ("CheckNumerics", {"tensor": some(2, 3), "message": ""}),
    ("LogSoftmax", {"logits": some(2, 3)}),
    ("LeakyRelu", {"features": some(2, 3) - 0.5, "alpha": 0.2}),
    ("L2Loss", {"t": some(2, 3)}),
    *(
        (name, {"input": some(2, 3), "axis": ints(axis)})
        for name in ("Mean", "Prod", "Sum")
        for axis in (0, 1)
    ),
    ("Cumsum", {"x": some(2, 3), "axis": np.int32(1)}),
    ("Cumsum", {"x": some(2, 3), "axis": np.int32(1), "reverse": True}),
    ("BatchMatMul", {"x": some(2, 2, 3), "y": some(2, 3, 2)}),
    ("BatchMatMulV2", {"x": some(2, 2, 3), "y": some(3, 2)}),
    ("BatchMatMulV3", {"x": some(2, 2, 3), "y": some(3, 2), "Tout": tf.float32}),
    ("MatMul", {"a": some(2, 3), "b": some(3, 2)}),
    ("MatMul", {"a": some(40, 30), "b": some(4, 30), "transpose_b": True}),
    ("Einsum", {"inputs": [some(2, 3), some(3, 2)], "equation": "ij,jk->k"}),
    ("Einsum", {"inputs": [some(2, 3, 2)], "equation": "ijk->j"}),
    ("Conv2D", {"input": some(1, 4, 3, 2), "filter": some(3, 2, 2, 1), **CONV}),
    ("Conv2D", {"input": some(1, 4, 3, 1), "filter": some(2, 3, 1, 2), **CONV, "padding": "VALID"}),
    (
        "Conv2DBackpropInput",
        {
            "input_sizes": ints(1, 4, 3, 2),
            "filter": some(3, 2, 2, 1),
            "out_backprop": some(1, 4, 3, 1),
            **CONV,
        },
    ),
    (
        "Conv2DBackpropFilter",
        {
            "input": some(1, 4, 3, 2),
            "filter_sizes": ints(3, 2, 2, 1),
            "out_backprop": some(1, 4, 3, 1),
            **CONV,
        },
    ),
    (
        "FusedBatchNormV3",
        {"x": some(2, 2, 2, 2), "offset": some(2), "mean": some(0), "variance": some(0), **BATCH_NORM},
    ),
    (
        "FusedBatchNormGradV3",
        {
            "y_backprop": some(2, 2, 2, 2),
            "x": some(2, 2, 2, 2) + 1,
            "reserve_space_1": some(2),
            "reserve_space_2": some(2),
            "reserve_space_3": some(2),
            **BATCH_NORM,
        },
    ),
    ("ConcatV2", {"values": [some(2, 3), some(1, 3)], "axis": np.int32(0)}),
    ("Pack", {"values": [some(2, 3), some(2, 3) + 1]}),
    ("Split", {"axis": np.int32(0), "value": some(4, 2), "num_split": 2}),
    ("SplitV", {"value": some(4, 2), "size_splits": ints(1, 3), "axis": np.int32(0), "num_split": 2}),
    ("Unpack", {"value": some(3, 2), "num": 3}),
    ("IdentityN", {"input": [some(2), some(3)]}),
    ("EnsureShape", {"input": some(2, 3), "shape": [2, 3]}),
    ("ExpandDims", {"input": some(2, 3), "axis": np.int32(0)}),
    ("Squeeze", {"input": some(2, 1, 3)}),
    ("Reshape", {"tensor": some(2, 3), "shape": ints(3, 2)}),
    ("ReverseV2", {"tensor": some(2, 3), "axis": ints(1)}),
    ("Roll", {"input": some(2, 3), "shift": ints(1), "axis": ints(1)}),
    ("Transpose", {"x": some(2, 3), "perm": ints(1, 0)}),
    ("BroadcastTo", {"input": some(3), "shape": ints(2, 3)}),
    ("Fill", {"dims": ints(2, 3), "value": some()}),
    ("Tile", {"input": some(2, 3), "multiples": ints(1, 2)}),
    ("Pad", {"input": some(2, 3), "paddings": np.int32([[1, 0], [0, 2]])}),
    ("PadV2", {"input": some(2, 3), "paddings": np.int32([[1, 0], [0, 2]]), "constant_values": some()}),
    ("MirrorPad", {"input": some(2, 3), "paddings": np.int32([[1, 0], [0, 2]]), "mode": "REFLECT"}),
    (
        "StridedSliceGrad",
        {
            "shape": ints(4, 3),
            "begin": ints(1, 0),
            "end": ints(3, 3),
            "strides": ints(1, 1),
            "dy": some(2, 3),
        },
    ),
]


class Program:
    """One op in a function that XLA compiles, whose floating inputs can be changed."""

    def __init__(self, op_type: str, given: dict[str, object]) -> None:
        self.inputs: list[np.ndarray] = []
        places = {name: self._placed(value) for name, value in given.items()}

        @tf.function(jit_compile=True)
        def program(*tensors: tf.Tensor) -> object:
            taken = {name: self._filled(place, tensors) for name, place in places.items()}
            return getattr(tf.raw_ops, op_type)(**taken)

        self._program = program
        graph = program.get_concrete_function(*map(tf.constant, self.inputs)).graph
        self.ops = graph.get_operations()
        self.op = next(op for op in self.ops if op.type == op_type)
        self.arguments = graph.inputs

    def _placed(self, value: object) -> object:
        if isinstance(value, list) and isinstance(value[0], np.ndarray):
            return [self._placed(each) for each in value]
        if isinstance(value, np.ndarray) and value.dtype == np.float32 and value.size:
            self.inputs.append(value)
            return _Place(len(self.inputs) - 1)
        return value

    def _filled(self, place: object, tensors: tuple[tf.Tensor, ...]) -> object:
        if isinstance(place, list) and place and isinstance(place[0], _Place):
            return [tensors[each.index] for each in place]
        return tensors[place.index] if isinstance(place, _Place) else place

    def run(self, inputs: list[np.ndarray]) -> list[np.ndarray]:
        """The outputs, as float64."""
        outputs = self._program(*map(tf.constant, inputs))
        outputs = list(outputs) if isinstance(outputs, list | tuple) else [outputs]
        return [tf.cast(output, tf.float64).numpy() for output in outputs]


class _Place:
    def __init__(self, index: int) -> None:
        self.index = index


#: Ops that keep their input finite, but not bad.
BOUNDING: list[tuple[str, dict[str, object]]] = [
    *((name, {"x": some(4, 3)}) for name in ("Erf", "Sigmoid", "Tanh")),
    *((name, {"x": some(4, 3), "y": some(4, 3) + 1}) for name in ("Maximum", "Minimum")),
    *((name, {"features": some(4, 3)}) for name in ("Relu", "Relu6")),
    ("ReluGrad", {"gradients": some(4, 3), "features": some(4, 3) - 0.5}),
    ("Softmax", {"logits": some(4, 3)}),
    ("MatrixBandPart", {"input": some(4, 3), "num_lower": np.int64(1), "num_upper": np.int64(0)}),
    ("Select", {"condition": np.eye(3) > 0, "x": some(3, 3), "y": some(3, 3) - 1}),
    ("SelectV2", {"condition": np.eye(3) > 0, "t": some(3, 3), "e": some(3)}),
    ("Slice", {"input": some(4, 3), "begin": ints(1, 0), "size": ints(2, 2)}),
    ("StridedSlice", {"input": some(4, 3), "begin": ints(1), "end": ints(3), "strides": ints(1)}),
]


def test_every_rule_has_a_case() -> None:
    assert {op_type for op_type, _ in CASES} == set(nonfinite.PROPAGATES)
    assert {op_type for op_type, _ in BOUNDING} == nonfinite.PRESERVES_FINITE - set(nonfinite.PROPAGATES)


PASSING = [case for case in CASES + BOUNDING if case[0] in nonfinite.PRESERVES_FINITE]


@pytest.mark.parametrize(("op_type", "given"), PASSING, ids=[op_type for op_type, _ in PASSING])
def test_what_only_passes_on_makes_nothing_bad(op_type: str, given: dict[str, object]) -> None:
    program = Program(op_type, given)
    extremes = np.float32([3.4e38, -3.4e38, 0.0, -0.0, 1e-40, -1e-40, 1.0, -1.0])
    random = np.random.default_rng(0)
    for _ in range(50):
        inputs = [random.choice(extremes, each.shape) for each in program.inputs]
        assert all(np.isfinite(output).all() for output in program.run(inputs))


@pytest.mark.parametrize(("op_type", "given"), CASES, ids=[op_type for op_type, _ in CASES])
def test_no_bad_element_escapes_its_witnesses(op_type: str, given: dict[str, object]) -> None:
    program = Program(op_type, given)
    rule = nonfinite.PROPAGATES[op_type](program.op)
    names = {tensor.name: place for place, tensor in enumerate(program.arguments)}
    inputs_of = [tensor.name for tensor in program.op.inputs]
    slots_of = [(names[inputs_of[i]], slots) for i, slots in rule.items() if inputs_of[i] in names]
    assert slots_of
    assert all(np.isfinite(output).all() for output in program.run(program.inputs))
    for place, slots in slots_of:
        for element in np.ndindex(program.inputs[place].shape):
            for value in (np.nan, np.inf, -np.inf):
                inputs = [each.copy() for each in program.inputs]
                inputs[place][element] = value
                outputs = program.run(inputs)
                assert not all(np.isfinite(outputs[slot]).all() for slot in slots), (place, element, value)
