"""What the README shows runs as it is printed."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from tests.unit.cli.running import run, write_corpora

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


def test_the_python_example_runs(capsys):
    (code,) = re.findall(r"```python\n(.*?)```", README, re.S)
    names: dict[str, object] = {}
    exec(compile(code, "README.md", "exec"), names)  # the example itself
    assert "TF-IDF" in capsys.readouterr().out


def test_the_commands_run(tmp_path, monkeypatch):
    write_corpora(tmp_path)
    monkeypatch.chdir(tmp_path)
    block = re.search(r"## Command line\n.*?```\n(.*?)```", README, re.S)[1]
    lines = [shlex.split(line, comments=True) for line in block.splitlines()]
    assert len(lines) == 3
    for program, *arguments in lines:
        assert program == "dcot"
        done = run(*arguments)
        assert done.code == 0, done.err
