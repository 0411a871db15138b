"""Reads, replaces and restores the definitions of functions in the runtime.

Returns the definition of a `Function` as a graph to edit, and defines an edited graph under the same name or
a new one. Other modules decide what to edit.
"""

from __future__ import annotations

import ctypes
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import tensorflow as tf
from tensorflow.python.client import pywrap_tf_session as c_api
from tensorflow.python.eager import context
from tensorflow.python.framework import c_api_util, op_def_registry, ops

from tb_debugger_plugin.capture.graph.function import Function
from tb_debugger_plugin.capture.tf_types import (
    AttrValue,
    CObject,
    FuncGraph,
    FunctionDef,
    FunctionDefLibrary,
    GraphDef,
    ImportOptions,
    ImportResults,
    NodeDef,
    OpDef,
    StackFrame,
    TfGraph,
    TfTensor,
)

#: The field of a `GraphDef` that holds functions.
_LIBRARY = "library"
#: How the names of our ops begin, and end where they are not stateful (`native/src/kernel.h`).
_OURS = "TbDebugger"
_IN_PIPELINE = "InPipeline"


def definition_of(function: Function) -> GraphDef:
    """Return the graph of a function, to edit, with only the functions that are types of its ops."""
    definition = function.graph.as_graph_def()
    library = library_of(definition)
    types = {node.op for node in definition.node} if library.function else ()
    needed = [called for called in library.function if called.signature.name in types]
    library.CopyFrom(type(library)(function=needed))
    return definition


def definition_in_runtime(name: str) -> FunctionDef | None:
    """Return the `FunctionDef` of a function; None when the runtime has none of that name."""
    runtime = context.context()
    return runtime.get_function_def(name) if runtime.has_function(name) else None


def make_savable(definition: GraphDef) -> None:
    """Let our ops in a function of an input pipeline be stateless: TensorFlow saves no iterator otherwise."""
    for node in definition.node:
        if node.op.startswith(_OURS):
            node.op += _IN_PIPELINE


def library_of(definition: GraphDef) -> FunctionDefLibrary:
    """Return the functions in the definition of a graph, to edit."""
    return getattr(definition, _LIBRARY)


@dataclass(frozen=True)
class Changes:
    """What a changed definition takes, returns and runs unlike the function.

    Attributes:
      moved: Results that are replaced: old source (`op` or `op:slot`) to the new op.
      run: Names of ops to run besides the function's control outputs.
      more_inputs: Names of ops that are further arguments, after those of the function.
      more_outputs: Tensors (`op` or `op:slot`) that are further results, after those of the function.
    """

    moved: Mapping[str, str] = field(default_factory=dict)
    run: Sequence[str] = ()
    more_inputs: Sequence[str] = ()
    more_outputs: Sequence[str] = ()


#: The arguments, results and control outputs of the function.
UNCHANGED = Changes()


def define(
    function: Function,
    definition: GraphDef,
    changes: Changes = UNCHANGED,
    *,
    stacks: Mapping[str, Hashable] | None = None,
    name: str | None = None,
    has_stacks: bool = True,
) -> None:
    """Give a function another definition in the runtime. Its next call runs that definition.

    The ops keep their creation stacks, so error messages name the same lines, unless `has_stacks` is false.

    Args:
      function: A function that still has its graph.
      definition: The changed graph. It has all ops of the function's graph under their names.
      changes: Its arguments, results and control outputs.
      stacks: Creation stack of each op, by op name; equal values mean equal stacks.
      name: Define a function of this name instead.
      has_stacks: Whether the ops get stacks. An op of the program whose stack is read keeps 9 kB for ever.

    Raises:
      Exception: TensorFlow refuses the graph; the runtime still has the old definition.
    """
    name = name or function.name
    outputs = [source_name(tensor.op.name, tensor.value_index) for tensor in function.result_tensors()]
    copy = _import(definition, function.graph)
    if has_stacks:
        _copy_stacks(function.graph, copy, stacks or {})
    made = _function_of(
        copy,
        name,
        [*(tensor.rpartition(":")[0] for tensor in function.inputs), *changes.more_inputs],
        [*(changes.moved.get(output, output) for output in outputs), *changes.more_outputs],
        [*function.control_outputs, *changes.run],
        _names_of_results(function, len(changes.more_outputs)),
    )
    del copy  # free its memory before the heap is trimmed
    _put_into_runtime(made, name, function.attrs)
    if len(definition.node) > _LARGE:
        _trim_heap()


