"""Ops of neural networks: softmax, losses, normalisation, and ops of gradients."""

from __future__ import annotations

from typing import Final

from tb_debugger_plugin.analysis.diagnosis.advice import DIVIDE, FINITE_MASK, RANGE, ROOT, UNMASK, Advice
from tb_debugger_plugin.analysis.diagnosis.evidence import (
    both,
    divided_by_zero,
    either,
    empty_in,
    finite_in,
    guess,
    holds,
    infinite_in,
    infinities,
    unless,
)
from tb_debugger_plugin.analysis.diagnosis.known import BEYOND, INFINITE, NAN, Cause
from tb_debugger_plugin.analysis.diagnosis.known.arithmetic import BOTH_INFINITE, BOTH_ZERO

NORMALISING: Final = ("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3")
NORMALISING_GRADIENTS: Final = ("FusedBatchNormGrad", "FusedBatchNormGradV2", "FusedBatchNormGradV3")
_LABELS: Final = Advice("Compare the labels with the number of classes: they begin at 0.")
_FINITE_MASK: Final = Advice(
    "Mask with a large negative number such as -1e9 instead of −∞: 0 times it is 0.",
    FINITE_MASK,
    "tf.where(mask, logits, -MASK)",
    is_upstream=True,
)
_UNMASK_LABEL: Final = Advice(
    "Leave the class of the label unmasked, or give such examples a weight of 0 and mask with a large"
    " negative number such as -1e9."
)
_ALIGN: Final = Advice(
    "Check that no label is longer than its sequence (repeated labels need a blank between them), or"
    " leave such"
    " examples out (ignore_longer_outputs_than_inputs, preprocess_collapse_repeated)."
)
_VARIANCE: Final = Advice(
    "Give the normalisation an epsilon, and more than one value for each channel.",
    like="tf.keras.layers.BatchNormalization(epsilon=1e-3)",
)

LOSSES: Final = (
    Cause(
        ("Softmax", "LogSoftmax"),
        NAN,
        "the softmax of a row of nothing but −∞ is NaN",
        unless(holds(0, "pos_inf"), holds(0, "neg_inf")),
        UNMASK,
    ),
    Cause(("Softmax", "LogSoftmax"), NAN, "the softmax of a row with +∞ is NaN", holds(0, "pos_inf"), RANGE),
    Cause(("LogSoftmax", "SoftmaxCrossEntropyWithLogits"), INFINITE, BEYOND, finite_in, RANGE),
    # A row of nothing but −∞ gives NaN whatever its labels are.
    Cause(
        ("SoftmaxCrossEntropyWithLogits",),
        NAN,
        "a label of 0 times a logit of −∞ is NaN",
        guess(both(holds(0, "neg_inf"), holds(1, "zero"))),
        _FINITE_MASK,
    ),
    Cause(
        ("SoftmaxCrossEntropyWithLogits", "SparseSoftmaxCrossEntropyWithLogits"),
        ("pos_inf",),
        "a class that is masked with −∞ is the label of an example",
        holds(0, "neg_inf"),
        _UNMASK_LABEL,
    ),
    Cause(("SparseSoftmaxCrossEntropyWithLogits",), ("pos_inf",), BEYOND, finite_in, RANGE),
    Cause(
        ("SparseSoftmaxCrossEntropyWithLogits",),
        NAN,
        "a label outside the range of the classes gives NaN",
        finite_in,
        _LABELS,
    ),
    Cause(
        ("SparseSoftmaxCrossEntropyWithLogits",),
        NAN,
        "a row of logits is nothing but −∞, or has +∞",
        guess(infinities),
        UNMASK,
    ),
    Cause(
        ("CTCLoss", "CTCLossV2"),
        ("pos_inf",),
        "no alignment is possible: a label is longer than its sequence",
        guess(finite_in),
        _ALIGN,
    ),
)
LAYERS: Final = (
    Cause(NORMALISING, NAN, "the batch is empty, and the mean over nothing is NaN", empty_in, _VARIANCE),
    Cause(
        NORMALISING,
        NAN,
        "the variance of a channel is 0, or below 0, and its root is in the divisor",
        unless(empty_in, guess(finite_in)),
        _VARIANCE,
    ),
    Cause(NORMALISING, INFINITE, BEYOND, finite_in, RANGE),
    Cause(
        NORMALISING_GRADIENTS,
        (*INFINITE, *NAN),
        "the variance of a channel is 0, and its root is in the divisor",
        guess(finite_in),
        _VARIANCE,
    ),
    Cause(
        ("LRN",),
        (*INFINITE, *NAN),
        "the divisor is 0 where all values are 0 or tiny: its bias is 0",
        finite_in,
    ),
)
GRADIENTS: Final = (
    Cause(
        ("SqrtGrad",),
        INFINITE,
        "the gradient of a root has no limit at 0",
        divided_by_zero(over=1, under=0, zero_over_zero="finite"),
        ROOT,
    ),
    # As XLA compiles it; the kernel of the op keeps a gradient of 0.
    Cause(
        ("SqrtGrad",),
        NAN,
        "the gradient of a root at 0, times 0, is NaN",
        unless(BOTH_INFINITE, BOTH_ZERO),
        ROOT,
    ),
    Cause(("SqrtGrad",), INFINITE, BEYOND, unless(holds(0, "zero"), finite_in), DIVIDE),
    Cause(("RsqrtGrad", "ReciprocalGrad", "InvGrad"), INFINITE, BEYOND, finite_in, RANGE),
    Cause(
        ("RsqrtGrad", "ReciprocalGrad", "InvGrad"),
        INFINITE,
        "the gradient of 1 / x and of 1 / √x is infinite at 0",
        unless(infinite_in(1), infinite_in(0)),
        DIVIDE,
    ),
    Cause(
        ("TanhGrad", "SigmoidGrad", "SoftplusGrad", "SoftsignGrad", "EluGrad", "SeluGrad"),
        NAN,
        "a gradient of ∞ times a slope of 0 is NaN",
        either(infinite_in(0), infinite_in(1)),
    ),
)
CAUSES: Final = (*LOSSES, *LAYERS, *GRADIENTS)
