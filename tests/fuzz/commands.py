"""Types the commands of the shell at a recording, with words that fit it and with hostile ones.

Takes a logdir and the facts of a run, and returns the problems: an answer that is no screen, a mistake of the
shell, or lines that cannot be made.
"""

from __future__ import annotations

import random
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from tb_debugger_plugin.events.locations import location
from tb_debugger_plugin.shell.command import Needs
from tb_debugger_plugin.shell.commands.table import COMMANDS
from tb_debugger_plugin.shell.screen import Screen, text_of
from tb_debugger_plugin.shell.shell import Shell
from tests.support.asking import HOSTILE, Facts

#: Lines of an answer that are made: its first and its last ones.
_LINES: Final = 200
_HOSTILE_LINES: Final = 8
_MISTAKE: Final = "This is a mistake in the shell"

#: A line for each command whose name alone does not make it do all it can.
FITTING: Final[dict[str, Callable[[Facts], str]]] = {
    "list_tensors": lambda facts: "lt -f has_inf_or_nan -s tensor_name -r",
    "print_tensor": lambda facts: f"pt {_word(facts.op_name)}:0 -s -n 0",
    "print_feed": lambda facts: "pf x",
    "eval": lambda facts: f"eval 'np.isnan(`{facts.op_name}:0`).sum()'",
    "node_info": lambda facts: f"ni -a -d -t {_word(facts.op_name)}",
    "list_inputs": lambda facts: f"li -r -c -t {_word(facts.op_name)}",
    "list_outputs": lambda facts: f"lo -r -c -t {_word(facts.op_name)}",
    "print_source": lambda facts: "ps .py -t",
    "list_executions": lambda facts: "le -s num_inputs -r",
    "goto": lambda facts: f"goto {facts.execution}",
    "config": lambda facts: "config show",
    "help": lambda facts: "help lt",
    "exit": lambda facts: "exit now",
}


def _lines(facts: Facts) -> list[str]:
    """Return a line for each command that needs no program."""
    usable = [
        one for group in COMMANDS.values() for one in group if one.needs in (Needs.RECORDING, Needs.NOTHING)
    ]
    return [FITTING.get(one.name, lambda _, name=one.name: name)(facts) for one in usable]


def _word(name: str) -> str:
    return shlex.quote(name) if name else "''"


def type_commands(logdir: Path, facts: Facts, rng: random.Random) -> Iterator[str]:
    """Types every command once, and some with hostile words.

    Args:
      logdir: The logdir.
      facts: The run, and names in it.
      rng: Chooses the words.

    Yields:
      A sentence for each problem.
    """
    lines = _lines(facts)
    for line in rng.choices(lines, k=_HOSTILE_LINES):
        words = line.split(" ")
        words[rng.randrange(1, len(words)) if len(words) > 1 else 0 :] = [rng.choice(HOSTILE)]
        # Whatever the word is, the answer must not go into a file.
        lines.append(" ".join(words).replace(">", ""))
    with Shell(COMMANDS, location(str(logdir)), facts.run) as shell:
        for line in lines:
            yield from _problems(shell, line)


def _problems(shell: Shell, line: str) -> Iterator[str]:
    answer = shell.answer(line)
    if answer is None or not isinstance(answer, Screen):
        return
    try:
        texts = [text_of(one) for one in [*answer.lines[:_LINES], *answer.lines[-_LINES:]]]
    except Exception as error:
        yield f"{line!r}: its lines cannot be made: {error!r}"
        return
    if any(_MISTAKE in text for text in texts):
        yield f"{line!r}: {texts[0][:300]}"
    if answer.is_error and len(answer.lines) != 1:
        yield f"{line!r}: its error has {len(answer.lines)} lines"