def define_wrapper(
    function: Function,
    definition: GraphDef,
    outputs: Iterable[str],
    run: Iterable[str],
    *,
    without: Collection[str],
) -> None:
    """Give a function a definition in the runtime that only shares its arguments with the function's graph.

    Args:
      function: A function that still has its graph.
      definition: A graph with the function's arguments under their names.
      outputs: Its results: `op` or `op:slot`.
      run: Names of ops to run.
      without: Attributes of the function that the definition does not get.

    Raises:
      Exception: TensorFlow refuses the graph; the runtime still has the old definition.
    """
    arguments = [tensor.rpartition(":")[0] for tensor in function.inputs]
    copy = _import(definition, function.graph)
    made = _function_of(copy, function.name, arguments, outputs, run, _names_of_results(function, 0))
    attrs = {name: value for name, value in function.attrs.items() if name not in without}
    _put_into_runtime(made, function.name, attrs)


def define_new(
    name: str,
    definition: GraphDef,
    arguments: Iterable[str],
    *,
    outputs: Iterable[str] = (),
    run: Iterable[str] = (),
) -> None:
    """Define a function that the program does not have.

    Args:
      name: Name of the function.
      definition: Its graph.
      arguments: Names of the placeholders that are its arguments.
      outputs: Its results: `op` or `op:slot`.
      run: Names of ops to run.
    """
    made = _function_of(_import(definition, ops.Graph()), name, arguments, outputs, run, [])
    _put_into_runtime(made, name, {})


def remove(names: Iterable[str]) -> None:
    """Remove functions from the runtime; names that it does not have are ignored."""
    runtime = context.context()
    for name in names:
        if runtime.has_function(name):
            runtime.remove_function(name)


def _names_of_results(function: Function, more: int) -> list[bytes]:
    names = _output_names(function.graph, function.result_tensors())
    return [*names, *(b"tb_debugger_%d" % i for i in range(more))] if names else []


@dataclass(frozen=True)
class _Copy:
    """A graph in C++. Python has no objects for its ops, because they would cost more than the ops.

    Attributes:
      graph: Owns the ops.
      ops: The C++ ops by name.
    """

    graph: TfGraph
    ops: Mapping[str, CObject]

    def output(self, source: str) -> CObject:
        """Return the tensor of a source: `op` or `op:slot`."""
        op, _, slot = source.partition(":")
        return c_api_util.tf_output(self.ops[op], int(slot or 0))


def _import(definition: GraphDef, program: TfGraph) -> _Copy:
    """Make a graph from the changed definition of a graph of the program."""
    graph = ops.Graph()
    options = import_options()
    names = [node.name for node in definition.node]
    for name in names:
        c_api.TF_ImportGraphDefOptionsAddReturnOperation(options.options, name)
    try:
        imported = import_into(graph, definition, options)
    except tf.errors.InvalidArgumentError:
        imported = import_into(graph, with_shapes(definition, program), options)
    imported_ops = c_api.TF_ImportGraphDefResultsReturnOperations(imported.results)
    return _Copy(graph, dict(zip(names, imported_ops, strict=True)))


def import_options() -> ImportOptions:
    """Return new options for `import_into`."""
    options: ImportOptions = c_api_util.ScopedTFImportGraphDefOptions()
    # Branches and loop bodies may name ops of the graph around them.
    c_api.TF_ImportGraphDefOptionsSetValidateColocationConstraints(options.options, False)
    return options


def import_into(graph: TfGraph, definition: GraphDef, options: ImportOptions) -> ImportResults:
    """Add the ops of a definition to a graph.

    Args:
      graph: A `tf.Graph`. The caller makes the Python objects of the new ops, if it needs them.
      definition: The ops, with the functions that they call.
      options: The result of `import_options`, with what the caller has added.

    Returns:
      The results.

    Raises:
      tf.errors.InvalidArgumentError: TensorFlow refuses the definition. The graph has not changed.
    """
    with graph._c_graph.get() as c_graph, c_api_util.tf_buffer(definition.SerializeToString()) as buffer:
        owned = c_api.TF_GraphImportGraphDefWithResults(c_graph, buffer, options.options)
    results: ImportResults = c_api_util.ScopedTFImportGraphDefResults(owned)
    return results


