"""Generates the types and checks of answers for the page, and the tables of their fields for the docs.

Takes two sources: the classes of the package that are TypedDicts or JsonObjects, and the compiled descriptor
of `protos/live.proto`. Writes `answers.ts` and `live.ts` in `frontend/src/api/generated`, which are not in
git; `build_steps.reference` writes the tables. Sources are parsed, not imported: the package is not complete
while it is built.

The text of a field of a TypedDict is a comment that begins with `#:`, after it or above it; a field without
one shares the row of the field above. That of a JsonObject, which is a dataclass, is in its docstring or in
such a comment, and that of a property is the first line of the property's. Where a type is Annotated, the
shape is what it is annotated with. A class that is no shape is a message of `live.proto`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import Final

from google.protobuf.descriptor_pb2 import DescriptorProto, EnumDescriptorProto, FieldDescriptorProto
from google.protobuf.descriptor_pb2 import FileDescriptorSet as Descriptors

from build_steps.freshness import PACKAGE, ROOT, files_below, write_if_stale
from build_steps.protos import RESULTS, build_descriptors

_LIVE: Final = RESULTS["live.proto"]
_MODULES: Final = ROOT / "frontend" / "src" / "api" / "generated"
#: The rooms that have answers.
_ROOMS: Final = ("analysis", "live/viewer", "server")
_SUFFIX: Final = "Json"
#: Fields that have a type of their own in the page, by name, or by class and name.
_BRANDS: Final[Mapping[str, str]] = {
    "Breakpoint.number": "breakpointNumber",
    "Diagnosis.index": "alertIndex",
    "Evaluation.tensor": "liveTensorNumber",
    "Outcome.breakpoint": "breakpointNumber",
    "Pause.breakpoint": "breakpointNumber",
    "Tensor.number": "liveTensorNumber",
    "execution": "executionIndex",
    "execution_index": "executionIndex",
    "file_index": "fileIndex",
    "first_cause": "alertIndex",
    "FoundFile.index": "fileIndex",
    "FoundLine.index": "fileIndex",
    "GraphPart.first_bad": "graphExecutionIndex",
    "graph_execution": "graphExecutionIndex",
    "graph_execution_begin": "graphExecutionIndex",
    "graph_execution_end": "graphExecutionIndex",
    "graph_execution_index": "graphExecutionIndex",
    "graph_execution_trace_index": "graphExecutionIndex",
    "graph_id": "graphId",
    "graph_ids": "graphId",
    "inner_graph_ids": "graphId",
    "LiveProgram.id": "programId",
    "LiveProgram.run": "runName",
    "outer_graph_id": "graphId",
    "owner_execution_index": "executionIndex",
    "Paused.run": "runName",
    "PausedOp.owner": "executionIndex",
    "SourceFileOps.index": "fileIndex",
    "stack_frame_ids": "frameId",
}
_TEXTS: Final = frozenset({"frameId", "graphId", "programId", "runName"})
_CHECKS: Final = {"bool": "truth", "float": "number", "int": "number", "str": "text"}
_WORDS: Final = {"bool": "boolean", "float": "number", "int": "integer", "str": "text"}


@dataclass(frozen=True)
class Field:
    """A field of an object of an answer.

    Attributes:
      name: Its name.
      type: Its type in Python.
      text: What it means; empty if the row of the field above says it.
      is_needed: Whether each such object has it.
    """

    name: str
    type: ast.expr
    text: str
    is_needed: bool


@dataclass(frozen=True)
class Shape:
    """A TypedDict or JsonObject: the fields of an object of an answer, with those of its bases first.

    Attributes:
      name: The class.
      bases: Those of the class that are shapes.
      own: The fields of the class itself, and its properties.
      members: Names of the fields that the object has; empty for those of the bases and its own.
    """

    name: str
    bases: tuple[str, ...]
    own: tuple[Field, ...]
    members: tuple[str, ...] = ()

    @property
    def listed(self) -> tuple[Field, ...]:
        """The fields that are not just those of the bases."""
        if not self.members:
            return self.own
        known = {field.name: field for base in self.bases for field in shapes()[base].own}
        known |= {field.name: field for field in self.own}
        return tuple(known[name] for name in self.members)


def build_answers() -> None:
    """Write the modules whose sources are newer."""
    build_descriptors()
    write_if_stale(_MODULES / "answers.ts", [*_sources(), *_page(), Path(__file__)], answers_module)
    write_if_stale(_MODULES / "live.ts", [_LIVE, Path(__file__)], lambda: live_module(_LIVE.read_bytes()))


def _sources() -> Iterator[Path]:
    for room in _ROOMS:
        yield from (path for path in files_below(PACKAGE / room) if path.suffix == ".py")


def _page() -> Iterator[Path]:
    """Return the modules of the page that are written by hand."""
    return files_below(ROOT / "frontend" / "src", skip=frozenset({"generated"}))


@cache
def shapes() -> Mapping[str, Shape]:
    """Return all declared shapes by name."""
    texts = (path.read_text("utf-8") for path in _sources())
    found = [shape for text in texts for shape in _declared(text)]
    by_name = {shape.name: shape for shape in found}
    if len(by_name) < len(found):
        raise ValueError(f"Two shapes of answers have the same name, of {sorted(s.name for s in found)}.")
    return by_name


@cache
def _aliases() -> Mapping[str, ast.expr]:
    """Return the types that have a name, such as that of a Literal."""
    nodes = (node for path in _sources() for node in ast.parse(path.read_text("utf-8")).body)
    return {
        ast.unparse(node.target): node.value
        for node in nodes
        if isinstance(node, ast.AnnAssign) and node.value and ast.unparse(node.annotation) == "TypeAlias"
    }


def _declared(source: str) -> Iterator[Shape]:
    if "TypedDict" not in source and "JsonObject" not in source:
        return
    lines = source.splitlines()
    objects = {"JsonObject"}
    for node in ast.parse(source).body:
        if not isinstance(node, ast.ClassDef):
            continue
        bases = [ast.unparse(base).rpartition(".")[2] for base in node.bases]
        if objects.intersection(bases):
            objects.add(node.name)
        elif not node.name.endswith(_SUFFIX):
            continue
        is_needed = not any(word.arg == "total" for word in node.keywords)
        texts = _attributes(ast.get_docstring(node) or "")
        own = [_field(each, lines, texts, is_needed) for each in node.body if isinstance(each, ast.AnnAssign)]
        properties = [each for each in node.body if isinstance(each, ast.FunctionDef) and each.returns]
        members = next((each.value for each in node.body if isinstance(each, ast.Assign)), None)
        if members is not None:
            own += [_property(each) for each in properties]
        yield Shape(
            node.name,
            tuple(base for base in bases if base not in _MARKS),
            tuple(own),
            () if members is None else tuple(ast.literal_eval(members).split()),
        )


_MARKS: Final = ("JsonObject", "TypedDict")
_ATTRIBUTE: Final = re.compile(r"^  (\w+)(?:, \w+)*: (.*(?:\n    .*)*)", re.MULTILINE)


def _attributes(docstring: str) -> dict[str, str]:
    """Return the texts of attributes, each as that of the first one of its paragraph."""
    found = _ATTRIBUTE.finditer(docstring.partition("Attributes:\n")[2])
    return {each[1]: _as_cell(" ".join(each[2].split())) for each in found}


def _as_cell(text: str) -> str:
    text = text.removesuffix(".").replace("``", "`").replace("None", "null")
    return text[:1].lower() + text[1:] if text[1:2].islower() or text[1:2] == " " else text


def _property(node: ast.FunctionDef) -> Field:
    assert node.returns is not None
    return Field(node.name, node.returns, _as_cell((ast.get_docstring(node) or "").partition("\n")[0]), True)


def _field(node: ast.AnnAssign, lines: list[str], texts: Mapping[str, str], is_needed: bool) -> Field:
    name = ast.unparse(node.target)
    _, _, after = lines[node.lineno - 1].partition("#: ")
    above = takewhile(lambda line: line.startswith("#:"), map(str.strip, reversed(lines[: node.lineno - 1])))
    comment = after or " ".join(line.removeprefix("#:").strip() for line in reversed(list(above)))
    return Field(name, node.annotation, texts.get(name, comment), is_needed)


def answers_module() -> str:
    """Return the TypeScript module of the answers that classes declare.

    Shapes and fields that no module of the page names are left out: the page is smaller without them.
    """
    read = {word for path in _page() for word in re.findall(r"\w+", path.read_text("utf-8"))}
    objects = {
        _plain(shape.name): {
            **{_plain(base): "" for base in shape.bases if not shape.members},
            **{field.name: _check(shape, field) for field in shape.listed if field.name in read},
        }
        for shape in shapes().values()
    }
    return _module("the classes of the package", objects, [name for name in objects if _const(name) in read])


def _check(shape: Shape, field: Field) -> str:
    check = _check_of(field.type, _brand(_plain(shape.name), field.name))
    return check if field.is_needed else f"c.optional({check})"


def _check_of(kind: ast.expr, brand: Callable[[str], str]) -> str:
    kind = _resolved(kind)
    if isinstance(kind, ast.BinOp):
        return f"c.optional({_check_of(kind.left, brand)})" if _is_optional(kind) else brand("c.numberOrText")
    if isinstance(kind, ast.Subscript):
        items = ", ".join(_check_of(item, brand) for item in _items(kind))
        return f"c.{'tuple' if len(_items(kind)) > 1 else 'list' if _is_list(kind) else 'record'}({items})"
    name = _last(ast.unparse(kind))
    if name in _CHECKS:
        return brand(f"c.{_CHECKS[name]}")
    return _const(_plain(name)) if name in shapes() else f"live.{_const(name)}"


def _resolved(kind: ast.expr) -> ast.expr:
    """Return a type without the names and notes that do not matter for JSON."""
    if isinstance(kind, ast.Name) and kind.id in _aliases():
        return _resolved(_aliases()[kind.id])
    if isinstance(kind, ast.Subscript) and isinstance(kind.slice, ast.Tuple):
        if ast.unparse(kind.value) == "Annotated":
            return _resolved(kind.slice.elts[-1])
        if ast.unparse(kind.value) == "Literal":
            return ast.Name("str")
    return kind


def _is_optional(kind: ast.BinOp) -> bool:
    return ast.unparse(kind.right) == "None"


def _is_list(kind: ast.expr) -> bool:
    return isinstance(kind, ast.Subscript) and ast.unparse(kind.value) in ("list", "tuple")


def _items(kind: ast.Subscript) -> list[ast.expr]:
    """Return the type of an item of a list or object; of a tuple, that of each item."""
    if not isinstance(kind.slice, ast.Tuple):
        return [kind.slice]
    if _is_list(kind):
        return [item for item in kind.slice.elts if ast.unparse(item) != "..."]
    return kind.slice.elts[-1:]


def _brand(owner: str, name: str) -> Callable[[str], str]:
    brand = _BRANDS.get(f"{owner}.{name}", _BRANDS.get(name))
    return lambda check: brand or check


def _plain(name: str) -> str:
    return name.removesuffix(_SUFFIX)


def _const(name: str) -> str:
    return name[0].lower() + name[1:]


def _module(source: str, objects: Mapping[str, Mapping[str, str]], roots: Iterable[str]) -> str:
    """Return a module with a check and a type for some objects, after those that they need.

    Args:
      source: What it is generated from.
      objects: The check of each field; a field without one is another object, whose fields belong to it.
      roots: The objects that the page needs itself.
    """
    ordered: dict[str, None] = {}

    def add(name: str) -> None:
        for field, check in objects[name].items():
            for needed in objects:
                if needed != name and re.search(rf"(?<![\w.]){_const(needed)}\b", check or _const(field)):
                    add(needed)
        ordered.setdefault(name)

    for name in roots:
        add(name)
    parts = [
        f"// Generated by build_steps/answers.py from {source}.",
        'import * as ids from "../../base/ids";',
        'import * as c from "../check";',
        "",
    ]
    checks = " ".join(check for name in ordered for check in objects[name].values())
    spread = {field for name in ordered for field, check in objects[name].items() if not check}
    if re.search(r"\blive\.", checks):
        parts.insert(3, 'import * as live from "./live";')
    for brand in sorted({brand for brand in _BRANDS.values() if re.search(rf"\b{brand}\b", checks)}):
        kind = "text" if brand in _TEXTS else "number"
        parts.append(f"export const {brand} = c.branded(c.{kind}, ids.{brand});")
    for name in ordered:
        fields = "".join(
            f"  {field}: {check},\n" if check else f"  ...{_const(field)}Fields,\n"
            for field, check in objects[name].items()
        )
        whole = f"{{\n{fields}}}"
        if name in spread:
            parts.append(f"\nconst {_const(name)}Fields = {whole};")
            whole = f"{_const(name)}Fields"
        parts.append(f"\nexport const {_const(name)} = c.object({whole});")
        parts.append(f"export type {name} = c.Checked<typeof {_const(name)}>;")
    return "\n".join([*parts, ""])


#: The messages that answers are, and those that are always set.
_ANSWERS: Final = ("State", "Outcome", "TensorList", "Evaluation")
_ALWAYS_SET: Final = frozenset({"Where"})


def live_module(descriptor: bytes) -> str:
    """Return the TypeScript module of the answers that are messages.

    Args:
      descriptor: A serialised FileDescriptorSet.
    """
    messages = {m.name: m for file in Descriptors.FromString(descriptor).file for m in file.message_type}
    enums = {e.name: e for m in messages.values() for e in m.enum_type}
    objects: dict[str, Mapping[str, str]] = {}

    def add(name: str) -> None:
        objects[name] = {
            field.name: _live_check(messages[name], field, enums) for field in messages[name].field
        }
        for field in messages[name].field:
            if (needed := _last(field.type_name)) in messages and needed not in objects:
                add(needed)

    for name in _ANSWERS:
        add(name)
    return _module("protos/live.proto", objects, objects)


def _live_check(
    message: DescriptorProto, field: FieldDescriptorProto, enums: Mapping[str, EnumDescriptorProto]
) -> str:
    is_list = field.label == field.LABEL_REPEATED
    name = _last(field.type_name)
    if field.type == field.TYPE_ENUM:
        # The first one stands for those that are not known.
        names = ", ".join(f'"{value.name.lower()}"' for value in enums[name].value[1:])
        check = f"c.oneOf({names})"
    elif field.type == field.TYPE_MESSAGE:
        check = _const(name) if is_list or name in _ALWAYS_SET else f"c.optional({_const(name)})"
    else:
        check = _brand(message.name, field.name)(f"c.{_LIVE_CHECKS.get(field.type, 'number')}")
    if (message.name, field.name) == ("Number", "value"):
        check = f"c.optional({check})"  # NaN and infinities are null
    return f"c.list({check})" if is_list else check


_LIVE_CHECKS: Final = {FieldDescriptorProto.TYPE_STRING: "text", FieldDescriptorProto.TYPE_BOOL: "truth"}


def _last(name: str) -> str:
    return name.rpartition(".")[2]


_TABLE: Final = re.compile(r"(<!-- (\w+): ([^\n]*) -->\n).*?(<!-- end -->)", re.DOTALL)


def with_tables(page: str) -> str:
    """Return a page with its tables of fields renewed.

    They are between `<!-- StatusJson: field -->`, with the shape and the heading of the first column, and
    `<!-- end -->`. The fields of a base without a table are in those of its subclasses.
    """
    own = {found[2] for found in _TABLE.finditer(page)}
    return _TABLE.sub(
        lambda found: f"{found[1]}\n{_table(shapes()[found[2]], found[3], own)}\n\n{found[4]}", page
    )


def _table(shape: Shape, heading: str, others: Container[str]) -> str:
    rows: list[list[Field]] = []
    bases = [] if shape.members else [shapes()[base] for base in shape.bases if base not in others]
    for field in [*(field for base in bases for field in base.listed), *shape.listed]:
        if field.text:
            rows.append([field])
        else:
            rows[-1].append(field)
    return "\n".join([f"| {heading} | type | meaning |", "| -- | -- | -- |", *map(_row, rows)])


def _row(fields: Iterable[Field]) -> str:
    fields = list(fields)
    names = ", ".join(f"`{field.name}{'[]' * _depth(field.type)}`" for field in fields)
    types = ", ".join(dict.fromkeys(_words(field.type) for field in fields))
    return f"| {names} | {types} | {fields[0].text} |"


def _depth(kind: ast.expr) -> int:
    kind = _resolved(kind)
    return 1 + _depth(_items(kind)[0]) if isinstance(kind, ast.Subscript) and _is_list(kind) else 0


def _words(kind: ast.expr) -> str:
    kind = _resolved(kind)
    if isinstance(kind, ast.BinOp):
        return f"{_words(kind.left)} or {'null' if _is_optional(kind) else _words(kind.right)}"
    if isinstance(kind, ast.Subscript):
        items = ", ".join(dict.fromkeys(map(_words, _items(kind))))
        return f"{'list' if _is_list(kind) else 'object'} of {items}"
    return _WORDS.get(ast.unparse(kind), "object")


if __name__ == "__main__":
    build_answers()
