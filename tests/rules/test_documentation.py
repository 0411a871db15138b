"""`README.md`: what this page and the other documents name exists."""

from __future__ import annotations

import ast
import inspect
import pydoc
import re
from collections import Counter
from pathlib import Path

import pytest

import tb_debugger_plugin
from build_steps.answers import shapes
from build_steps.reference import PAGES
from tb_debugger_plugin.analysis.inventory import KINDS
from tb_debugger_plugin.cli.main import build_parser
from tests.support.checkout import ROOT, tracked_files, tracked_paths
from tests.support.suites import SMOKE, invariants

_README = (ROOT / "README.md").read_text("utf-8")
_CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
_COMMAND_LINE = (ROOT / "docs" / "guide" / "command-line.md").read_text("utf-8")
_CODE = re.compile(r"```.*?```|`[^`\n]+`", re.DOTALL)
_VERBS = set(re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))


def _code(*documents: str) -> str:
    return "\n".join(block for document in documents for block in _CODE.findall(document))


def _verbs_of_make(*documents: str) -> set[str]:
    return set(re.findall(r"\bmake ([a-z-]+)", _code(*documents)))


def test_readme_and_contributing_name_exactly_the_verbs_of_the_makefile():
    assert _verbs_of_make(_CONTRIBUTING) == _VERBS
    assert {"demo", "test"} <= _verbs_of_make(_README) <= _VERBS


def test_every_make_verb_is_declared_as_one():
    phony = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    assert phony and set(phony[1].split()) == _VERBS


def test_contributing_and_make_help_say_the_same_of_the_long_tests():
    (help_text,) = re.findall(r"^test-long:.*## (.*)$", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    (row,) = re.findall(r"^\| `make test-long` \| (.*) \|$", _CONTRIBUTING, re.MULTILINE)
    counts = [re.findall(r"\d+(?= times)", text) for text in (help_text, row)]
    assert len(counts[0]) == 2
    assert counts[0] == counts[1]


def test_links_between_documents_lead_to_files():
    broken = []
    for page in tracked_files():
        if page.suffix != ".md":
            continue
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
            if "://" not in target and not (page.parent / target).exists():
                broken.append(f"{page.relative_to(ROOT)}: {target}")
    assert not broken


def test_the_command_line_has_exactly_the_verbs_of_tbdbg_and_readme_no_others():
    in_help = set(re.findall(r"^    ([a-z]+) ", build_parser().format_help(), re.MULTILINE))
    assert in_help and set(re.findall(r"^## tbdbg ([a-z]+)$", _COMMAND_LINE, re.MULTILINE)) == in_help
    in_readme = set(re.findall(r"\btbdbg ([a-z]+)", _code(_README)))
    assert in_readme and in_readme <= in_help


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_that_is_made_from_the_sources_is_fresh(page):
    """`make docs` writes these pages, and so does `python -m build_steps.reference`."""
    assert page.read_text("utf-8") == PAGES[page]()


def test_the_list_of_documents_has_each_page_once():
    index = (ROOT / "docs" / "README.md").read_text("utf-8")
    listed = re.findall(r"^- \[.*?\]\((.*?)\)", index, re.MULTILINE | re.DOTALL)
    pages = [
        str(page.relative_to(ROOT / "docs"))
        for page in tracked_files()
        if page.suffix == ".md" and page.is_relative_to(ROOT / "docs")
    ]
    inside = [page for page in pages if not page.startswith("decisions/") and page != "README.md"]
    assert sorted(name for name in listed if name.endswith(".md") and not name.startswith("..")) == sorted(
        inside
    )


@pytest.mark.tensorflow
@pytest.mark.parametrize("name", tb_debugger_plugin.__all__)
def test_a_public_name_says_what_each_argument_does(name):
    public = getattr(tb_debugger_plugin, name)
    text = inspect.getdoc(public) or ""
    assert text
    missing = [argument for argument in inspect.signature(public).parameters if f"{argument}:" not in text]
    assert not missing


@pytest.mark.tensorflow
def test_help_shows_the_public_names():
    text = pydoc.plain(pydoc.render_doc(tb_debugger_plugin))
    classes = {
        name for name in tb_debugger_plugin.__all__ if inspect.isclass(getattr(tb_debugger_plugin, name))
    }
    assert all(f"\n    class {name}(" in text for name in classes)
    functions = text.partition("\nFUNCTIONS\n")[2]
    assert all(f"\n    {name}(" in f"\n{functions}" for name in set(tb_debugger_plugin.__all__) - classes)


def test_the_examples_of_the_readme_are_python_that_uses_public_names():
    used = {
        node.attr
        for block in re.findall(r"```python\n(.*?)```", _README, re.DOTALL)
        for node in ast.walk(ast.parse(block))
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "tb_debugger_plugin"
    }
    assert used and used <= set(tb_debugger_plugin.__all__)


def test_docstrings_and_documents_have_the_subject_before_the_verb():
    inverted = re.compile(r"\b(?:In|out) (?:come|go)(?:es|s)?\b")
    sources = [path for path in tracked_files() if path.suffix in (".py", ".cc", ".h", ".ts", ".tsx", ".md")]
    wrong = [str(path.relative_to(ROOT)) for path in sources if inverted.search(path.read_text("utf-8"))]
    assert not wrong


def test_the_tests_that_documents_name_are_there():
    paths = tracked_paths()
    there = paths | {Path(path.name) for path in paths}
    for page in (path for path in tracked_files() if path.suffix == ".md"):
        named = re.findall(r"`(tests/[\w./]+|test_\w+\.py|conftest\.py)(?:::\w+)?`", page.read_text("utf-8"))
        missing = [name for name in named if Path(name) not in there]
        assert not missing, page


def test_the_map_names_one_to_three_tests_for_each_invariant():
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    rows = re.findall(r"^\| (.*) \|$", page.partition("| what holds |")[2].partition("\n\n")[0], re.MULTILINE)
    counts = Counter(invariants().values())
    assert rows[1:] and all(1 <= counts[row.partition(" | ")[0]] <= 3 for row in rows[1:])
    for test in (*invariants(), *SMOKE):
        path, _, function = test.partition("::")
        assert f"\ndef {function}(" in (ROOT / path).read_text("utf-8"), test


def test_every_shape_is_on_the_page_or_part_of_a_field_that_says_its_members():
    page = (ROOT / "docs" / "http-api.md").read_text("utf-8")
    marked = set(re.findall(r"<!-- (\w+): ", page))
    shown = marked | {base for name in marked for base in shapes()[name].bases}
    for shape in shapes().values():
        assert shape.name in shown or not any(field.text for field in shape.own), shape.name


def test_the_page_knows_the_lists_of_things_of_the_server_in_their_order():
    routes = (ROOT / "frontend" / "src" / "api" / "routes.ts").read_text("utf-8")
    (kinds,) = re.findall(r"export const KINDS = \[(.*?)\n\] as const;", routes, re.DOTALL)
    assert re.findall(r'"(\w+)"', kinds) == list(KINDS)
