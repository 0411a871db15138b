"""Finds the forward op of an op of a gradient: the op whose gradient it is part of.

An op of a gradient is made where the gradient is computed, often inside a library; the line that users look
for is that of the forward op. The files do not name the forward op, but TensorFlow names the ops of a
gradient after its scope, and they mostly take its inputs or outputs. Where neither tells, the function of
TensorFlow's that computed the gradient does: it is named after the type of the forward op.

Invariant: when several ops are possible, the result is None.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from tb_debugger_plugin.analysis.catalog import Op
from tb_debugger_plugin.analysis.graph.adjacency import adjacency
from tb_debugger_plugin.analysis.snapshot import Snapshot, remembered
from tb_debugger_plugin.events.tensorflow_names import ARGUMENTS, is_gradient, without_gradient_scopes

#: Gradients are computed in functions that are named after the forward type: ``_QrGrad`` in
#: ``linalg_grad.py`` calls whatever it needs, and everything that it calls has it in its stack.
_FUNCTION: Final = r"^_(\w+?)Grad(?:V\d+|WithNoAxis)?$"
_FILE: Final = r"(?:_grad|backprop)\.py$"


def differentiated_type(snapshot: Snapshot, stack: int) -> str | None:
    """Return the forward type, such as ``Log`` for ``_LogGrad``; None where no such function is known."""
    return _differentiated_types(snapshot).get(stack)


@remembered(Snapshot.remember_of_graphs)
def _differentiated_types(snapshot: Snapshot) -> dict[int, str]:
    """Return the type by the stack, from the innermost of the functions that are named after one."""
    return dict(
        snapshot.rows(
            "SELECT s.stack, arg_max(regexp_extract(r.function, $function, 1), s.depth) FROM stacks s"
            " JOIN frames r ON (r.host, r.frame_id) = (s.host, s.frame_id)"
            " JOIN sources f ON (f.host, f.file_index) = (r.host, r.file_index)"
            " WHERE regexp_matches(r.function, $function) AND regexp_matches(f.path, $file) GROUP BY s.stack",
            {"function": _FUNCTION, "file": _FILE},
        )
    )


_BACKWARD: Final = re.compile(r"^__backward_(.*)_\d+$")
_PART: Final = re.compile(r"^(.*)_grad_\d+(?:_rewritten)?$")
#: A body or branch after TensorFlow has added what its gradient takes.
_REWRITTEN: Final = "_rewritten"
#: ``FusedBatchNormGradV3`` belongs to ``FusedBatchNormV3``.
_TYPE: Final = re.compile(r"Grad(?=(V\d+)?$)")
#: Types of ops that have no gradient; a scope may have the same name as such an op.
_NOT_COMPUTED: Final = frozenset({*ARGUMENTS, "Const", "NoOp"})
#: Scopes of a name that are searched.
_MAX_SCOPES: Final = 64
#: Types of ops that only inspect a tensor or pass it on.
_PASSIVE: Final = frozenset({"Shape", "ShapeN", "Size", "Rank", "Identity", "NoOp", "StopGradient"})


def forward_op(snapshot: Snapshot, op: Op) -> Op | None:
    """Return the op whose gradient an op is part of; None when there is none, or several are possible."""
    if not is_gradient(op.name):
        return None
    # Inside the gradient of a loop or a branch, the names of the forward ops follow the last scope.
    plain = without_gradient_scopes(op.name)
    graphs = [*_forward_parts(snapshot, op.graph), *_forward_graphs(snapshot, op.graph)]
    return (
        _named_after(snapshot, graphs, plain)
        or _in_same_scope(snapshot, op, graphs, plain.rpartition("/")[0])
        or _of_gradient_function(snapshot, op, graphs)
    )


def _forward_graphs(snapshot: Snapshot, graph: int) -> list[int]:
    """Return the graph of a gradient, those around it, and the one that a function is named after."""
    graphs = snapshot.catalog.ancestry(graph)[::-1]
    outermost = snapshot.catalog.graphs[graphs[-1]]
    function = _BACKWARD.match(outermost.name or "")
    if function is None:
        return graphs
    named = [g.number for g in snapshot.catalog.graphs if (g.name, g.host) == (function[1], outermost.host)]
    return graphs + named if len(named) == 1 else graphs


def _forward_parts(snapshot: Snapshot, graph: int) -> list[int]:
    """Return the body or branch whose gradient a graph is: ``while_body_8`` of ``while_body_8_grad_31``."""
    own = snapshot.catalog.graphs[graph]
    part = _PART.match(own.name or "")
    if part is None:
        return []
    names = [(name, own.host) for name in (part[1], f"{part[1]}{_REWRITTEN}")]
    # A recording of all calls has the first, one of replayed calls the second.
    found = [[g.number for g in snapshot.catalog.graphs if (g.name, g.host) == name] for name in names]
    numbers = next((each for each in found if each), [])
    return numbers if len(numbers) == 1 else []


def _named_after(snapshot: Snapshot, graphs: list[int], name: str) -> Op | None:
    """Return the op that is named like the scope; ``tf.gradients`` appends ``_grad``."""
    for scope in _scopes(name):
        for graph in graphs:
            for candidate in (scope, scope.removesuffix("_grad")):
                number = snapshot.catalog.op_numbers.get((graph, candidate))
                op = None if number is None else snapshot.catalog.ops[number]
                if op is not None and op.type not in _NOT_COMPUTED and not is_gradient(op.name):
                    return op
    return None


def _scopes(name: str) -> Iterator[str]:
    for _ in range(_MAX_SCOPES):
        name = name.rpartition("/")[0]
        if not name:
            return
        yield name


def _in_same_scope(snapshot: Snapshot, op: Op, graphs: list[int], scope: str) -> Op | None:
    """Return the op in the scope with the forward op's type, else the one that takes the same tensors."""
    named = [snapshot.catalog.ops[number] for number in _in_scope(snapshot).get(scope, ())]
    members = [one for one in named if one.graph in graphs and not is_gradient(one.name)]
    forward_type = _TYPE.sub("", op.type or "")
    same_type = [member for member in members if forward_type != op.type and member.type == forward_type]
    sources = {one for one in _inputs(snapshot, op) if not is_gradient(snapshot.catalog.ops[one[0]].name)}
    known = {source for source, _ in sources}
    inputs = [member for member in same_type if member.number in known]
    if inputs or same_type:
        return _only(inputs) or _only(same_type)
    active = [member for member in members if member.type not in _PASSIVE]
    return _only([member for member in active if not sources.isdisjoint(_inputs(snapshot, member))])


