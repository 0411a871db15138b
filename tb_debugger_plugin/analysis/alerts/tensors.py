"""Which tensors of a run are losses, gradients, weights, activations or updates.

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

from tb_debugger_plugin.analysis.catalog import Op, Site
from tb_debugger_plugin.analysis.graph.adjacency import Neighbour, adjacency, given_to
from tb_debugger_plugin.analysis.graph.op_kinds import LOOPS
from tb_debugger_plugin.analysis.snapshot import Snapshot, remembered
from tb_debugger_plugin.events.tensorflow_names import is_gradient

#: Ops that return the value of a variable.
READS: Final = frozenset({"ReadVariableOp", "Variable", "VariableV2"})
#: Ops that add their second input to a variable, or subtract it.
_CHANGES: Final = frozenset({"AssignAddVariableOp", "AssignSubVariableOp", "AssignAdd", "AssignSub"})
_RELUS: Final = frozenset({"Relu", "Relu6"})
_SMOOTH: Final = frozenset({"Tanh", "Sigmoid"})
_ACTIVATIONS: Final = frozenset({*_SMOOTH, "Elu", "Selu", "LeakyRelu", "Softplus", "Softsign"})
#: Ops that return their input, which may not be recorded themselves.
_IDENTITIES: Final = frozenset({"Identity", "StopGradient", "PreventGradient"})
_MAX_IDENTITIES: Final = 64


class Role(enum.Enum):
    """What a tensor is to the model."""

    LOSS = "losses"
    GRADIENT = "gradients of variables"
    SCALED_GRADIENT = "gradients of a loss that is scaled"
    CARRIED_GRADIENT = "gradients that a loop carries back"
    WEIGHT = "trained variables that are read"
    UPDATE = "updates of variables"
    ACTIVATION = "activations other than ReLUs"
    RELU = "outputs of ReLUs"
    TANH_INPUT = "inputs of tanh"
    SIGMOID_INPUT = "inputs of sigmoids"


@dataclass(frozen=True)
class RoleTensors:
    """The sites of a run by role.

    Attributes:
      sites: Numbers of sites.
      variables: Of the sites of gradients, weights and updates: the variable.
      layers: The layer of a variable, as far as one reads it.
    """

    sites: dict[Role, list[int]]
    variables: dict[int, str]
    layers: dict[str, str]

    def of(self, *roles: Role) -> list[int]:
        """Return the sites that have one of some roles."""
        return sorted({site for role in roles for site in self.sites.get(role, ())})


@remembered(Snapshot.remember_of_sites)
def tensors(snapshot: Snapshot) -> RoleTensors:
    """Return the sites of a run by role."""
    sites: dict[Role, list[int]] = defaultdict(list)
    variables: dict[int, str] = {}
    for role, site, variable in _roles(snapshot):
        sites[role].append(site)
        if variable is not None:
            variables[site] = variable
    layers = {op.variable: op.layer for op in snapshot.catalog.ops if op.variable and op.layer}
    return RoleTensors(dict(sites), variables, layers)


def layer_of(snapshot: Snapshot, site: int) -> str | None:
    """Return the layer of a tensor: that of its op, or of the variable whose update or gradient it is."""
    known = tensors(snapshot)
    layer = snapshot.catalog.ops[snapshot.catalog.sites[site].op].layer
    return known.layers.get(known.variables.get(site, ""), layer)


def _roles(snapshot: Snapshot) -> Iterator[tuple[Role, int, str | None]]:
    catalog = snapshot.catalog
    trained = {variable for names in catalog.gradients.values() for variable in names}
    unscaled = _unscaled(snapshot)
    for site in catalog.sites:
        op = catalog.ops[site.op]
        if (site.op, site.slot) in catalog.losses:
            yield Role.LOSS, site.number, None
        if names := catalog.gradients.get((site.op, site.slot)):
            is_scaled = (site.op, site.slot) in unscaled
            yield Role.SCALED_GRADIENT if is_scaled else Role.GRADIENT, site.number, names[0]
            for other in unscaled.get((site.op, site.slot), ()):
                yield Role.GRADIENT, other, names[0]
        elif op.type in READS and op.variable is not None and _is_trained(op, trained):
            yield Role.WEIGHT, site.number, op.variable
        elif not is_gradient(op.name) and site.slot == 0:
            for role in _of_activation(op):
                yield role, site.number, None
    for op in catalog.ops:
        yield from _around(snapshot, op, trained)
        if op.type in LOOPS and is_gradient(op.name):
            for number in _carried(snapshot, op):
                yield Role.CARRIED_GRADIENT, number, None


def _carried(snapshot: Snapshot, loop: Op) -> Iterator[int]:
    """Yield the sites of what a loop gives to its body at each turn."""
    edges = adjacency(snapshot)
    for position in range(len(edges.inputs(loop.number))):
        for argument in given_to(snapshot, loop.number, position):
            # The condition gets all of it, too, and uses the counters only.
            if edges.has_consumers(argument):
                yield from (site.number for site in snapshot.catalog.op_sites.get(argument, ()))


def _unscaled(snapshot: Snapshot) -> dict[tuple[int, int], list[int]]:
    """Return the sites of gradients that are divided by the scale of the loss, by what is divided."""
    found: dict[tuple[int, int], list[int]] = {}
    if not any(op.type == "RealDiv" for op in snapshot.catalog.ops):
        return found
    for op, slot in snapshot.catalog.gradients:
        divisions = _divisions(snapshot, op, slot)
        sites = [site.number for one in divisions for site in snapshot.catalog.op_sites.get(one, ())]
        if sites:
            found[op, slot] = sites
    return found


def _divisions(snapshot: Snapshot, op: int, slot: int) -> list[int]:
    """Return the ops that divide a tensor by a scalar, also in a function that gets it, such as a branch."""
    edges, found = adjacency(snapshot), []
    seen, waiting = {op}, [(op, slot)]
    while waiting:
        tensor = waiting.pop()
        for output, other, position in edges.numbered_consumers(tensor[0]):
            if output != tensor[1] or other in seen:
                continue
            seen.add(other)
            if snapshot.catalog.ops[other].type == "RealDiv":
                found += [other] if position == 0 and _is_scalar(snapshot, edges.inputs(other)[1:]) else []
            elif snapshot.catalog.ops[other].type in _IDENTITIES:
                waiting.append((other, 0))
            else:
                waiting += [(one, 0) for one in given_to(snapshot, other, position)]
    return found


def _is_scalar(snapshot: Snapshot, tensors: list[Neighbour]) -> bool:
    catalog = snapshot.catalog
    statics = [catalog.statics.get((one.op, one.slot)) for one in tensors]
    return bool(statics) and all(one is not None and catalog.dims(one.shape) == [] for one in statics)


def _is_trained(op: Op, trained: set[str]) -> bool:
    # Without gradients on record, the variables of layers may be trained; metrics and optimizers have none.
    return op.variable in trained if trained else op.layer is not None


def _of_activation(op: Op) -> Iterator[Role]:
    if op.type in _RELUS:
        yield Role.RELU
    elif op.type in _ACTIVATIONS:
        yield Role.ACTIVATION


def _around(snapshot: Snapshot, op: Op, trained: set[str]) -> Iterator[tuple[Role, int, str | None]]:
    """Yield the inputs of an op that have a role because of it."""
    if op.type in _CHANGES and op.variable is not None and (not trained or op.variable in trained):
        for site in _sites_of_input(snapshot, op, 1):
            yield Role.UPDATE, site.number, op.variable
    elif op.type in _SMOOTH and not is_gradient(op.name):
        role = Role.TANH_INPUT if op.type == "Tanh" else Role.SIGMOID_INPUT
        for site in _sites_of_input(snapshot, op, 0):
            yield role, site.number, None


def _sites_of_input(snapshot: Snapshot, op: Op, slot: int) -> list[Site]:
    """Return the sites of the tensor that an op takes, through ops that return their input."""
    catalog, edges = snapshot.catalog, adjacency(snapshot)
    given = edges.inputs(op.number)[slot:][:1]
    for _ in range(_MAX_IDENTITIES):
        if not given:
            break
        (one,) = given
        found = [site for site in catalog.op_sites.get(one.op, ()) if site.slot == one.slot]
        if found or catalog.ops[one.op].type not in _IDENTITIES:
            return found
        given = edges.inputs(one.op)[:1]
    return []
