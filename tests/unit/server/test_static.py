"""`server/plugin.py`: files of the built front end are served, and no others."""

from __future__ import annotations

import pytest

from tb_debugger_plugin.errors import NotFoundError
from tb_debugger_plugin.server.plugin import HASHED_SECONDS, static_file


@pytest.fixture
def built(tmp_path):
    folder = tmp_path / "static"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.js").write_bytes(b"export function render() {}")
    (folder / "style.css").write_bytes(b"body {}")
    (folder / "assets" / "worker-Ab3_x9Zq.js").write_bytes(b"w")
    (folder / "assets" / "plain.js").write_bytes(b"p")
    (tmp_path / "secret.js").write_bytes(b"secret")
    return folder


def test_the_entry_is_a_module_that_is_asked_for_each_time(built):
    file = static_file("/index.js", built)
    assert (file.content_type, file.expires) == ("text/javascript", 0)
    assert static_file("/style.css", built).content_type == "text/css"


def test_a_name_with_a_hash_may_be_kept(built):
    assert static_file("/assets/worker-Ab3_x9Zq.js", built).expires == HASHED_SECONDS
    assert static_file("/assets/plain.js", built).expires == 0


@pytest.mark.parametrize(
    "path",
    [
        "/../secret.js",
        "/assets/../../secret.js",
        "/assets/..%2f../secret.js",
        "//secret.js",
        "/./index.js",
        "/.hidden.js",
        "/assets\\..\\..\\secret.js",
        "/index.js/",
        "/index.js\0.js",
        "/index.py",
        "/",
        "",
        "/assets",
        "/absent.js",
    ],
)
def test_no_other_path_leads_anywhere(built, path):
    with pytest.raises(NotFoundError):
        static_file(path, built)


def test_a_page_that_is_not_built_says_how_to_build_it(tmp_path):
    file = static_file("/index.js", tmp_path)
    assert b"make frontend" in file.content and b"export function render()" in file.content
