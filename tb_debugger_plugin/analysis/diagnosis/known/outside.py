"""Values that an op did not compute: arguments, variables, data, constants, and random numbers."""

from __future__ import annotations

from typing import Final

from tb_debugger_plugin.analysis.diagnosis.advice import DATA, Advice
from tb_debugger_plugin.analysis.diagnosis.evidence import always, finite_in, guess, infinities
from tb_debugger_plugin.analysis.diagnosis.known import ANY, INFINITE, NAN, Cause
from tb_debugger_plugin.analysis.graph import op_kinds
from tb_debugger_plugin.events.tensorflow_names import ARGUMENTS

READING: Final = (*sorted(op_kinds.DATA | op_kinds.ELEMENTS), "InfeedDequeue")
_LISTS: Final = (
    *("TensorListGetItem", "TensorListStack", "TensorListPopBack", "TensorListConcatV2"),
    *("TensorArrayReadV3", "TensorArrayGatherV3", "StackPopV2"),
)
_RANDOM: Final = (
    *("RandomGamma", "StatelessRandomGammaV2", "StatelessRandomGammaV3", "RandomPoissonV2"),
    *("StatelessRandomPoisson", "ParameterizedTruncatedNormal", "StatelessParameterizedTruncatedNormal"),
    *("RandomGammaGrad", "StatelessRandomBinomial"),
)

_OTHER_WORKER: Final = Advice(
    "Look at what the other replicas and workers recorded: one of them computed it."
)

CAUSES: Final = (
    Cause(
        (*sorted(ARGUMENTS), "PlaceholderWithDefault"),
        ANY,
        "it is an argument: the caller of the function passed it in",
        always,
    ),
    Cause(
        ("ReadVariableOp", "VariableV2", "ResourceGather", "ResourceGatherNd"),
        ANY,
        "the variable held it already: see the op that assigned it last",
        always,
    ),
    Cause(READING, ANY, "it is in the input data", always, DATA),
    Cause(
        ("Const",),
        INFINITE,
        "it is a constant of the program; a mask of −∞ before a softmax is intended",
        always,
    ),
    Cause(
        ("Const",),
        NAN,
        "it is a constant of the program, which Python computed before, such as when a layer adapts to data",
        always,
        Advice("Check what the constant was computed from, for example with numpy.isfinite."),
    ),
    Cause(
        sorted(op_kinds.PYTHON),
        ANY,
        "a Python function returned it, whose inside is not recorded",
        always,
        Advice("Check what the Python function returns, for example with numpy.isfinite."),
    ),
    Cause(
        ("RestoreV2", "Restore", "RestoreSlice"),
        ANY,
        "it is in the checkpoint that was restored",
        always,
        Advice("Restore an earlier checkpoint, from before the values became bad."),
    ),
    Cause(
        sorted(op_kinds.COLLECTIVES),
        NAN,
        "its own inputs are finite, so another replica or worker passed it in",
        guess(finite_in),
        _OTHER_WORKER,
    ),
    Cause(sorted(op_kinds.COLLECTIVES), NAN, "∞ − ∞ is NaN", guess(infinities)),
    Cause(
        sorted(op_kinds.COLLECTIVES),
        INFINITE,
        "another replica or worker passed it in, or what all of them give is beyond the range of the dtype",
        guess(finite_in),
        _OTHER_WORKER,
    ),
    Cause(_LISTS, ANY, "it was put in the list earlier", always),
    Cause(("OptionalGetValue",), ANY, "it was packed into an optional earlier", always),
    Cause(
        ("Empty", "EmptyV2"),
        ANY,
        "it is memory that nothing was written to",
        always,
        Advice("Fill the tensor before it is read: tf.zeros."),
    ),
    Cause(("Bitcast",), ANY, "the bits of its input are not a finite number in this dtype", always),
    Cause(
        _RANDOM,
        (*INFINITE, *NAN),
        "a parameter of the distribution is outside its range, such as a rate or a scale that is not above 0",
        guess(finite_in),
        Advice("Keep the parameters of the distribution above 0: tf.nn.softplus, or tf.maximum."),
    ),
)
