"""Chooses how each tensor is watched: inline, beside, reduced or once.

An inline watch op is between a tensor and its consumers; a watch op beside it is one more consumer. With an
inline op, TensorFlow reuses every buffer as it does without the recorder; with an op beside, the tensor can
be counted while the program goes on. This module chooses the cheaper one by the consumers of the tensor, or
the one that does not change the results.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence

from tb_debugger_plugin.capture import placement
from tb_debugger_plugin.capture.options import Options
from tb_debugger_plugin.capture.tf_types import TfOp, TfTensor


class Attachment(enum.Enum):
    """How a watch op takes its tensor."""

    #: The consumers take the output of the watch op. Keeps reference counts, and so results, unchanged.
    INLINE = "inline"
    #: The watch op is one more consumer. Counting overlaps with what the program computes next.
    BESIDE = "beside"
    #: The tensor is summarised on its own device, and only the summary is copied to the host.
    REDUCED = "reduced"
    #: The value is known when the graph is built, and is recorded once.
    CONSTANT = "constant"


#: Ops whose outputs have the elements of their inputs, possibly in another shape.
KEEPS_ELEMENTS = frozenset(
    "EnsureShape ExpandDims IdentityN PreventGradient Reshape Snapshot Squeeze StopGradient".split()
)
#: Ops whose output is the buffer of their input.
_SAME_BUFFER = (KEEPS_ELEMENTS | {"Identity"}) - {"IdentityN"}
#: Ops that add into the buffer of an input that they may reuse: one more reference changes the order of the
#: sum.
_ADDS_INTO_INPUTS = frozenset(("AddN",))
#: Ops that overwrite an input without other references: with one more reference they need new memory.
REUSES_INPUT_BUFFER = frozenset(
    "Abs Add AddV2 BiasAdd Cast Div Elu EluGrad Erf Erfc Exp Expm1 LeakyRelu Log Log1p LogSoftmax Maximum "
    "Minimum Mul Neg Pow RealDiv Reciprocal Relu ReluGrad Relu6 Rsqrt RsqrtGrad Selu Sigmoid SigmoidGrad "
    "Sign Softmax Softplus Sqrt SqrtGrad Square SquaredDifference Sub Tanh TanhGrad".split()
)
#: From this many elements on, counting on a second core is faster than an inline op.
LARGE = 1 << 16


def attachment_of(
    tensor: TfTensor, options: Options, *, can_be_inline: bool, may_be_kept: bool = False
) -> Attachment:
    """Choose the attachment of a tensor.

    Args:
      tensor: A tensor of a complete graph.
      options: What to record.
      can_be_inline: Whether the sink supports inline watch ops, and the tensor has a consumer.
      may_be_kept: Whether its value may be recorded whole.
    """
    if tensor.op.type == "Const":
        return Attachment.CONSTANT
    if placement.may_be_elsewhere(tensor.op.device):
        is_reduced = not may_be_kept and placement.reduced_mode(options.mode, tensor.dtype)
        return Attachment.REDUCED if is_reduced else Attachment.BESIDE
    # Integers may be shapes and indices, which TensorFlow reads while it builds and places graphs.
    if not can_be_inline or not (tensor.dtype.is_floating or tensor.dtype.is_complex):
        return Attachment.BESIDE
    users = _users(tensor)
    if any(user.type in _ADDS_INTO_INPUTS for user in users):
        return Attachment.INLINE
    return Attachment.INLINE if is_taken_over(users) or size_of(tensor) < LARGE else Attachment.BESIDE


def attachment_of_isolated(tensor: TfTensor, attachment: Attachment, *, can_be_inline: bool) -> Attachment:
    """Return the attachment of a tensor at which a program may stop: its consumers wait, if possible.

    Args:
      tensor: A tensor of a complete graph.
      attachment: The one that it would have otherwise.
      can_be_inline: Whether the sink supports inline watch ops, and the tensor has a consumer.
    """
    if not can_be_inline or placement.may_be_elsewhere(tensor.op.device):
        return attachment
    return Attachment.INLINE


def is_added_into(tensor: TfTensor, at_least: int = 1) -> bool:
    """Whether an op that adds so many tensors may add into the memory of a tensor."""
    return any(user.type in _ADDS_INTO_INPUTS and len(user.inputs) >= at_least for user in _users(tensor))


def is_taken_over(users: Sequence[TfOp]) -> bool:
    """Whether an op writes its result into a tensor's memory, if the tensor has no other users.

    New memory would then cost more than counting on a second core gains, at every size.
    """
    return len(users) == 1 and users[0].type in REUSES_INPUT_BUFFER


def size_of(tensor: TfTensor) -> int:
    """Return the number of elements of a tensor; 0 when it is not known."""
    shape = tensor.shape
    return math.prod(shape.as_list()) if shape.is_fully_defined() else 0


def _users(tensor: TfTensor) -> list[TfOp]:
    """Return the ops that use a tensor's elements, possibly in another shape."""
    users = []
    for op in tensor.consumers():
        users += _users(op.outputs[0]) if op.type in _SAME_BUFFER else [op]
    return users
