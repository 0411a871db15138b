"""Writes the reference pages that follow from the sources: the command line, public names, fields of answers.

`python -m build_steps.reference` writes `docs/guide/command-line.md`, `docs/python-api.md` and the tables of
fields of `docs/http-api.md`; a test compares them. The sources of the public names are parsed, not imported,
because they need TensorFlow.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import mdformat

from build_steps.answers import with_tables
from build_steps.freshness import ROOT
from tb_debugger_plugin.analysis.lists.criteria import CRITERIA, Criterion, Kind
from tb_debugger_plugin.cli.main import build_parser

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_PACKAGE: Final = "tb_debugger_plugin"
_DOCS: Final = ROOT / "docs"

_COMMAND_LINE: Final = """\
# The command line

The verbs of `tbdbg`; `tbdbg VERB --help` prints the same. LOGDIR is a folder, or a URL that
[fsspec](https://filesystem-spec.readthedocs.io) reads, as for `tensorboard --logdir`.

With `--json`, verbs print JSON; `dump` prints one object per line, one for each record. If some of several
runs cannot be read, each of them gets a sentence, or an `error` in the JSON, and the others are read.

| exit code | meaning |
| -- | -- |
| 0 | done |
| 1 | it could not be done; a sentence on stderr says why |
| 2 | the command line is wrong |
| 3 | `tbdbg alerts --fail-on` found alerts |
"""

#: What a help text is too short for.
_NOTES: Final[Mapping[str, str]] = {
    "alerts": "[Alert rules](rules.md) has the rules, and an example for CI.",
    "clean": "`TB_DEBUGGER_CACHE` is the folder of the tables, `TB_DEBUGGER_CACHE_GB` their limit (2).",
    "compare": "[Comparing two runs](comparison.md) explains the answer.",
    "demo": "It needs TensorFlow and scikit-learn: `pip install '.[demo]'`.",
    "export": (
        "The folder is a run like any other: pass it to `tensorboard --logdir`. `tensors.parquet` and "
        "`calls.parquet` are for other programs."
    ),
    "index": (
        "With `--to`, processes of this machine, or the workers of a [Dask](https://docs.dask.org) cluster, "
        "write the tables into a folder, which is a run like any other: pass it to `tensorboard --logdir`. "
        "Install `'.[cluster]'`, on workers too, in the same version. Every worker must be able to read "
        "LOGDIR and write OUT, and the dump must be complete. If anything fails, the folder is no run, and a "
        "sentence says why; the same command begins again."
    ),
    "origins": "[Where bad values come from](origins.md) explains the answer.",
    "precision": "[What would overflow in float16](precision.md) explains the answer.",
    "report": "[Reports](reports.md) has an example.",
    "run": (
        "[The shell around a running program](shell-programs.md) and [Breakpoints](breakpoints.md) have "
        "examples."
    ),
    "shell": "[The shell](shell.md) has its commands.",
    "sql": "[The tables](../schema.md) has the columns of `tensors`, `calls` and the tables.",
    "why": "[Finding the first NaN](first-nan.md) explains the answer.",
}

_PYTHON: Final = """\
# The public names

The names of `tb_debugger_plugin`, and `tb_debugger_plugin.keras.DebuggerCallback`, as their docstrings
describe them. `tb_debugger_plugin.tfdbg` has the names of tfdbg: [sessions](guide/sessions.md),
[running programs](guide/shell-programs.md).
"""

#: Headings of the public names by the room of their modules.
_HEADINGS: Final[Mapping[str, str]] = {
    "capture": "Recording",
    "errors": "Recording",
    "events": "Asking",
    "live": "Recording",
    "reading": "Asking",
    "techniques": "In one line",
}


def command_line() -> str:
    """Return the page of the verbs and options of `tbdbg`."""
    parser = build_parser()
    (verbs,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    helps = {each.dest: each.help or "" for each in verbs._choices_actions}
    parts = [_verb(name, helps[name], verb) for name, verb in verbs.choices.items()]
    return _formatted("\n".join([_COMMAND_LINE, *parts]))


def _verb(name: str, summary: str, parser: argparse.ArgumentParser) -> str:
    actions = [each for each in parser._actions if not isinstance(each, argparse._HelpAction)]
    options = [each for each in actions if each.option_strings]
    words = map(_usage, [*options, *(each for each in actions if each not in options)])
    usage = textwrap.fill(" ".join(["tbdbg", name, *words]), 100, subsequent_indent="    ")
    rows = [f"| `{_written(each)}` | {_cell(_help(each))} |" for each in actions]
    table = ["", "| argument | meaning |", "| -- | -- |", *rows] if rows else []
    note = ["", _NOTES[name]] if name in _NOTES else []
    return "\n".join(
        [
            f"## tbdbg {name}",
            "",
            f"{summary[:1].upper()}{summary[1:]}.",
            *note,
            "",
            "```",
            usage,
            "```",
            *table,
            "",
        ]
    )


def _help(action: argparse.Action) -> str:
    return (action.help or "") % {**vars(action), "prog": "tbdbg"}


def _usage(action: argparse.Action) -> str:
    text = _written(action).removeprefix(", ".join(action.option_strings[:-1]) + ", ")
    is_needed = action.required and action.nargs not in ("*", argparse.REMAINDER)
    return text if is_needed else f"[{text}]"


def _written(action: argparse.Action) -> str:
    """Return an argument as one types it."""
    choices = "{" + ",".join(map(str, action.choices)) + "}" if action.choices else ""
    name = action.metavar if isinstance(action.metavar, str) else choices or action.dest.upper()
    if action.nargs in ("*", argparse.REMAINDER):
        name += " …"
    if not action.option_strings:
        return name
    return ", ".join(action.option_strings) + ("" if action.nargs == 0 else f" {name}")


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "\\<")


@dataclass(frozen=True)
class _Public:
    """A public function or class: its definition, and the heading below which it is."""

    name: str
    heading: str
    node: ast.FunctionDef | ast.ClassDef


def python_api() -> str:
    """Return the page of the public names, with their arguments."""
    names = sorted(_public_names(), key=lambda each: each.name.lower())
    parts = [_PYTHON]
    for heading in dict.fromkeys(_HEADINGS.values()):
        parts += [f"## {heading}", *(_described(each) for each in names if each.heading == heading)]
    return _formatted("\n\n".join(parts))


def _public_names() -> Iterator[_Public]:
    package = ast.parse((ROOT / _PACKAGE / "__init__.py").read_text("utf-8"))
    for name, module in _table(package, "_MODULES").items():
        yield _Public(name, _HEADINGS[module.split(".")[0]], _definition(name, module))
    for name, module in _imported(ast.parse((ROOT / _PACKAGE / "keras.py").read_text("utf-8"))).items():
        if name == "DebuggerCallback":
            yield _Public(name, "Recording", _definition(name, module))


def _table(tree: ast.Module, name: str) -> dict[str, str]:
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
            table: dict[str, str] = ast.literal_eval(node.value)
            return table
    raise LookupError(f"{_PACKAGE}/__init__.py has no table {name}")


def _definition(name: str, module: str) -> ast.FunctionDef | ast.ClassDef:
    """Return the definition of a name in a module, or in the module that this imports it from."""
    tree = ast.parse(_source_file(module).read_text("utf-8"))
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name == name:
            return node
    return _definition(name, _imported(tree)[name])


def _source_file(module: str) -> Path:
    path = ROOT.joinpath(_PACKAGE, *module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def _imported(tree: ast.Module) -> dict[str, str]:
    """Return the names that a module imports from this package, with their modules."""
    imports = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module)
    return {
        alias.asname or alias.name: str(node.module).removeprefix(f"{_PACKAGE}.")
        for node in imports
        for alias in node.names
    }


_SECTION: Final = re.compile(r"^(Args|Attributes|Returns|Yields|Raises):$", re.MULTILINE)
_ITEM: Final = re.compile(r"^  (\*{0,2}\w+): ", re.MULTILINE)
_CODE: Final = re.compile(r"::\n\n((?:    .*\n|\n)+)", re.MULTILINE)
_ROLE: Final = re.compile(r":(?:meth|func|class|mod|attr|data):`~?\.?([^`]*)`")


def _described(public: _Public) -> str:
    text = _ROLE.sub(r"`\1`", ast.get_docstring(public.node) or "").replace("``", "`")
    prose, *sections = _SECTION.split(f"{text}\n")
    parts = [f"### {public.name}", _CODE.sub(_as_code, prose)]
    defaults = _defaults(public.node)
    for title, body in zip(sections[::2], sections[1::2], strict=True):
        items = _ITEM.split(f"\n{body.strip(chr(10))}")
        if title in ("Returns", "Yields") or len(items) == 1:
            parts.append(f"**{title}:** {_joined(body)}")
        else:
            entries = zip(items[1::2], items[2::2], strict=True)
            label = "Raises" if title == "Raises" else "Arguments"
            parts.append(
                f"**{label}:**\n\n" + "\n".join(_item(name, text, defaults) for name, text in entries)
            )
    return "\n\n".join(parts)


def _as_code(match: re.Match[str]) -> str:
    lines = [line[4:] for line in match[1].rstrip().splitlines()]
    return "\n".join([":", "", "```python", *lines, "```", "", ""])


def _item(name: str, text: str, defaults: Mapping[str, str]) -> str:
    default = f" = `{defaults[name]}`" if name in defaults else ""
    return f"- `{name}`{default}: {_joined(text)}"


def _joined(text: str) -> str:
    return " ".join(text.split()).replace("<", "\\<")


def _defaults(node: ast.FunctionDef | ast.ClassDef) -> dict[str, str]:
    """Return the defaults of the arguments of a function, or of those that make an object of a class."""
    functions = [each for each in (node, *node.body) if isinstance(each, ast.FunctionDef)]
    maker = next((each for each in functions if each is node or each.name == "__init__"), None)
    given = _fields(node.body) if maker is None else _defaults_of(maker.args)
    # The text says what a constant stands for.
    values = {name: ast.unparse(value) for name, value in given if value is not None}
    return {name: value for name, value in values.items() if not re.fullmatch("[A-Z_]+", value)}


def _fields(body: Iterable[ast.stmt]) -> Iterator[tuple[str, ast.expr | None]]:
    return ((ast.unparse(each.target), each.value) for each in body if isinstance(each, ast.AnnAssign))


def _defaults_of(arguments: ast.arguments) -> Iterator[tuple[str, ast.expr | None]]:
    positional = [*arguments.posonlyargs, *arguments.args]
    last = positional[len(positional) - len(arguments.defaults) :]
    yield from zip((each.arg for each in last), arguments.defaults, strict=True)
    yield from zip((each.arg for each in arguments.kwonlyargs), arguments.kw_defaults, strict=True)


def http_api() -> str:
    """Return the page of the routes with its tables of fields and of filters renewed."""
    page = with_tables((_DOCS / "http-api.md").read_text("utf-8"))
    return _formatted(_FILTERS.sub(lambda found: f"{found[1]}\n{_filters()}\n\n{found[2]}", page))


_FILTERS: Final = re.compile(r"(<!-- filters -->\n).*?(<!-- end of filters -->)", re.DOTALL)


def _filters() -> str:
    heads = "| parameter | value | of graph executions | of executions | in the filter field |"
    rows = (heads, "|" + " -- |" * 5)
    return "\n".join([*rows, *map(_filter_row, CRITERIA)])


def _filter_row(one: Criterion) -> str:
    value = " or ".join(f"`{word}`" for word in one.choices) or one.kind.value
    field = f"`{one.word}:`" if one.word else "`nan>0`" if one.kind is Kind.COMPARISONS else "–"
    return f"| `{one.name}` | {value} | {one.graph_executions} | {one.executions or '–'} | {field} |"


def _formatted(text: str) -> str:
    """Return the text as `mdformat` leaves it."""
    settings = tomllib.loads((ROOT / ".mdformat.toml").read_text("utf-8"))
    extensions = settings.pop("extensions")
    return mdformat.text(text, options=settings, extensions=extensions)


#: The pages, each with the function that makes it.
PAGES: Final[Mapping[Path, Callable[[], str]]] = {
    _DOCS / "guide" / "command-line.md": command_line,
    _DOCS / "http-api.md": http_api,
    _DOCS / "python-api.md": python_api,
}


if __name__ == "__main__":
    for path, make in PAGES.items():
        path.write_text(make(), "utf-8")