def _of_gradient_function(snapshot: Snapshot, op: Op, graphs: list[int]) -> Op | None:
    """Return the op whose gradient function made an op: what it takes, or the only one of its type."""
    name = differentiated_type(snapshot, op.stack)
    if name is None:
        return None
    wanted = re.compile(rf"{re.escape(name)}(V\d+)?")
    of_type = [
        snapshot.catalog.ops[number]
        for kind, numbers in _of_type(snapshot).items()
        if wanted.fullmatch(kind)
        for number in numbers
    ]
    found = [other for other in of_type if other.graph in graphs and not is_gradient(other.name)]
    taken = {source for source, _ in _inputs(snapshot, op)}
    return _only([other for other in found if other.number in taken]) or _only(found)


def _inputs(snapshot: Snapshot, op: Op) -> list[tuple[int, int]]:
    return [(one.op, one.slot) for one in adjacency(snapshot).inputs(op.number)]


def _only(ops: list[Op]) -> Op | None:
    return ops[0] if len(ops) == 1 else None


# The first question about a gradient waits for these two, so they do the least for each op.


@remembered(Snapshot.remember_of_graphs)
def _in_scope(snapshot: Snapshot) -> dict[str, list[int]]:
    """Return the ops of all graphs by scope."""
    groups: dict[str, list[int]] = defaultdict(list)
    for op in snapshot.catalog.ops:
        groups[op.name.rpartition("/")[0]].append(op.number)
    return groups


@remembered(Snapshot.remember_of_graphs)
def _of_type(snapshot: Snapshot) -> dict[str, list[int]]:
    """Return the ops of all graphs by type."""
    groups: dict[str, list[int]] = defaultdict(list)
    for op in snapshot.catalog.ops:
        groups[op.type or ""].append(op.number)
    return groups
