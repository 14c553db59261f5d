"""Every example in the help texts and in the documentation runs."""

from __future__ import annotations

import gzip
import re
import shlex
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import typer
from tests.unit.cli.running import run

from dcot.cli import errors
from dcot.cli.app import application

DOCS = Path(__file__).parents[3] / "docs"


def commands(group, prefix="dcot"):
    for name, found in group.commands.items():
        if hasattr(found, "commands"):
            yield from commands(found, f"{prefix} {name}")
        else:
            yield f"{prefix} {name}", found


ALL = dict(commands(typer.main.get_command(application())))
EXAMPLES = [
    (name, line) for name, found in ALL.items() for line in (found.epilog or "").splitlines()
]


def test_every_command_has_an_example():
    for name in ALL:
        lines = [line for owner, line in EXAMPLES if owner == name]
        assert lines, name
        assert all(name in line for line in lines)


def run_line(line: str):
    """A line as a shell would run it: at most one pipe, quotes, a redirection of input."""
    first, bar, second = line.partition(" | ")
    stdin = b""
    if bar:
        program, *arguments = shlex.split(first)
        if program == "echo":
            stdin = " ".join(arguments).encode() + b"\n"
        elif program == "cat":
            stdin = b"".join(Path(name).read_bytes() for name in arguments)
        elif program == "zcat":
            stdin = b"".join(gzip.decompress(Path(name).read_bytes()) for name in arguments)
        else:
            raise AssertionError(f"cannot run {program}")
    program, *arguments = shlex.split(second or first)
    assert program == "dcot"
    done = run(*arguments, stdin=stdin)
    assert done.code == 0, (line, done.err)
    return done


@pytest.fixture
def small(monkeypatch):
    """Benchmarks run for real, with the shipped corpus and few of everything."""
    from dcot.bench.profiles import PROFILES

    monkeypatch.delenv("DCOT_DATA", raising=False)
    tiny = replace(
        PROFILES["quick"],
        sample=(60, 40, 40),
        few_labels={"reuters": ("TF-IDF", "dCoT")},
        budgets=(20,),
        draws=1,
        svm_systems=(),
        published=(),
        learned={"dmoz": (80,)},
        learned_budgets=(20,),
        learned_draws=1,
        noises=(0.5,),
        depths=(1,),
        noise_labels=20,
        noise_prototypes=(20, 20),
        words_prototypes=(20, 20),
        suggested=(),
        collections=(),
    )
    monkeypatch.setitem(PROFILES, "quick", tiny)
    # in this process, which has imported everything
    monkeypatch.setattr("dcot.bench.paper.n_cores", lambda: 1)
    monkeypatch.setattr("dcot.bench.defaults.BUDGETS", (20,))
    monkeypatch.setattr("dcot.bench.defaults.DRAWS", 1)


@pytest.fixture
def unserved(monkeypatch):
    """Pages are ready at once, and stopped at once."""
    for module in ("api", "explore.api"):
        monkeypatch.setattr(f"dcot.web.{module}.serve", lambda server, listening, ready: None)


@pytest.mark.parametrize(("name", "line"), EXAMPLES, ids=[line for _, line in EXAMPLES])
def test_examples_of_the_help_run(name, line, shelf, small, unserved):
    if name == "dcot train":
        shutil.rmtree("model")
    if name.removeprefix("dcot ") in ("predict", "evaluate", "suggest", "refit"):
        # where help says model, a classifier is meant
        shutil.rmtree("model")
        shutil.copytree("classifier", "model")
    done = run_line(line)
    if "--json" in line:
        assert done.rows


def test_commands_of_the_documentation_run(here, models):
    """In the order of the page, in one folder: what one writes, the next one reads."""
    blocks = re.findall(
        r"```console\n(.*?)```", (DOCS / "cli.md").read_text(encoding="utf-8"), re.S
    )
    lines = [line.removeprefix("$ ") for block in blocks for line in block.splitlines()]
    assert len(lines) > 15
    for line in lines:
        run_line(line)
    written = {"features.parquet", "predictions.csv", "hits.csv", "model", "classifier", "index"}
    assert written <= {path.name for path in here.iterdir()}


def test_the_documentation_names_every_exit_code():
    text = (DOCS / "cli.md").read_text(encoding="utf-8").partition("## Exit codes")[2]
    for code in (errors.OK, errors.WRONG, errors.USAGE, errors.BUG, errors.INTERRUPTED):
        assert f"| {code}" in text
    assert str(errors.NO_READER) in text
    assert str(errors.TERMINATED) in text