def with_shapes(definition: GraphDef, program: TfGraph) -> GraphDef:
    """Return a definition with the static shapes of its tensors.

    Ops check shapes when they are made, and no definition holds a shape that Python's `set_shape` has set:
    TensorFlow cannot make some graphs a second time. Reading all shapes takes as long as making the graph, so
    this is only for graphs that need it.

    Args:
      definition: The ops. Some may not be in the program's graph, and some may have more outputs than there.
      program: The program's graph.
    """
    shaped = GraphDef()
    shaped.CopyFrom(definition)
    of_program = {op.name: op for op in program.get_operations()}
    for node in shaped.node:
        op, op_def = of_program.get(node.name), op_def_registry.get(node.op)
        if op is not None and op_def is not None:
            shapes = [tensor.shape.as_proto() for tensor in op.outputs]
            added = _number_of_outputs(node, op_def) - len(shapes)
            shapes += [tf.TensorShape(None).as_proto()] * added
            # TensorFlow removes this attribute during the import.
            node.attr["_output_shapes"].list.CopyFrom(AttrValue.ListValue(shape=shapes))
    return shaped


def _number_of_outputs(node: NodeDef, op_def: OpDef) -> int:
    return sum(
        len(node.attr[output.type_list_attr].list.type)
        if output.type_list_attr
        else node.attr[output.number_attr].i
        if output.number_attr
        else 1
        for output in op_def.output_arg
    )


def _function_of(
    copy: _Copy,
    name: str,
    arguments: Iterable[str],
    results: Iterable[str],
    control_outputs: Iterable[str],
    output_names: list[bytes],
) -> CObject:
    """Make a function of a graph."""
    return _make(
        copy.graph,
        name,
        [copy.output(argument) for argument in arguments],
        [copy.output(result) for result in results],
        output_names,
        [copy.ops[op] for op in control_outputs],
    )


#: Number of ops from which on the memory of a copy is worth a call of `_trim_heap`.
_LARGE = 1000


def _trim_heap() -> None:
    """Return the memory of a freed copy to the system: the process would keep some 15 kB per op."""
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (AttributeError, OSError):
        pass  # not the GNU C library


def restore(function: Function) -> None:
    """Give a function the program's definition again; do nothing when the function was deleted.

    Args:
      function: Any function.
    """
    graph = function.graph_of()
    if graph is None or not context.context().has_function(function.name):
        return
    results = function.result_tensors()
    made = _make(
        graph,
        function.name,
        [graph.get_tensor_by_name(name)._as_tf_output() for name in function.inputs],
        [tensor._as_tf_output() for tensor in results],
        _output_names(graph, results),
        [op._c_op for op in function.control_ops()],
    )
    _put_into_runtime(made, function.name, function.attrs)


def source_name(op_name: str, slot: int) -> str:
    """Return the name of a tensor in the inputs of a `NodeDef`: its source."""
    return op_name if slot == 0 else f"{op_name}:{slot}"


def _copy_stacks(graph: TfGraph, copy: _Copy, stacks: Mapping[str, Hashable]) -> None:
    made: dict[Hashable, Sequence[StackFrame]] = {}
    for op in graph.get_operations():
        name = op.name
        key = stacks.get(name, name)
        stack = made.get(key)
        if stack is None:
            traceback = op.traceback
            if traceback is None:
                continue
            # A slice is a copy that ops can own. TensorFlow shows the user's frames only.
            stack = made[key] = traceback.get_user_frames()[:]
        c_api.TF_SetOpStackTrace(copy.ops[name], stack)


def _make(
    graph: TfGraph,
    name: str,
    arguments: list[CObject],
    results: list[CObject],
    output_names: list[bytes],
    control_ops: list[CObject],
) -> CObject:
    """Make a function of a graph: its body has all ops except the arguments. All objects are C++ objects."""
    with graph._c_graph.get() as c_graph:
        return c_api.TF_GraphToFunction_wrapper(
            c_graph, name, False, None, arguments, results, output_names, control_ops, [], None, ""
        )


def _put_into_runtime(made: CObject, name: str, attrs: Mapping[str, AttrValue]) -> None:
    for attr_name, value in attrs.items():
        c_api.TF_FunctionSetAttrValueProto(made, attr_name, value.SerializeToString())
    runtime = context.context()
    times = 0
    while runtime.has_function(name):  # TensorFlow counts how often a definition was added
        runtime.remove_function(name)
        times += 1
    for _ in range(times or 1):
        runtime.add_c_function(made)
    c_api.TF_DeleteFunction(made)


def _output_names(graph: FuncGraph, results: list[TfTensor]) -> list[bytes]:
    """Return the names of a graph's results, as in `from_func_graph`; empty for the default names."""
    names = graph._output_names
    if names is None or not all(ops.tensor_id(tensor) in names for tensor in results):
        return []
    chosen = [names[ops.tensor_id(tensor)].encode() for tensor in results]
    return chosen if len(set(chosen)) == len(chosen) else []
