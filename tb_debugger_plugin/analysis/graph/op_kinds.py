"""What the search for origins knows of types of ops: which copy, inspect, assign or bring values in.

Invariant: an op that is in none of these sets computes its outputs from all of its inputs.
"""

from __future__ import annotations

import re
from typing import Final

#: Ops that return one of their inputs, element by element.
COPIES: Final = frozenset(
    """Identity IdentityN StopGradient PreventGradient Reshape ExpandDims Squeeze Transpose Snapshot
    Placeholder _Arg Arg PlaceholderWithDefault _Retval Print PrintV2 CheckNumerics CheckNumericsV2
    ConjugateTranspose Reverse ReverseV2 Enter Exit Switch Merge NextIteration RefSwitch RefMerge
    DebugIdentity EnsureShape Pack Unpack Split SplitV StridedSlice Slice ConcatV2 BroadcastTo Tile
    TensorListStack TensorListGetItem TensorListFromTensor TensorListPopBack LoopCond
    CollectiveReduceV2 NcclAllReduce OptionalGetValue GatherV2 Gather GatherNd _Send _Recv _HostSend
    _HostRecv""".split()
)
#: Copies of their whole input, which no mode measures: the page shows the numbers of the input.
PASSING_ON: Final = frozenset({"Identity"})
#: Copies of a tensor of another device, which is no input of theirs.
RECEIVES: Final = frozenset({"_Recv", "_HostRecv"})
#: Copies that are left out of chains; the others may take a part of their input only.
TRIVIAL: Final = frozenset(
    """Identity IdentityN StopGradient PreventGradient Reshape ExpandDims Squeeze Snapshot Placeholder
    _Arg Arg PlaceholderWithDefault _Retval CheckNumerics CheckNumericsV2 Enter Exit Switch Merge
    NextIteration DebugIdentity EnsureShape Transpose PartitionedCall StatefulPartitionedCall If
    StatelessIf Case StatelessCase While StatelessWhile ReadVariableOp OptionalGetValue _Send _Recv
    _HostSend _HostRecv""".split()
)
#: Ops that take one tensor out of a value that packs several, which is never measured itself.
UNPACKS: Final = frozenset({"OptionalGetValue"})
#: Ops that combine their inputs with those that the same op of the other replicas takes.
COLLECTIVES: Final = frozenset(
    """CollectiveReduce CollectiveReduceV2 CollectiveReduceV3 CollectiveReduceScatterV2 CollectiveGather
    CollectiveGatherV2 CollectiveAllToAllV2 CollectiveAllToAllV3 NcclAllReduce""".split()
)
CALLS: Final = frozenset({"PartitionedCall", "StatefulPartitionedCall", "RemoteCall", "SymbolicGradient"})
LOOPS: Final = frozenset({"While", "StatelessWhile"})
BRANCHES: Final = frozenset({"If", "StatelessIf", "Case", "StatelessCase"})
#: Ops whose outputs are never infinite: a bad one is NaN.
NAN_ONLY: Final = frozenset(
    """Softmax Sigmoid Tanh Sin Cos Erf Erfc Acos Asin Atan Atan2 Sign Softsign Relu6 Betainc
    Igamma Igammac""".split()
)
#: Ops that make no infinities of finite inputs, but NaN.
NAN_OF_FINITE: Final = NAN_ONLY | {"Sqrt", "Acosh", "Fmod", "Mod", "FloorMod"}
#: Ops that often make NaN of infinities that are meant, such as those of a mask.
NAN_OF_INF: Final = frozenset(
    """Sub Mul RealDiv Softmax LogSoftmax MatMul BatchMatMulV2 Einsum SoftmaxCrossEntropyWithLogits
    SparseSoftmaxCrossEntropyWithLogits""".split()
)
#: Ops that give only infinities where none of their inputs is bad.
INF_ONLY: Final = frozenset("Exp Expm1 Square Cosh Sinh Reciprocal Inv Cast AddV2 Add Sub".split())
#: Ops whose first bad values are mostly infinities: logarithms and poles, and what overflows.
MOSTLY_INF: Final = INF_ONLY | frozenset(
    """Log Log1p Rsqrt SqrtGrad Lgamma Mul MatMul BatchMatMul BatchMatMulV2 BatchMatMulV3 Sum Prod Cumsum
    Cumprod L2Loss Conv2D Einsum BiasAdd AddN LogMatrixDeterminant RsqrtGrad Softplus Polygamma Zeta
    SquaredDifference Xlogy Xlog1py FusedBatchNormV3 UnsortedSegmentSum SegmentSum MatrixExponential
    Power Neg Const""".split()
)
#: Ops that divide, and the input that they divide by.
DIVISORS: Final = {"RealDiv": 1, "Div": 1, "Reciprocal": 0, "Inv": 0, "Rsqrt": 0}
#: Ops that add and multiply: an infinity that they make of finite numbers is an overflow that nobody means.
ADDING: Final = frozenset("Add AddV2 AddN Sum Cumsum Mean Mul Square MatMul BatchMatMulV2 L2Loss".split())
#: Ops whose result is bad as soon as one of their inputs is.
SUMMING: Final = frozenset("Add AddV2 AddN Sub Sum Mean".split())
#: Ops that look at a tensor and give no part of it.
INSPECTING: Final = frozenset(
    """IsNan IsInf IsFinite Shape ShapeN Size Rank NoOp Assert PrintV2 Print ZerosLike OnesLike
    StringFormat AsString""".split()
)
#: Ops that ask whether a tensor is bad.
CHECKING: Final = frozenset({"IsNan", "IsInf", "IsFinite"})
#: Ops that compare elements, or put them in order.
COMPARING: Final = frozenset(
    """Less LessEqual Greater GreaterEqual Equal NotEqual ApproximateEqual ArgMax ArgMin TopK TopKV2
    ApproxTopK NthElement LowerBound UpperBound Bucketize InTopK InTopKV2 NonMaxSuppression
    NonMaxSuppressionV2 NonMaxSuppressionV3 NonMaxSuppressionV4 NonMaxSuppressionV5
    CombinedNonMaxSuppression""".split()
)
#: Ops that return some of the elements of their first input.
CHOOSING: Final = frozenset(
    """Gather GatherV2 GatherNd ResourceGather ResourceGatherNd Slice StridedSlice Split SplitV Unpack
    DynamicPartition BatchMatrixDiagPart MatrixDiagPart MatrixDiagPartV2 MatrixDiagPartV3 MatrixBandPart
    DiagPart TensorListGetItem TensorListStack TensorListPopBack""".split()
)
#: Ops that show a tensor to the user, or hand it to code that is not on record.
SHOWING: Final = frozenset(
    """WriteSummary WriteScalarSummary ScalarSummary PrintV2 Print StringFormat PyFunc EagerPyFunc
    PyFuncStateless SaveV2 OutfeedEnqueue""".split()
)
#: Ops that end the program if a tensor is bad.
GUARDS: Final = frozenset({"CheckNumerics", "CheckNumericsV2"})
#: Ops that read a variable by its handle or reference.
READS: Final = frozenset(
    {"ReadVariableOp", "ResourceGather", "ResourceGatherNd", "VariableV2", "Variable", "TemporaryVariable"}
)
#: Reads of a part of a variable: a good part does not show that the variable is good.
PARTIAL_READS: Final = frozenset({"ResourceGather", "ResourceGatherNd"})
_ASSIGNS: Final = re.compile(
    r"Assign(Add|Sub)?(VariableOp)?$|ResourceStridedSliceAssign$|ResourceScatter\w+$|Scatter(Nd)?(Add|Sub|"
    r"Update|Mul|Div|Min|Max)$|(Resource)?(Sparse)?Apply\w+$"
)
#: Assignments of exactly their value.
PLAIN_ASSIGNS: Final = frozenset({"AssignVariableOp", "Assign"})
#: Ops that compute tensors of text, of bytes, or of what is kept elsewhere.
DATA: Final = frozenset(
    """ParseExampleV2 ParseExample ParseSingleExample ParseSequenceExample ParseSequenceExampleV2
    ParseSingleSequenceExample ParseTensor DecodeRaw DecodePaddedRaw DecodeCSV DecodeJSONExample
    DecodeProtoV2 ReadFile DecodeJpeg DecodePng DecodeBmp DecodeGif DecodeImage DecodeAndCropJpeg DecodeWav
    ReaderReadV2 QueueDequeue QueueDequeueV2 QueueDequeueMany QueueDequeueManyV2 QueueDequeueUpTo
    QueueDequeueUpToV2 Unstage MapUnstage OrderedMapUnstage StringToNumber LookupTableFind
    LookupTableFindV2 LookupTableExport LookupTableExportV2""".split()
)
#: Ops that hand out what the functions of an input pipeline computed; their input is the pipeline.
ELEMENTS: Final = frozenset(
    """IteratorGetNext IteratorGetNextSync IteratorGetNextAsOptional MultiDeviceIteratorGetNextFromShard
    DatasetToSingleElement ReduceDataset GetElementAtIndex""".split()
)
CHECKPOINTS: Final = frozenset({"RestoreV2", "Restore", "RestoreSlice", "LoadDataset"})
PYTHON: Final = frozenset({"PyFunc", "EagerPyFunc", "PyFuncStateless", "NumpyFunction"})
CONSTANTS: Final = frozenset({"Const", "HostConst", "ImmutableConst"})
FORWARD: Final = re.compile(r"__forward_")
BACKWARD: Final = re.compile(r"(__inference_)?_*backward_")


def is_assignment(op_type: str | None) -> bool:
    """Whether an op changes a variable."""
    return op_type is not None and _ASSIGNS.match(op_type) is not None


def brings_in(op_type: str | None) -> str | None:
    """Return the words for what an op brings into the program; None when it computes its outputs."""
    words = (
        (DATA | ELEMENTS, "the input data"),
        (CHECKPOINTS, "a checkpoint"),
        (PYTHON, "a Python function"),
        (CONSTANTS, "a constant"),
    )
    return next((each for types, each in words if op_type in types), None)
