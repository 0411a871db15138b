"""Which tensors of a run are gradients, weights, activations or updates.

Takes the catalog: types and names of ops, layers, variables, and whose gradient a tensor is. Returns numbers
of sites by role. It is made once for each catalog, since a program has few sites and many tensors.

Invariant: a tensor has a role only if the recording says so; TensorFlow's own recordings name no variables
and gradients, so no tensor of theirs is a weight.
"""

from __future__ import annotations

import enum
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from tb_debugger_plugin.analysis.catalog import Catalog, Op, Site
from tb_debugger_plugin.analysis.snapshot import Snapshot
from tb_debugger_plugin.events.tensorflow_names import is_gradient

#: Ops that return the value of a variable.
_READS: Final = frozenset({"ReadVariableOp", "Variable", "VariableV2"})
#: Ops that add something to a variable, or subtract it: the slot of what they take.
_CHANGES: Final = {
    "AssignAddVariableOp": 1,
    "AssignSubVariableOp": 1,
    "AssignAdd": 1,
    "AssignSub": 1,
}
_RELUS: Final = frozenset({"Relu", "Relu6"})
_SMOOTH: Final = frozenset({"Tanh", "Sigmoid"})
_ACTIVATIONS: Final = frozenset({*_RELUS, *_SMOOTH, "Elu", "Selu", "LeakyRelu", "Softplus", "Softsign"})
#: Ops that return their input, which may not be recorded themselves.
_IDENTITIES: Final = frozenset({"Identity", "StopGradient", "PreventGradient"})
_MAX_IDENTITIES: Final = 64


class Role(enum.Enum):
    """What a tensor is to the model."""

    GRADIENT = "gradients of variables"
    WEIGHT = "trained variables that are read"
    UPDATE = "updates of variables"
    ACTIVATION = "activations"
    RELU = "outputs of ReLUs"
    TANH_INPUT = "inputs of tanh"
    SIGMOID_INPUT = "inputs of sigmoids"


@dataclass(frozen=True)
class Tensors:
    """The sites of a run by role.

    Attributes:
      sites: Numbers of sites.
      variables: Of the sites of weights and updates: the variable.
    """

    sites: dict[Role, list[int]]
    variables: dict[int, str]

    def of(self, *roles: Role) -> list[int]:
        """Returns the sites that have one of some roles."""
        return sorted({site for role in roles for site in self.sites.get(role, ())})


def tensors(snapshot: Snapshot) -> Tensors:
    """Returns the sites of a run by role."""
    return snapshot.remember_of_sites("tensors by role", lambda: _tensors(snapshot))


def _tensors(snapshot: Snapshot) -> Tensors:
    sites: dict[Role, list[int]] = defaultdict(list)
    variables: dict[int, str] = {}
    for role, site, variable in _roles(snapshot):
        sites[role].append(site)
        if variable is not None:
            variables[site] = variable
    return Tensors(dict(sites), variables)


def _roles(snapshot: Snapshot) -> Iterator[tuple[Role, int, str | None]]:
    catalog = snapshot.catalog
    trained = {variable for names in catalog.gradients.values() for variable in names}
    for site in catalog.sites:
        op = catalog.ops[site.op]
        if catalog.gradients.get((site.op, site.slot)):
            yield Role.GRADIENT, site.number, None
        elif op.type in _READS and op.variable is not None and _is_trained(op, trained):
            yield Role.WEIGHT, site.number, op.variable
        elif not is_gradient(op.name) and site.slot == 0:
            for role in _of_activation(op):
                yield role, site.number, None
    inputs = _inputs(snapshot)
    for op in catalog.ops:
        yield from _around(catalog, inputs, op, trained)


#: The source of an op's input, an op and a slot, by op and input slot.
_Inputs = dict[tuple[int, int], tuple[int, int]]


def _inputs(snapshot: Snapshot) -> _Inputs:
    """The inputs of the ops whose inputs have a role, and of those that return their input."""
    types = {*_CHANGES, *_SMOOTH, *_IDENTITIES}
    ops = [op.number for op in snapshot.catalog.ops if op.type in types]
    query = (
        "SELECT op, input_slot, source_op, source_slot FROM edges WHERE op IN (SELECT unnest(?::INTEGER[]))"
    )
    return {(op, slot): (source, output) for op, slot, source, output in snapshot.rows(query, [ops])}


def _is_trained(op: Op, trained: set[str]) -> bool:
    # Without gradients on record, the variables of layers may be trained; metrics and optimizers have none.
    return op.variable in trained if trained else op.layer is not None


def _of_activation(op: Op) -> Iterator[Role]:
    if op.type in _RELUS:
        yield Role.RELU
    if op.type in _ACTIVATIONS:
        yield Role.ACTIVATION


def _around(
    catalog: Catalog, inputs: _Inputs, op: Op, trained: set[str]
) -> Iterator[tuple[Role, int, str | None]]:
    """Yields the inputs of an op that have a role because of it."""
    if op.type in _CHANGES and op.variable is not None and (not trained or op.variable in trained):
        for site in _sites_of_input(catalog, inputs, op, _CHANGES[op.type]):
            yield Role.UPDATE, site.number, op.variable
    elif op.type in _SMOOTH and not is_gradient(op.name):
        role = Role.TANH_INPUT if op.type == "Tanh" else Role.SIGMOID_INPUT
        for site in _sites_of_input(catalog, inputs, op, 0):
            yield role, site.number, None


def _sites_of_input(catalog: Catalog, inputs: _Inputs, op: Op, slot: int) -> list[Site]:
    """The sites of the tensor that an op takes, through ops that return their input."""
    source = inputs.get((op.number, slot))
    for _ in range(_MAX_IDENTITIES):
        if source is None:
            break
        found = [site for site in catalog.op_sites.get(source[0], ()) if site.slot == source[1]]
        if found or catalog.ops[source[0]].type not in _IDENTITIES:
            return found
        source = inputs.get((source[0], 0))
    return []
