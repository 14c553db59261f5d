"""Help opens at once, is complete, and can be read at 80 columns."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest
import typer
from tests.unit.cli.running import run

from dcot.cli import main
from dcot.cli.app import application

COMMANDS = [
    "fit",
    "transform",
    "train",
    "predict",
    "evaluate",
    "suggest",
    "refit",
    "explain",
    "explore",
    "similar",
    "index",
    "search",
    "info",
    "label",
    "audit",
    "demo",
    "bench",
]


def test_all_commands_are_there():
    assert sorted(typer.main.get_command(application()).commands) == sorted(COMMANDS)


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_fits_and_is_complete(command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    done = run(*command.split(), "--help")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"Usage: dcot {command}".rstrip())
    assert "Example" in done.out or command == "bench"
    head = done.out.partition("Example")[0]
    assert max(map(len, head.splitlines())) <= 80
    if command not in ("", "bench"):
        for option in ("--json", "--quiet", "--seed", "--threads", "--debug"):
            assert option in done.out


@pytest.mark.parametrize("arguments", [["--help"], ["fit", "--help"], ["train", "--help"]])
def test_help_imports_nothing_heavy(arguments):
    code = (
        f"import sys; from dcot.cli import main; main({arguments!r}); "
        "heavy = {'numpy', 'scipy', 'sklearn', 'numba', 'polars', 'matplotlib'}; "
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"
    assert done.stdout.startswith("Usage")


def test_predicting_with_a_ridge_imports_no_other_learner():
    """They would take a tenth of the time of predicting one line."""
    code = (
        "import sys, dcot.classifier.model; "
        "unused = ('linear_model', 'svm', 'model_selection', 'preprocessing'); "
        "print({f'sklearn.{name}' for name in unused} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_as_a_module():
    done = subprocess.run(
        [sys.executable, "-m", "dcot", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("dcot ")


def test_nothing_at_all_is_a_request_for_help():
    for arguments in ([], ["bench"]):
        done = run(*arguments)
        assert done.code == 0
        assert done.out.startswith("Usage: dcot")


@pytest.mark.parametrize("missing", ["typer", "rich"])
def test_missing_extra(missing, monkeypatch):
    monkeypatch.setitem(sys.modules, missing, None)
    done = run("--help")
    assert done.code == 1
    assert 'pip install "dcot[cli]"' in done.err
    assert len(done.err.splitlines()) == 1


def test_the_script_is_declared():
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
    module, _, name = project["scripts"]["dcot"].partition(":")
    assert getattr(import_module(module), name) is main
    extra = project["optional-dependencies"]["cli"]
    assert {line.split(">")[0] for line in extra} == {"polars", "typer", "rich"}
