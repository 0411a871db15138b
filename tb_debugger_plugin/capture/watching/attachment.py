"""How a tensor is watched: in line, beside, on its own device, or once.

A watch op in line stands between a tensor and those who use it; one beside is one user more. In line, every
buffer is reused as it would be without us; beside, the counting can go on while the program does. Which is
cheaper, and where only one leaves the results as they are, is decided here, for each tensor by its users.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from tb_debugger_plugin.capture import placement
from tb_debugger_plugin.capture.options import Options


class Attachment(enum.Enum):
    """How a tensor comes to be recorded."""

    #: The consumers take it from the watch op. Leaves reference counts, and with them results, as they were.
    INLINE = "inline"
    #: One more consumer. The counting overlaps with what follows.
    BESIDE = "beside"
    #: Summarised on its own device, of which only the numbers come to the host.
    REDUCED = "reduced"
    #: Its value is known when the graph is built, and is recorded once.
    CONSTANT = "constant"


#: Ops whose outputs have the elements of their inputs, in the same or another shape.
KEEPS_ELEMENTS = frozenset(
    "EnsureShape ExpandDims IdentityN PreventGradient Reshape Snapshot Squeeze StopGradient".split()
)
#: Ops whose output is the buffer of their input.
_SAME_BUFFER = (KEEPS_ELEMENTS | {"Identity"}) - {"IdentityN"}
#: Ops that add into whichever input's buffer they may reuse, so that one more reference changes the sum's
#: order.
_ADDS_INTO_INPUTS = frozenset(("AddN",))
#: Ops that write over an input that nothing else refers to: with one more reference they need new memory.
TAKES_BUFFERS_OVER = frozenset(
    "Abs Add AddV2 BiasAdd Cast Div Elu EluGrad Erf Erfc Exp Expm1 LeakyRelu Log Log1p LogSoftmax Maximum "
    "Minimum Mul Neg Pow RealDiv Reciprocal Relu ReluGrad Relu6 Rsqrt RsqrtGrad Selu Sigmoid SigmoidGrad "
    "Sign Softmax Softplus Sqrt SqrtGrad Square SquaredDifference Sub Tanh TanhGrad".split()
)
#: From this many elements on, counting is worth a second core more than a short path.
LARGE = 1 << 16


def attachment_of(tensor: tf.Tensor, options: Options, *, can_be_inline: bool) -> Attachment:
    """How to watch a tensor.

    Args:
      tensor: Of a graph that is complete.
      options: What the user wants recorded.
      can_be_inline: Whether a watch op can stand in line, and something takes the tensor.
    """
    if tensor.op.type == "Const":
        return Attachment.CONSTANT
    if placement.may_be_elsewhere(tensor.op.device):
        return Attachment.REDUCED if placement.reduced_mode(options.mode, tensor.dtype) else Attachment.BESIDE
    # Integers may be shapes and indices, which TensorFlow looks at while it builds and places graphs.
    if not can_be_inline or not (tensor.dtype.is_floating or tensor.dtype.is_complex):
        return Attachment.BESIDE
    users = _users(tensor)
    if any(user.type in _ADDS_INTO_INPUTS for user in users):
        return Attachment.INLINE
    return Attachment.INLINE if is_taken_over(users) or size_of(tensor) < LARGE else Attachment.BESIDE


def is_taken_over(users: Sequence[Any]) -> bool:
    """Whether a tensor's memory becomes that of a result, if nothing but its users takes the tensor.

    Then new memory would cost more than counting on a second core gains, at every size.
    """
    return len(users) == 1 and users[0].type in TAKES_BUFFERS_OVER


def size_of(tensor: tf.Tensor) -> int:
    """How many elements a tensor has; 0 when that is not known."""
    shape = tensor.shape
    return math.prod(shape.as_list()) if shape.is_fully_defined() else 0


def _users(tensor: tf.Tensor) -> list[Any]:
    """The ops that work with a tensor's elements, be they in another shape."""
    users = []
    for op in tensor.consumers():
        users += _users(op.outputs[0]) if op.type in _SAME_BUFFER else [op]
    return users
