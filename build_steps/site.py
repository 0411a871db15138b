"""Makes the site of the documents: hooks that MkDocs calls (`mkdocs.yml`).

The site has the pages of `docs` in the order of `docs/README.md`. A link that leads out of `docs` holds:
its file becomes a page below `source/`.

Invariant: a link of a document to a file that does not exist stays as it is, and MkDocs fails at it.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, Final

from mkdocs.structure.files import File, Files

_ROOT: Final = Path(__file__).resolve().parents[1]
_DOCS: Final = _ROOT / "docs"
#: The folder of pages that are made from files outside `docs`.
_OUTSIDE: Final = "source"
_LINK: Final = re.compile(r"(?<=\]\()([^)#\s:]+)(?=[)#])")
_ENTRY: Final = re.compile(r"^- \[(.*?)\]\((.*?)\)", re.MULTILINE | re.DOTALL)


def on_config(config: Any) -> Any:
    """Take the navigation from the list of documents."""
    index = (_DOCS / "README.md").read_text("utf-8")
    sections = re.split(r"^## ", index, flags=re.MULTILINE)[1:]
    config.nav = [{"Documents": "README.md"}, *map(_section, sections)]
    return config


def _section(text: str) -> dict[str, Any]:
    title, _, entries = text.partition("\n")
    return {title: [{_plain(name): _target(link)} for name, link in _ENTRY.findall(entries)]}


def _plain(title: str) -> str:
    return " ".join(title.replace("`", "").removeprefix("… ").split())


def _target(link: str) -> object:
    path = _DOCS / link
    if path.is_dir():
        return [f"{link}/{page.name}" for page in sorted(path.glob("*.md"))]
    return _page_of(path)


def on_files(files: Files, config: object) -> Files:
    """Add a page for each file outside `docs` that a page leads to, and for those that it leads to."""
    todo = [(_DOCS / page.src_uri) for page in files.documentation_pages()]
    while todo:
        for path in _linked(todo.pop()):
            uri = _page_of(path)
            if files.get_file_from_path(uri) is None and path.exists():
                files.append(File.generated(config, uri, content=_content(path)))
                todo += [path] if path.suffix == ".md" else []
    return files


def on_page_markdown(markdown: str, page: Any, **_: object) -> str:
    """Make the links of a page lead to pages of the site."""
    uri = page.file.src_uri
    path = _ROOT / uri.removeprefix(f"{_OUTSIDE}/") if uri.startswith(f"{_OUTSIDE}/") else _DOCS / uri
    folder = os.path.dirname(uri) or "."
    return _LINK.sub(lambda link: _inside(path.parent, link[0], folder), markdown)


def _inside(origin: Path, link: str, folder: str) -> str:
    path = Path(os.path.normpath(origin / link))
    return os.path.relpath(_page_of(path), folder) if path.exists() else link


def _linked(page: Path) -> list[Path]:
    """Return the files that a document leads to."""
    links = _LINK.findall(page.read_text("utf-8"))
    return [Path(os.path.normpath(page.parent / link)) for link in links]


def _page_of(path: Path) -> str:
    """Return the page of a file or folder: its place below `docs`, or one of a file outside."""
    path = Path(os.path.normpath(path))
    if path.is_dir():
        readme = path / "README.md"
        if readme.exists():
            return _page_of(readme)
    elif path.is_relative_to(_DOCS) and path.suffix != ".py":
        return path.relative_to(_DOCS).as_posix()
    name = path.relative_to(_ROOT).as_posix()
    return f"{_OUTSIDE}/{name}" if path.suffix in (".md", ".png") else f"{_OUTSIDE}/{name}.md"


def _content(path: Path) -> str | bytes:
    if path.is_dir():
        names = sorted(each.name for each in path.iterdir() if each.suffix in (".md", ".py"))
        lines = [
            f"- [{name}]({path.name}/{name})" if path.is_relative_to(_DOCS) else f"- `{name}`"
            for name in names
        ]
        return "\n".join([f"# {path.name}", "", *lines, ""])
    if path.suffix == ".png":
        return path.read_bytes()
    text = path.read_text("utf-8")
    if path.suffix == ".md":
        return text
    return f"# {path.name}\n\n`{path.relative_to(_ROOT)}`\n\n````{path.suffix[1:]}\n{text}````\n"
