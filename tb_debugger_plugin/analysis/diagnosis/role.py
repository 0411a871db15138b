"""What a tensor is to the model: the gradient of a variable, a variable, a part of a layer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tb_debugger_plugin.analysis.diagnosis.phrases import Phrase, Phrases, code, text
from tb_debugger_plugin.events.tensorflow_names import is_gradient


@dataclass(frozen=True)
class Role:
    """The role of a tensor.

    Attributes:
      layer: Path of the Keras layer, such as "encoder/dense_1".
      variable: Path of the variable that the op is, reads or assigns.
      gradient_of: Paths of the variables whose gradient the tensor is.
    """

    layer: str | None = None
    variable: str | None = None
    gradient_of: Sequence[str] = ()

    def phrases(self, op_name: str) -> Phrases:
        """Return the role as part of a sentence, after the op: ", the gradient of `dense_1/kernel`,".

        Args:
          op_name: Name of the op; empty for an eager op.
        """
        if self.gradient_of:
            return (text(", the gradient of "), *_names(self.gradient_of), text(","))
        if self.variable is not None:
            return (text(" of the variable "), code(self.variable))
        if self.layer is not None:
            where = " in the backward pass of layer " if is_gradient(op_name) else " in layer "
            return (text(where), code(self.layer))
        return ()


def _names(names: Sequence[str]) -> Iterator[Phrase]:
    for i, name in enumerate(names):
        if i:
            yield text(" and ")
        yield code(name)
