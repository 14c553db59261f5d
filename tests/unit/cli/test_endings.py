"""How a run can end: exit codes, one line on standard error, and nothing half-written."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time

import pytest
from tests.unit.cli.running import run

from dcot.cli import corpus as corpus_module
from dcot.cli import main
from dcot.cli.session import Session
from dcot.runtime.progress import Display

posix_only = pytest.mark.skipif(os.name != "posix", reason="signals and pipes of POSIX")


@pytest.fixture
def interruptible():
    """Processes of the test can be interrupted, even if the tests run in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_usage(here):
    for arguments in (["fit"], ["fit", "news.txt"], ["nosuch"], ["fit", "--nosuch"], ["--nosuch"]):
        done = run(*arguments)
        assert (done.code, done.out) == (2, "")
        assert len(done.err.splitlines()) == 2
        assert "--help" in done.err
    assert "Did you mean 'fit'" in run("fti").err


def test_a_traceback_only_for_those_who_ask(here):
    plain = run("fit", "nowhere.txt", "-o", "m")
    assert "Traceback" not in plain.err
    debug = run("fit", "nowhere.txt", "-o", "m", "--debug")
    assert "Traceback" in debug.err
    assert plain.code == debug.code == 1
    assert plain.err.strip() in debug.err


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (RuntimeError("odd\nand more"), 70, "RuntimeError: odd"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (MemoryError(), 1, "out of memory"),
        (PermissionError(13, "Permission denied", "news.txt"), 1, "news.txt: Permission denied"),
        (BrokenPipeError(), 141, ""),
    ],
)
def test_codes(here, monkeypatch, error, code, words):
    def fail(self):
        raise error

    monkeypatch.setattr(corpus_module.Corpus, "texts", fail)
    monkeypatch.setattr("dcot.cli.errors._drop_output", lambda: None)
    done = run("fit", "news.txt", "-o", "m")
    assert (done.code, done.out) == (code, "")
    assert words in done.err
    assert "and more" not in done.err
    assert len(done.err.splitlines()) <= 2


def test_library_warnings_are_one_line_each(here):
    done = run(
        "fit", "news.txt", "--solver", "cg", "--max-iter", 1, "--tol", "1e-12", "--noise", "0.1",
        "--shrinkage", "0", "-o", "m",
    )  # fmt: skip
    assert done.code == 0
    assert done.err.startswith("Warning: cg stopped after max_iter=1")
    assert len(done.err.splitlines()) == 1


def test_no_progress_without_a_terminal(shelf):
    assert run("fit", "news.txt", "-o", "m").err == ""
    assert run("predict", "classifier", "news.txt").err == ""


def test_progress_on_a_terminal_goes_away(shelf, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    done = run("fit", "news.txt", "-o", "m", watched=True)
    assert "layer 1" in done.err
    assert done.err.endswith("\x1b[2K")  # the last thing is an erased line
    plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", done.err)
    assert max(len(line) for line in plain.split("\r")) < 60
    assert "layer 1" not in done.out
    assert run("fit", "news.txt", "-o", "m", "--quiet", watched=True).err == ""
    # what was watched is the same model
    assert run("info", "m", "--json").json["settings"]["verbose"] is False


def test_progress_goes_away_before_other_text(shelf, monkeypatch):
    def interrupted(*arguments):
        display = Display()
        display("fit", 0.5)
        Session().note("a note")
        display("fit", 0.6)
        raise KeyboardInterrupt

    monkeypatch.setattr("dcot.persistence.folder.check_target", interrupted)
    done = run("fit", "news.txt", "-o", "m", watched=True)
    assert done.code == 130
    assert "\x1b[2Ka note" in done.err
    assert re.search(r"\x1b\[2K(\x1b\[[0-9;]*m)?Error: ", done.err)


def test_tables_on_a_terminal(shelf, monkeypatch):
    monkeypatch.setenv("COLUMNS", "70")
    monkeypatch.setenv("TERM", "xterm")
    (shelf / "new.txt").write_text("opec oil output " * 20 + "\n[bold]nasdaq[/bold] \x1b[31mred\n")
    done = run("predict", "classifier", "new.txt", "--top", 2, watched=True)
    plain = re.sub(r"\x1b\[[0-9;]*m", "", done.out)
    assert "opec oil" in plain
    assert "[bold]nasdaq[/bold]" in plain  # text is text, not markup
    assert "\x1b[31m" not in done.out
    lines = [line for line in plain.splitlines() if line.strip()]
    assert max(map(len, lines)) <= 70
    assert len(lines) == 4  # a head, a rule, and a line for each document
    monkeypatch.setenv("NO_COLOR", "1")
    done = run("info", "nowhere", watched=True)
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]", done.err)


