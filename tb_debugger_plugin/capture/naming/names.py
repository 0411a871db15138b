"""What the program calls the things in a graph: layers, variables, and the gradients of variables.

In come graphs and the ops that are made in them; out come names, by op and by tensor.

Rule: names are a help, not what a recording is for. When they cannot be found, for the inside of a Keras that
we do not know, there are none, and nothing else changes.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tb_debugger_plugin.capture.naming.gradients import Gradients
from tb_debugger_plugin.capture.naming.layers import Layers
from tb_debugger_plugin.capture.naming.variables import Variables, handles_by_op

_log = logging.getLogger("tb_debugger_plugin")


@dataclass(frozen=True)
class GraphNames:
    """The names of some ops of one graph; what has none is left out.

    Attributes:
      layers: Path of the layer by op name.
      variables: Path of the variable that an op stands for, reads or assigns, by op name.
    """

    layers: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)


class Names:
    """The names of one recording; hooked into TensorFlow until `remove()`."""

    def __init__(self) -> None:
        self._variables = Variables()
        self._layers = Layers()
        self._gradients = Gradients(self._layers)

    def remove(self) -> None:
        """Take the hooks out."""
        self._gradients.remove()

    def note_op(self, graph: Any, op_name: str) -> None:
        """An op is being made.

        Args:
          graph: In which.
          op_name: Its name.
        """
        try:
            self._layers.note_op(graph, op_name)
        except Exception as error:  # see the rule
            _log.debug("The layer of %s is not recorded:", op_name, exc_info=error)

    def look_at(self, graph: Any, new: Sequence[Any]) -> GraphNames:
        """The names of the new ops of a graph.

        Args:
          graph: A complete `FuncGraph`.
          new: Ops that were not looked at before.
        """
        try:
            return self._names(graph, new)
        except Exception as error:  # see the rule
            _log.debug("The names in %s are not recorded:", graph, exc_info=error)
            return GraphNames()

    def _names(self, graph: Any, new: Sequence[Any]) -> GraphNames:
        self._variables.look_for_those_of(graph)
        names = {op: self._variables.name(handle) for op, handle in handles_by_op(graph).items()}
        variables = {op: name for op, name in names.items() if name}
        owners = {op: name.rpartition("/")[0] for op, name in variables.items()}
        of_layers = {op: owner for op, owner in owners.items() if self._variables.is_layer(owner)}
        return GraphNames(self._layers.of_ops(graph, [op.name for op in new], of_layers), variables)

    def gradient_of(self, tensor: Any) -> list[str]:
        """The paths of the variables whose gradient a tensor of a graph is."""
        names = [self._variables.name(handle) for handle in self._gradients.handles(tensor)]
        return [name for name in names if name]
