"""Chooses what helps: by the situation around the op, else by the cause."""

from __future__ import annotations

from collections import defaultdict
from typing import Final

from tb_debugger_plugin.analysis.diagnosis.advice import Advice
from tb_debugger_plugin.analysis.diagnosis.around import Scene, producers
from tb_debugger_plugin.analysis.diagnosis.causes import Causes
from tb_debugger_plugin.analysis.diagnosis.dialect import dialect_of
from tb_debugger_plugin.analysis.diagnosis.numbers import Numbers
from tb_debugger_plugin.analysis.diagnosis.pattern import ANY_OP, Pattern
from tb_debugger_plugin.analysis.diagnosis.rewriting import Example
from tb_debugger_plugin.analysis.diagnosis.situated import divisions, losses, training
from tb_debugger_plugin.analysis.diagnosis.surroundings import Surroundings

# The situations around an op that need advice of their own: the tables of ``situated`` as one.
#
# A row is looked at for the types of ops that it names: the op that made a bad value and, for a gradient, the
# op whose gradient it is. The first row whose situation is there counts, so special rows come before general
# ones.

PATTERNS: Final = (*losses.PATTERNS, *divisions.PATTERNS, *training.PATTERNS)


#: Steps to the lines that made an input.
_UPSTREAM: Final = 4


def _by_op() -> dict[str, list[Pattern]]:
    types = {op for pattern in PATTERNS for op in pattern.ops}
    found = defaultdict(list)
    for op in types:
        found[op] = [pattern for pattern in PATTERNS if op in pattern.ops or pattern.ops == ANY_OP]
    return found


_BY_OP: Final = _by_op()


def advice_for(
    causes: Causes, output: Numbers, surroundings: Surroundings | None, function: str | None = None
) -> Advice | None:
    """Return what helps; None when the op only passed on what was bad, or when nothing is known to help.

    Args:
      causes: Why the output is bad.
      output: The bad output.
      surroundings: What is around the op; None when that is not known.
      function: Name of the op's graph.
    """
    first = next(iter([*(proven.cause for proven in causes.proven), *causes.possible]), None)
    if first is None:
        return None
    pattern = None if surroundings is None else pattern_of(Scene(surroundings, output, function))
    return first.help if pattern is None else pattern.advice


def pattern_of(scene: Scene) -> Pattern | None:
    """Return the first situation that is there."""
    types = dict.fromkeys([scene.focus.type, scene.op.type])
    for type_ in types:
        for pattern in _BY_OP.get(type_, _BY_OP[ANY_OP[0]]):
            if pattern.is_there(scene):
                return pattern
    return None


def example_for(advice: Advice, scene: Scene) -> Example | None:
    """Return the line of the program as it should be, in the library that the file uses; else one like it."""
    dtype = scene.output.dtype or scene.op.attributes.get("T")
    lines = lines_of(scene.around, upstream=advice.is_upstream)
    return advice.example(lines, dtype, dialect_of(scene.around.program.text))


def words_for(advice: Advice, scene: Scene) -> str:
    """Return the sentence for the program: without learning rate in predictions, or ``tf`` in Keras."""
    program = scene.around.program
    words = advice.words if program.trains else advice.without_training or advice.words
    return dialect_of(program.text).words(words)


def lines_of(surroundings: Surroundings | None, *, upstream: bool = False) -> list[str | None]:
    """Return Texts of the lines that may have to change: that of the op which the program wrote comes first.

    Args:
      surroundings: What is around the op.
      upstream: Whether the lines of the ops before it count.
    """
    if surroundings is None:
        return []
    written = surroundings.forward or surroundings.op
    makers = [near.line for near in producers(written, _UPSTREAM)] if upstream else []
    return [*dict.fromkeys([written.line, surroundings.op.line, *makers])]
