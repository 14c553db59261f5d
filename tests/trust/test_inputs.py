"""The rows of docs/inputs.md, one by one."""

from __future__ import annotations

import re

import pytest
from tests.trust import inputs


def _rows_of_the_page() -> list[tuple[str, str, str]]:
    found, title = [], ""
    for line in inputs.PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("<summary>"):
            title = re.sub(r"</?code>", "`", re.sub(r"</?summary>", "", line))
        elif title and line.startswith("| ") and not line.startswith("| input"):
            name, what = line.strip("| ").split(" | ")
            found.append((title, name, what))
    return found


ROWS = _rows_of_the_page()


@pytest.fixture(scope="module")
def tables():
    with inputs.folder():
        python = {kind.title: (kind, inputs.outcomes) for kind in inputs.python_kinds()}
        command = {kind.title: (kind, inputs.endings) for kind in inputs.command_kinds()}
        yield python | command


@pytest.mark.parametrize(
    ("title", "name", "what"), ROWS, ids=[f"{title}-{name}" for title, name, _ in ROWS]
)
def test_what_the_page_says_happens(tables, title, name, what):
    """An exception that is not dcot's, or another exit code than 0, 1 and 2, fails too."""
    kind, tried = tables[title]
    assert inputs.in_words(kind, name, tried(kind, name)) == what


def test_the_page_has_every_row(tables):
    expected = [(title, name) for title, (kind, _) in tables.items() for name in kind.values]
    assert [(title, name) for title, name, _ in ROWS] == expected
