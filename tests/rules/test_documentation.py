"""What the README promises is there."""

from __future__ import annotations

import re

from tests.support.checkout import ROOT, tracked_files

README = (ROOT / "README.md").read_text("utf-8")
_CODE = re.compile(r"```.*?```|`[^`\n]+`", re.DOTALL)
_CODE_OF_README = "\n".join(_CODE.findall(README))
_VERBS = set(re.findall(r"^([a-z]+):.*## ", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))


def test_readme_names_exactly_the_verbs_of_the_makefile():
    assert set(re.findall(r"\bmake ([a-z]+)", _CODE_OF_README)) == _VERBS


def test_every_make_verb_is_declared_as_one():
    phony = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    assert phony and set(phony[1].split()) == _VERBS


def test_links_between_documents_lead_to_files():
    broken = []
    for page in tracked_files():
        if page.suffix != ".md":
            continue
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
            if "://" not in target and not (page.parent / target).exists():
                broken.append(f"{page.relative_to(ROOT)}: {target}")
    assert not broken
