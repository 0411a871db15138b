"""Counts which tensors and functions of real programs each recorder records.

    python -m tests.support.census ours FULL_HEALTH tests.support.zoo FOLDER

records each program of a module (its `PROGRAMS`) alone, into a folder with the program's name. It writes the
parts of the program (see `Made`) into `NAME.json` next to that folder. A program runs again for each recorder
and mode, so names are compared without the numbers that TensorFlow counts up.
"""

from __future__ import annotations

import gc
import importlib
import json
import re
import subprocess
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from tests.support.live import tensors_of_functions, without_numbers
from tests.support.recorded import read

if TYPE_CHECKING:
    from tb_debugger_plugin.capture.tf_types import AtomicFunction, FuncGraph

#: Modes of our recordings: one that records all tensors, and one with most kinds of attachments.
ALL_TENSORS = "NO_TENSOR"
MODES = (ALL_TENSORS, "FULL_HEALTH")
#: float32, float64, bfloat16, float16
_FLOATING = (1, 2, 14, 19)


class Tensor(NamedTuple):
    """A tensor of a graph."""

    graph: str
    op: str
    slot: int

    @property
    def name(self) -> str:
        """The tensor's name in its graph."""
        return f"{self.op}:{self.slot}"


@dataclass
class Made:
    """The tensors and functions of a program, and its result.

    Attributes:
      needed: The tensors that some function needs, by graph.
      idle: The tensors that some function does not need, by graph.
      functions: The graph of each function of the runtime, and whether it is watched there.
      not_recorded: The functions and graphs that the recording lists as not recorded, by name.
      failure: The traceback of a program that failed.
    """

    needed: dict[str, list[str]] = field(default_factory=dict)
    idle: dict[str, list[str]] = field(default_factory=dict)
    functions: dict[str, tuple[str, bool]] = field(default_factory=dict)
    not_recorded: list[str] = field(default_factory=list)
    failure: str = ""

    def is_named(self, function: str) -> bool:
        """Whether the recording lists a function, or part of it, as not recorded."""
        graph, _ = self.functions[function]
        return function in self.not_recorded or graph in self.not_recorded


@dataclass(frozen=True)
class Seen:
    """The tensors and ops of a program that a recorder recorded.

    Attributes:
      tensors: Number of records of each tensor of a graph.
      types: Type of each tensor's op.
      floating: Number of records of each floating tensor, in a recording of elements.
      eager: Number of eager executions of each op, by type.
    """

    tensors: Counter[Tensor]
    types: dict[Tensor, str]
    floating: Counter[Tensor]
    eager: Counter[str]


@dataclass(frozen=True)
class Exclusion:
    """Tensors that TensorFlow's recorder records and ours need not.

    Attributes:
      reason: The reason for the exclusion.
      covers: Whether the exclusion applies to a tensor, with an op of a type, of a program.
    """

    reason: str
    covers: Callable[[Tensor, str, Made], bool]


def _without_hash(name: str) -> str:
    """Returns the name of a graph or an old function, without numbers and the hash of its contents."""
    return re.sub(r"_[0-9A-Za-z]{11}(?=_|$)", "", without_numbers(name))


