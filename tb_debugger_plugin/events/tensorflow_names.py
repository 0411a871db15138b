"""Names that TensorFlow gives to ops and graphs, shared by the recorder and the viewer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

#: Types of the ops that are arguments of their graph, in the order of the arguments.
ARGUMENTS: Final = frozenset({"Placeholder", "_Arg", "Arg"})
#: Name under which the graph of a session is recorded, which has none of its own.
SESSION_GRAPH: Final = "tf.Graph"
#: Scopes before the names of ops of a gradient: those of tapes, and of ``tf.gradients``.
GRADIENT_SCOPES: Final = re.compile(r"^(?:gradient_tape/|gradients(?:_\d+)?/)+")
#: Those of ``tf.gradients`` inside scopes of the program: ``train/gradients/loss/Log_grad/mul``.
_INNER_GRADIENTS: Final = re.compile(
    r"(?:.*/)?gradients(?:_\d+)?/(?=.*_grad(?:_\d+)?/|AddN(?:_\d+)?$|grad_ys_\d+$)"
)
#: Functions that TensorFlow makes for input pipelines: ``Dataset_map_parse``.
_PIPELINE: Final = re.compile(r"(__inference_)?(Dataset|tf_data)_")
#: Those of them that take a state that their last call returned.
_STATEFUL: Final = re.compile(r"(__inference_)?Dataset_(scan|reduce)_")
_CALL: Final = re.compile(r"^__(?:inference|forward)_(?=.)")
_BACKWARD: Final = re.compile(r"^__backward_(?=.)")
_WRAPPED: Final = re.compile(r"__(?:inference|forward|backward)_(.+)_\d+$")
_NUMBERS: Final = re.compile(r"(?:_\d+)+$")
#: Of the number of an output; a longer one is part of a name in a damaged file.
_MOST_DIGITS: Final = 9


def is_gradient(op_name: str) -> bool:
    """Whether an op is part of a gradient, by its name."""
    return (GRADIENT_SCOPES.match(op_name) or _INNER_GRADIENTS.match(op_name)) is not None


def without_gradient_scopes(op_name: str) -> str:
    """Return the name of an op of a gradient after the last scope of a gradient: ``loss/Log_grad/mul``."""
    return GRADIENT_SCOPES.sub("", _INNER_GRADIENTS.sub("", op_name, count=1))


def vectorized_from(op_name: str) -> str | None:
    """Return the op that an op of ``tf.vectorized_map`` or of a Jacobian copies for all elements.

    ``loop_body/truediv/pfor/RealDiv`` computes what ``loop_body/truediv`` computes for one element. None for
    other ops.
    """
    original, found, _ = op_name.partition("/pfor/")
    return original if found else None


def is_of_pipeline(graph_name: str) -> bool:
    """Whether a graph is a function of an input pipeline, by its name."""
    return _PIPELINE.match(graph_name) is not None


def takes_its_result(graph_name: str) -> bool:
    """Whether a function of an input pipeline takes what its last call returned, by its name."""
    return _STATEFUL.match(graph_name) is not None


def is_function(op_type: str) -> bool:
    """Whether the type of an execution is the name of a function: these begin with two underscores."""
    return op_type.startswith("__")


def op_and_slot(tensor: str) -> tuple[str, int]:
    """Return the op of a tensor and the number of its output; a name without a number is that of slot 0.

    Args:
      tensor: The name in a file, such as ``loss/Mul:1``.
    """
    op, _, slot = tensor.rpartition(":")
    if not op or not slot.isascii() or not slot.isdigit() or len(slot) > _MOST_DIGITS:
        return tensor, 0
    return op, int(slot)


def display_name(name: str) -> str:
    """Return the name that the program's author knows.

    ``__inference_train_step_1234`` is ``train_step``. ``__inference___backward_loss_57`` is ``∇loss``, its
    gradient. Other names stay as they are.
    """
    called = _CALL.sub("", name)
    bare = _BACKWARD.sub("", called)
    if bare == name:
        return name
    short = _NUMBERS.sub("", bare) or bare
    return short if bare == called else f"∇{short}"


def unwrapped(name: str) -> Iterator[str]:
    """Yield the name of a function, and the names that it contains, the user's name last.

    TensorFlow's name of a function that the user calls f may be __inference___backward_f_12_34.
    """
    while True:
        yield name
        wrapped = _WRAPPED.match(name)
        if wrapped is None:
            return
        name = wrapped.group(1)