def test_suggestions_on_a_terminal(shelf):
    arguments = ("news.csv", "--text", "body", "--label", "topic", "-k", 2)
    done = run("suggest", "classifier", *arguments, watched=True)
    assert done.code == 0, done.err
    plain = re.sub(r"\x1b\[[0-9;]*m", "", done.out)
    lines = [line for line in plain.splitlines() if line.strip()]
    assert lines[0].split() == ["text", "prediction", "probability"]
    assert len(lines) == 4  # a head, a rule, and a line for each document


def test_json_is_all_there_is_on_standard_output(shelf):
    for arguments in (
        ["fit", "news.txt", "-o", "m"],
        ["transform", "model", "news.txt", "-o", "f.npy"],
        ["predict", "classifier", "news.txt", "-o", "p.csv"],
        ["evaluate", "classifier", "test.csv", "--text", "body", "--label", "topic"],
        ["info", "model"],
        ["explain", "classifier", "opec"],
    ):
        done = run(*arguments, "--json")
        assert done.code == 0, done.err
        assert isinstance(done.json, dict)
        assert done.err == ""


# -- real processes ----------------------------------------------------------------------------


def command(*arguments):
    return [sys.executable, "-m", "dcot", *map(str, arguments)]


@posix_only
def test_a_reader_that_goes_away(shelf):
    (shelf / "many.txt").write_text("opec oil\n" * 20000)
    with subprocess.Popen(
        command("predict", "classifier", "many.txt"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout.readline().startswith("id\t")
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 141


def wait_for(condition, process):
    for _ in range(600):
        if condition():
            return
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.1)
    raise AssertionError("nothing happened in a minute")


@posix_only
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupt_leaves_nothing_half_written(shelf, interruptible, number, code):
    """The output is open and has rows in it; more documents never come."""
    (shelf / "f.csv").write_text("precious")
    process = subprocess.Popen(
        command("transform", "model", "-", "-o", "f.csv"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    process.stdin.write(b"opec oil\n" * 9000)
    process.stdin.flush()
    wait_for(lambda: list(shelf.glob(".f.csv-*.partial")), process)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == code
    assert out == b""
    assert b"Traceback" not in err
    assert (shelf / "f.csv").read_text() == "precious"
    assert not list(shelf.glob(".*"))


@posix_only
def test_an_interrupted_fit_leaves_the_old_model(shelf, interruptible):
    before = {path.name: path.read_bytes() for path in (shelf / "model").iterdir()}
    process = subprocess.Popen(
        command("fit", "-", "-o", "model"), stdin=subprocess.PIPE, stderr=subprocess.PIPE
    )
    process.stdin.write(b"opec oil\n")
    process.stdin.flush()
    time.sleep(1.5)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode in (130, -signal.SIGINT)  # or before there was anything to catch it
    assert b"Traceback" not in err or process.returncode < 0
    assert {path.name: path.read_bytes() for path in (shelf / "model").iterdir()} == before


@pytest.mark.parametrize("closed", ["stdin", "stdout", "stderr"])
def test_a_stream_that_is_closed(shelf, monkeypatch, closed):
    monkeypatch.setattr(sys, closed, None)
    assert main(["search", "index", "opec"]) == 0
    assert main(["search", "index", "nothing there", "-o", "no/such/folder.csv"]) == 1
    if closed == "stdin":
        assert main(["search", "index", "-"]) == 1
        assert main(["predict", "classifier", "-"]) == 1
    getattr(sys, closed).close()