NOT_WANTED = (
    Exclusion(
        "its debug ops make all ops run, also those that nothing needs; ours do not change which ops run",
        lambda tensor, type_, made: (
            tensor.graph in made.needed and tensor.name not in made.needed[tensor.graph]
        ),
    ),
    Exclusion(
        "kernels do not write the tensor: it has whatever was in its memory",
        lambda tensor, type_, made: (
            type_ == "Empty" or (type_.startswith("FusedBatchNorm") and tensor.slot > 2)
        ),
    ),
    Exclusion(
        "vectorized_map and jacobian convert its debug ops into other ops, and add loops around them",
        lambda tensor, type_, made: bool(re.search("DebugIdentity|DebugNumericSummary", tensor.op)),
    ),
    Exclusion(
        "vectorized_map does not run the branches of a mapped function, but copies of its debug ops in them",
        lambda tensor, type_, made: tensor.graph.startswith("loop_body_cond"),
    ),
    Exclusion(
        "it is in a function that the recording lists as not recorded",
        lambda tensor, type_, made: any(
            made.is_named(function) and _without_hash(graph or function) == _without_hash(tensor.graph)
            for function, (graph, _) in made.functions.items()
        ),
    ),
)
ONCE = (
    Exclusion("a constant is recorded once", lambda tensor, type_, made: type_ == "Const"),
    Exclusion(
        "graphs with equal names count as one here, and another one of them does not need it",
        lambda tensor, type_, made: tensor.name in made.idle.get(tensor.graph, ()),
    ),
    Exclusion(
        "in a session it records tensors that are fetched through its own ops, not those that gradients use",
        lambda tensor, type_, made: tensor.graph == "tf.Graph",
    ),
)


class Census:
    """Records the programs of a module with both recorders and compares the recordings.

    Args:
      module: Name of the module.
      folder: Folder for the recordings. TensorFlow's reader reads all of ours, but not all of TensorFlow's.
      modes: The modes of our recordings.
    """

    def __init__(self, module: str, folder: Path, modes: Collection[str] = MODES) -> None:
        recordings = [("TensorFlow's", "FULL_TENSOR"), *(("ours", mode) for mode in modes)]
        self._folders = {recording: folder / " ".join(recording) for recording in recordings}
        running = [_begin(*recording, module, self._folders[recording]) for recording in recordings]
        try:
            for process in running:
                said, _ = process.communicate()
                assert process.returncode == 0, said
        finally:
            for process in running:
                process.kill()
                process.wait()

    def made(self, program: str, mode: str = ALL_TENSORS) -> Made:
        """Returns the parts of a program and its result with our recorder in a mode."""
        return _made(self._folders["ours", mode], program)

    def failure_under_tensorflows(self, program: str) -> str:
        """Returns the traceback of a program that failed with TensorFlow's recorder."""
        return _made(self._folders["TensorFlow's", "FULL_TENSOR"], program).failure

    def seen_by_tensorflows(self, program: str) -> int:
        """Returns the number of graph executions that TensorFlow's recorder recorded of a program."""
        return _seen(self._folders["TensorFlow's", "FULL_TENSOR"], program).tensors.total()

    def missing(self, program: str, mode: str) -> tuple[list[str], set[str]]:
        """Finds the tensors of a program that TensorFlow's recorder recorded and ours did not, or less often.

        Returns:
          A sentence for each tensor, and the reasons of the exclusions that were needed.
        """
        theirs = _seen(self._folders["TensorFlow's", "FULL_TENSOR"], program)
        ours = _seen(self._folders["ours", mode], program)
        program_made = self.made(program, mode)
        sentences, needed = [], set()
        for tensor, times in (theirs.floating if mode == "FULL_HEALTH" else theirs.tensors).items():
            actual = ours.tensors[tensor]
            if actual == times:
                continue
            type_ = theirs.types[tensor]
            exclusions = ONCE if actual else NOT_WANTED
            applying = {each.reason for each in exclusions if each.covers(tensor, type_, program_made)}
            needed |= applying
            if not applying:
                sentences.append(f"{tensor} ({type_}): {times} times, {actual} on record")
        sentences += [
            f"{type_}: {times} times by Python, {ours.eager[type_]} on record"
            for type_, times in theirs.eager.items()
            if ours.eager[type_] != times
        ]
        return sentences, needed

    def unnamed(self, program: str) -> list[str]:
        """Returns the functions that are neither watched nor listed as not recorded."""
        program_made = self.made(program)
        unwatched = [name for name, (_, watched) in program_made.functions.items() if not watched]
        return [name for name in unwatched if not program_made.is_named(name)]


