"""What the README shows runs as it is printed, and prints what it shows."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from tests.unit.cli.running import run, write_corpora

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
START = (Path(__file__).parents[2] / "docs" / "index.md").read_text(encoding="utf-8")


def test_the_example_prints_what_it_shows(capsys):
    code, shown = re.search(r"```python\n(.*?)```\s+```text\n(.*?)```", README, re.S).groups()
    exec(compile(code, "README.md", "exec"), {})  # the example itself
    printed = capsys.readouterr().out
    assert_alike(printed, shown)


def test_the_commands_run(tmp_path, monkeypatch):
    write_corpora(tmp_path)
    monkeypatch.chdir(tmp_path)
    block = re.search(r"## Install\n.*?```\n(.*?)```", README, re.S)[1]
    lines = [shlex.split(line, comments=True) for line in block.splitlines()]
    commands = [arguments for program, *arguments in lines if program == "dcot"]
    assert len(commands) == 3
    for arguments in commands:
        done = run(*arguments)
        assert done.code == 0, done.err


def test_the_start_page_reads_a_table(tmp_path, monkeypatch):
    pytest.importorskip("pandas")
    write_corpora(tmp_path)
    table = (tmp_path / "news.csv").read_text(encoding="utf-8")
    (tmp_path / "tickets.csv").write_text(table.replace("topic", "queue", 1), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    code = re.search(r"```python\n(.*?)```", START, re.S)[1]
    names = {}
    exec(compile(code, "index.md", "exec"), names)
    assert names["model"].classes_.tolist() == ["oil", "stocks"]


def assert_alike(printed: str, shown: str) -> None:
    """The same words; numbers may differ by what another machine or a change of defaults does."""
    left, right = ([_number(part) for part in text.split()] for text in (printed, shown))
    assert len(left) == len(right), printed
    for found, expected in zip(left, right, strict=True):
        if isinstance(expected, float) and isinstance(found, float):
            assert abs(found - expected) <= (0.05 if abs(expected) < 1 else 3), printed
        else:
            assert found == expected, printed


def _number(text: str) -> float | str:
    try:
        return float(text.strip("%,;()"))
    except ValueError:
        return text
