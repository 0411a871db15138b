"""Commands for a running program to which the shell is attached."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final

from tb_debugger_plugin.errors import UsageError
from tb_debugger_plugin.expressions.names import parse_tensor_name
from tb_debugger_plugin.shell.attached import Attached, Facts
from tb_debugger_plugin.shell.command import Answer, Command, Completes, Needs
from tb_debugger_plugin.shell.screen import (
    Line,
    Mood,
    Part,
    Screen,
    Style,
    joined,
    link,
    of_text,
    plain,
    table,
)

if TYPE_CHECKING:
    from tb_debugger_plugin.shell.shell import Shell

#: Seconds that a command waits for the next stop.
_WAIT_S: Final = 10.0
#: A line of a source file.
_SOURCE_LINE: Final = re.compile(r"(?P<path>.+\.(?:py|ipynb)):(?P<line>[0-9]{1,9})")
_MAX_SENTENCE: Final = 1000


def attached(shell: Shell) -> Attached:
    """Return the programs.

    Raises:
      UsageError: The shell is not attached.
    """
    if shell.attached is None:
        raise UsageError("This shell is not attached to programs: start it with --attach.")
    return shell.attached


# Where the programs are.


def _live_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("number", nargs="?", type=int, metavar="N", help="the program that commands are for")


def _live(shell: Shell, args: argparse.Namespace) -> Answer:
    programs = attached(shell)
    if args.number is not None:
        programs.choose(args.number)
    found = programs.programs()
    if not found:
        return Screen([plain("No program with breakpoints runs below the logdir.", Style.MUTED)])
    if len(found) == 1 or args.number is not None:
        return state_screen(programs.chosen())
    return Screen([plain(f"{len(found)} programs; `live N` chooses one:", Style.HEADING), (), *_list(found)])


def _list(programs: Sequence[Facts]) -> list[Line]:
    rows = [[Part(text, Style.HEADING) for text in ("", "Phase", "Program", "Host", "Pid", "Run")]]
    for number, one in enumerate(programs):
        state = one["state"]
        phase = one["problem"] or ("" if state is None else state["phase"])
        name = " ".join(one["program"]) or "a program"
        cells = (phase, name, one["host"], str(one["pid"]), one["run"] or "")
        rows.append([link(str(number), f"live {number}"), *map(Part, cells)])
    return table(rows)


def state_screen(program: Facts) -> Screen:
    """Return the screen that shows where a program is."""
    state = program["state"]
    title = f"{' '.join(program['program']) or 'a program'} (pid {program['pid']} on {program['host']})"
    if state is None:
        return Screen([plain(title, Style.HEADING), plain(program["problem"] or "Connecting…", Style.MUTED)])
    mood = Mood.BEFORE_CALL if state["pause"] is not None else Mood.ANSWER
    lines = joined([plain(title, Style.HEADING), *_where(state)], _breakpoints(state), _notices(state))
    return Screen(lines, mood)


def _where(state: Facts) -> list[Line]:
    call, pause = state["call"], state["pause"]
    at = "" if call is None else f" in {_call(call)}"
    doing = f", {state['doing']}" if state["phase"] == "running" and state["doing"] else ""
    lines = [plain(f"{state['phase']}{at}{doing}")]
    if pause is not None:
        lines.append(plain(pause["sentence"][:_MAX_SENTENCE]))
        lines += [] if pause["tensor"] is None else _tensor(pause["tensor"])
    return lines + [plain(_thread(one), Style.MUTED) for one in state["running"] if not _is_main(one)]


def _call(call: Facts) -> str:
    thread = "" if _is_main(call) else f", {call['thread']}"
    return f"{call['name']} (call {call['number']:,}{thread})"


def _is_main(call: Facts) -> bool:
    return call["thread"] in ("", "MainThread")


def _thread(call: Facts) -> str:
    return f"{call['thread']} {'is held' if call['is_held'] else 'runs'} in {_call({**call, 'thread': ''})}"


def _tensor(tensor: Facts) -> list[Line]:
    name = f"{tensor['op_name']}:{tensor['slot']}"
    numbers = _numbers(tensor["numbers"])
    place = f"  {tensor['path']}:{tensor['line']}" if tensor["path"] else ""
    return [(Part("at "), link(name, f"pt {name}"), Part(f"  {numbers}{place}"))]


def _numbers(numbers: Sequence[Facts]) -> str:
    return ", ".join(f"{one['name']} {_number(one['value'])}" for one in numbers if one["value"] != 0)


def _number(value: float | None) -> str:
    return "not finite" if value is None else f"{value:.7g}"


def _notices(state: Facts) -> list[Line]:
    return [plain(one["sentence"][:_MAX_SENTENCE], Style.MUTED) for one in state["notices"][-3:]]


# Going on.


def _go_on(shell: Shell, command: Facts, *, waits: bool = True) -> Answer:
    programs = attached(shell)
    before = programs.chosen()
    pause = (before["state"] or {}).get("pause")
    outcome = programs.command({**command, "pause_number": 0 if pause is None else pause["number"]})
    if not outcome["done"]:
        return of_text(f"ERROR: {outcome['sentence'][:_MAX_SENTENCE]}", Mood.ERROR)
    return state_screen(programs.wait(_WAIT_S if waits else 0))


def _step(shell: Shell, args: argparse.Namespace) -> Answer:
    return _go_on(shell, {"step": {}})


def _over(shell: Shell, args: argparse.Namespace) -> Answer:
    return _go_on(shell, {"step_over": {}})


def _out(shell: Shell, args: argparse.Namespace) -> Answer:
    return _go_on(shell, {"step_out": {}})


def _pause(shell: Shell, args: argparse.Namespace) -> Answer:
    return _go_on(shell, {"pause": {}})


def _stop(shell: Shell, args: argparse.Namespace) -> Answer:
    return _go_on(shell, {"stop": {}}, waits=False)


def detach_program(shell: Shell) -> Answer:
    """Let the program run on without stopping again."""
    return _go_on(shell, {"detach": {}}, waits=False)


def _cont_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("tensor", nargs="?", metavar="TENSOR", help="stop when this is computed")
    parser.add_argument("-c", "--calls", type=int, metavar="N", help="stop after N calls")
    parser.add_argument(
        "--until", metavar="COND", help='stop when this holds for any tensor, such as "nan > 0"'
    )


def _cont(shell: Shell, args: argparse.Namespace) -> Answer:
    if args.calls is not None and args.calls < 1:
        raise UsageError(f"-c is {args.calls}; give a whole number from 1 on.")
    given = {
        "calls": args.calls,
        "condition": args.until,
        "tensor": args.tensor and _tensor_place(args.tensor),
    }
    return _go_on(shell, {"continue_": {name: value for name, value in given.items() if value}})


# Breakpoints.


def _break_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("place", nargs="?", metavar="PLACE", help="Log:0, Log or train.py:68")
    parser.add_argument("-t", "--type", default="", metavar="TYPE", help="only ops of this type")
    parser.add_argument("-n", "--name", default="", metavar="RE", help="only ops whose names match")
    parser.add_argument("-l", "--layer", default="", metavar="RE", help="only ops of layers that match")
    parser.add_argument("-g", "--function", default="", metavar="RE", help="only functions that match")
    parser.add_argument("--calls", action="store_true", help="calls from Python, not tensors")
    parser.add_argument("--if", dest="condition", default="", metavar="COND", help='such as "max > 10"')
    parser.add_argument("--ignore", type=int, default=0, metavar="N", help="do not stop at the first N hits")
    parser.add_argument(
        "--first",
        action="store_true",
        help="with --if: only where it begins to hold",
    )
    parser.add_argument("--log", action="store_true", help="note hits for `breaks N`, and do not stop")


def _break(shell: Shell, args: argparse.Namespace) -> Answer:
    where = {
        **_place(args.place),
        **{"op_type": args.type, "name_regex": args.name, "layer_regex": args.layer},
        **{"function_regex": args.function, "calls": args.calls},
    }
    if not any(where.values()):
        raise UsageError("Say where: `break Log:0`, `break train.py:68`, `break -t Log` or `break --calls`.")
    given = {"where": where, "condition": args.condition, "ignore": args.ignore, "enabled": True}
    given |= {"first_only": args.first, "log_only": args.log}
    programs = attached(shell)
    outcome = programs.command({"set_breakpoint": given})
    if not outcome["done"]:
        return of_text(f"ERROR: {outcome['sentence'][:_MAX_SENTENCE]}", Mood.ERROR)
    return Screen(_breakpoints(outcome["state"] or programs.chosen()["state"]))


def _place(text: str | None) -> dict[str, object]:
    if text is None:
        return {}
    line = _SOURCE_LINE.fullmatch(text)
    if line is not None:
        return {"path": line["path"], "line": int(line["line"])}
    return _tensor_place(text)


def _tensor_place(text: str) -> dict[str, object]:
    name = parse_tensor_name(text)
    if name.is_position:
        raise UsageError(f"{text} is a position in a recording; name the tensor.")
    return {"op_name": name.node, "slot": -1 if name.slot is None else name.slot}


def _breaks_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("number", nargs="?", type=int, metavar="N", help="list the hits of log point N")


def _breaks(shell: Shell, args: argparse.Namespace) -> Answer:
    state = attached(shell).chosen()["state"]
    if args.number is not None:
        return Screen(_logged(args.number, [] if state is None else state["breakpoints"]))
    lines = [] if state is None else _breakpoints(state)
    return Screen(lines or [plain("There are no breakpoints.", Style.MUTED)])


def _logged(number: int, breakpoints: Sequence[Facts]) -> list[Line]:
    """Return the hits of a log point, newest first."""
    found = [one for one in breakpoints if one["number"] == number and one["log_only"]]
    if not found:
        raise UsageError(f"There is no log point {number}; `breaks` lists them.")
    rows = [[Part(text, Style.HEADING) for text in ("Time", "Call", "Step", "What", "Numbers")]]
    for hit in reversed(found[0]["logged"]):
        time = datetime.fromtimestamp(hit["wall_time"]).strftime("%H:%M:%S.%f")[:-3]
        cells = (time, str(hit["call"]), str(hit["step"]), hit["name"], _numbers(hit["numbers"]))
        rows.append([*map(Part, cells)])
    return table(rows) if rows[1:] else [plain("It was not hit yet.", Style.MUTED)]


def _breakpoints(state: Facts) -> list[Line]:
    if not state["breakpoints"]:
        return []
    rows = [[Part(text, Style.HEADING) for text in ("Break", "Hits", "Tensors", "Where", "If", "")]]
    for one in state["breakpoints"]:
        off = "" if one["enabled"] else "off"
        first = "first of each origin only" if one["first_only"] and one["condition"] else ""
        logs = "only logs" if one["log_only"] else ""
        remark = one["problem"] or ". ".join(filter(None, (off, logs, one["note"].rstrip("."), first)))
        cells = (
            str(one["hits"]),
            str(one["num_tensors"]),
            where_text(one["where"]),
            one["condition"],
            remark,
        )
        rows.append([Part(str(one["number"])), *map(Part, cells)])
    return table(rows)


def where_text(where: Facts) -> str:
    """Return a place as a short text."""
    slot = "" if where["slot"] < 0 else f":{where['slot']}"
    parts = (
        f"{where['op_name']}{slot}" if where["op_name"] else "",
        f"{where['path']}:{where['line']}" if where["path"] else "",
        "calls" if where["calls"] else "",
        *(f"{name} {where[field]}" for name, field in _PARTS if where[field]),
    )
    return ", ".join(filter(None, parts)) or "every tensor"


_PARTS: Final = (
    *(("type", "op_type"), ("name", "name_regex"), ("layer", "layer_regex")),
    ("function", "function_regex"),
)


def _unbreak_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("number", type=int, metavar="N", help="the number of the breakpoint")


def _unbreak(shell: Shell, args: argparse.Namespace) -> Answer:
    outcome = attached(shell).command({"remove_breakpoint": args.number})
    if not outcome["done"]:
        return of_text(f"ERROR: {outcome['sentence'][:_MAX_SENTENCE]}", Mood.ERROR)
    return _breaks(shell, argparse.Namespace(number=None))


COMMANDS: Final = (
    Command(
        *(
            "live",
            (),
            "show where the running programs are, or choose one",
            _live,
            _live_arguments,
            Needs.LIVE,
        ),
        examples=("live",),
    ),
    Command("step", ("s",), "go on to the next tensor", _step, needs=Needs.LIVE),
    Command("over", (), "go on to the next call", _over, needs=Needs.LIVE),
    Command("out", (), "go on to the end of the call", _out, needs=Needs.LIVE),
    Command(
        *("cont", ("c",), "go on until something happens", _cont, _cont_arguments, Needs.LIVE),
        Completes.TENSOR,
        examples=("cont", "cont -c 10", 'cont --until "nan > 0"', "cont Log:0"),
    ),
    Command("pause", (), "stop the program where it is", _pause, needs=Needs.LIVE),
    Command(
        *("break", ("b",), "stop at a tensor, a line or a call", _break, _break_arguments, Needs.LIVE),
        Completes.TENSOR,
        examples=("break Log:0", 'break train.py:68 --if "max > 10"', "break -t Log", "break --calls"),
    ),
    Command(
        *("breaks", (), "list the breakpoints, or the hits of a log point", _breaks, _breaks_arguments),
        Needs.LIVE,
        examples=("breaks", "breaks 2"),
    ),
    Command("unbreak", (), "remove a breakpoint", _unbreak, _unbreak_arguments, Needs.LIVE),
    Command("stop", (), "end the program", _stop, needs=Needs.LIVE),
)