def _begin(recorder: str, mode: str, module: str, folder: Path) -> subprocess.Popen[str]:
    """Starts a process that records the programs of a module."""
    folder.mkdir()
    command = [sys.executable, "-m", __name__, recorder, mode, module, str(folder)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def _made(folder: Path, program: str) -> Made:
    return Made(**json.loads((folder / f"{program}.json").read_text()))


def _seen(folder: Path, program: str) -> Seen:
    recorded = read(folder / program)
    tensors, floating, types = Counter[Tensor](), Counter[Tensor](), {}
    events = recorded.events["graph_execution_traces"]
    for trace, event in zip(recorded.traces, events, strict=True):
        # The graphs of sessions have no name.
        tensor = Tensor(without_numbers(trace.function) or "tf.Graph", trace.op_name, trace.slot)
        tensors[tensor] += 1
        types[tensor] = trace.op_type
        if event.graph_execution_trace.tensor_proto.dtype in _FLOATING:
            floating[tensor] += 1
    eager = Counter(without_numbers(execution.op_type) for execution in recorded.executions)
    return Seen(tensors, types, floating, eager)


def main() -> None:
    recorder, mode, module, folder = sys.argv[1:]
    for name, program in importlib.import_module(module).PROGRAMS.items():
        gc.collect()  # A recording begins with the functions that exist.
        actual = _run(_RECORDERS[recorder], mode, program, Path(folder, name))
        Path(folder, f"{name}.json").write_text(json.dumps(asdict(actual)))


def _run(recorder: Recorder, mode: str, program: Callable[[], object], folder: Path) -> Made:
    actual = Made()
    with tensors_of_functions() as tensors, recorder(folder, mode), _functions(actual):
        try:
            program()
        except Exception:
            actual.failure = traceback.format_exc()
    actual.needed = {graph: sorted(names) for graph, names in tensors.needed.items()}
    actual.idle = {graph: sorted(names) for graph, names in tensors.idle.items()}
    actual.not_recorded = list(_not_recorded(folder))
    return actual


def _not_recorded(folder: Path) -> Iterator[str]:
    graphs = {}
    for event in read(folder).events["graphs"]:
        if event.HasField("debugged_graph"):
            graphs[event.debugged_graph.graph_id] = event.debugged_graph.graph_name
        elif event.HasField("not_recorded"):
            yield from event.not_recorded.names
            if event.not_recorded.graph_id:
                yield graphs[event.not_recorded.graph_id]


@contextmanager
def _ours(folder: Path, mode: str) -> Iterator[None]:
    import tb_debugger_plugin

    with tb_debugger_plugin.record(folder, mode) as recording:
        yield
        assert recording.on


@contextmanager
def _tensorflows(folder: Path, mode: str) -> Iterator[None]:
    import tensorflow as tf

    tf.debugging.experimental.enable_dump_debug_info(str(folder), mode, circular_buffer_size=-1)
    try:
        yield
    finally:
        tf.debugging.experimental.disable_dump_debug_info()


Recorder: TypeAlias = Callable[[Path, str], AbstractContextManager[None]]
_RECORDERS: dict[str, Recorder] = {"ours": _ours, "TensorFlow's": _tensorflows}


@contextmanager
def _functions(actual: Made) -> Iterator[None]:
    """Notes each function after it was made and a recorder has handled it."""
    from tensorflow.python.eager import context
    from tensorflow.python.eager.polymorphic_function import atomic_function

    make = atomic_function.from_func_graph

    def noted(name: bytes | str, graph: FuncGraph, *more: object, **options: object) -> AtomicFunction:
        function = make(name, graph, *more, **options)
        for called in graph._functions:  # Some are made in other ways.
            actual.functions.setdefault(called, ("", False))
        text = name.decode() if isinstance(name, bytes) else name
        # The method of the class: that of the instance returns the program's own definition.
        definition = context.Context.get_function_def(context.context(), text)
        watched = any(node.op.startswith("TbDebugger") for node in definition.node_def)
        actual.functions[text] = (graph.name, watched)
        return function

    atomic_function.from_func_graph = noted
    try:
        yield
    finally:
        atomic_function.from_func_graph = make


if __name__ == "__main__":
    main()
