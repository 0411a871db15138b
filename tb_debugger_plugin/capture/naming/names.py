"""Names the layers and variables of a graph, and the gradients of variables.

Takes graphs and the ops that are made in them, and returns names by op and by tensor.

Invariant: when names cannot be found, for example with an unknown version of Keras, they are missing and
nothing else changes.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tensorflow.python.framework import func_graph

from tb_debugger_plugin.capture.naming.gradients import Gradients
from tb_debugger_plugin.capture.naming.layers import Layers
from tb_debugger_plugin.capture.naming.variables import VariablePaths, handles_by_op
from tb_debugger_plugin.capture.tf_types import FuncGraph, TfGraph, TfOp, TfTensor

_log = logging.getLogger("tb_debugger_plugin")


@dataclass(frozen=True)
class GraphNames:
    """The names of some ops of one graph; ops without a name are left out.

    Attributes:
      layers: Path of the layer, by op name.
      variables: Path of the variable that an op represents, reads or assigns, by op name.
    """

    layers: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)


class NamesOfOps:
    """The names of one recording. Has hooks in TensorFlow until `remove()`."""

    def __init__(self) -> None:
        self._variables = VariablePaths()
        self._layers = Layers()
        self._gradients = Gradients(self._layers)

    def remove(self) -> None:
        """Remove the hooks."""
        self._gradients.remove()

    def note_op(self, graph: TfGraph, op_name: str) -> None:
        """Store the layer of an op that is being made.

        Args:
          graph: The graph of the op.
          op_name: Name of the op.
        """
        try:
            self._layers.note_op(graph, op_name)
        except Exception as error:  # see the invariant
            _log.debug("The layer of %s is not recorded:", op_name, exc_info=error)

    def of_ops(self, graph: TfGraph, new: Sequence[TfOp]) -> GraphNames:
        """Return the names of the new ops of a graph.

        Args:
          graph: A complete graph. The names in the graphs of sessions are not known.
          new: Ops that were not in an earlier call.
        """
        if not isinstance(graph, func_graph.FuncGraph):
            return GraphNames()
        try:
            return self._names(graph, new)
        except Exception as error:  # see the invariant
            _log.debug("The names in %s are not recorded:", graph, exc_info=error)
            return GraphNames()

    def _names(self, graph: FuncGraph, new: Sequence[TfOp]) -> GraphNames:
        self._variables.find_used_by(graph)
        names = {op: self._variables.name(handle) for op, handle in handles_by_op(graph).items()}
        variables = {op: name for op, name in names.items() if name}
        owners = {op: name.rpartition("/")[0] for op, name in variables.items()}
        of_layers = {op: owner for op, owner in owners.items() if self._variables.is_layer(owner)}
        return GraphNames(self._layers.of_ops(graph, [op.name for op in new], of_layers), variables)

    def gradient_of(self, tensor: TfTensor) -> list[str]:
        """Return the paths of the variables whose gradient a tensor of a graph is."""
        names = [self._variables.name(handle) for handle in self._gradients.handles(tensor)]
        return [name for name in names if name]

    def is_loss(self, tensor: TfTensor) -> bool:
        """Whether a tensor of a graph is a loss: its gradients of variables were asked for."""
        return self._gradients.is_loss(tensor)
