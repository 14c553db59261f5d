"""One display of progress: a bar on a terminal, lines elsewhere."""

from __future__ import annotations

import io
import itertools
import re
from types import SimpleNamespace

import numpy as np
import pytest

from dcot import DCoT
from dcot.runtime import progress
from dcot.runtime.progress import Display, announce, documents_done, erase, part, silent

COLOURS = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    """A second passes whenever somebody looks at the time."""
    ticks = itertools.count()
    monkeypatch.setattr(progress, "time", SimpleNamespace(perf_counter=lambda: next(ticks)))
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")


def fit(report) -> None:
    for step in ("layer 1", "layer 2"):
        for done in (0.0, 0.5, 1.0):
            report(step, done)


def test_one_bar_on_a_terminal_that_is_erased_at_the_end():
    stream = Terminal()
    fit(Display(stream))
    plain = COLOURS.sub("", stream.getvalue())
    assert "layer 1" in plain
    assert "layer 2" in plain
    assert "50 %" in plain
    lines = [line for line in re.split(r"[\r\n]+", plain) if line.strip()]
    assert all(line.startswith("layer") for line in lines)
    assert stream.getvalue().endswith("\x1b[2K")  # what is last is an erased line
    assert "\x1b[?25l" not in stream.getvalue().rpartition("\x1b[?25h")[2]  # a visible cursor


def test_lines_elsewhere():
    stream = io.StringIO()
    fit(Display(stream))
    assert stream.getvalue() == "[dcot] layer 1: 2 s\n[dcot] layer 2: 2 s\n"


def test_lines_without_rich(monkeypatch):
    monkeypatch.setattr(progress, "find_spec", lambda name: None)
    stream = Terminal()
    fit(Display(stream))
    assert stream.getvalue() == "[dcot] layer 1: 2 s\n[dcot] layer 2: 2 s\n"


def test_parts_share_one_bar():
    seen = []
    whole = lambda message, fraction: seen.append((message, round(fraction, 3)))  # noqa: E731
    for candidate in range(2):
        fit(part(whole, candidate / 2, (candidate + 1) / 2, f"candidate {candidate}"))
    fractions = [fraction for _, fraction in seen]
    assert (min(fractions), max(fractions)) == (0.0, 1.0)
    assert seen[4] == ("candidate 0: layer 2", 0.25)
    assert part(silent, 0.0, 0.5) is silent


def test_parts_pass_on_documents_and_announcements():
    stream = io.StringIO()
    whole = Display(stream)
    inner = part(part(whole, 0.0, 0.5, "read"), 0.0, 0.5)
    announce(inner, "the plan")
    documents_done(inner, "pass 1", 10, 100)
    documents_done(inner, "pass 1", 50, 100)
    whole("fit", 1.0)
    assert "[dcot] the plan" in stream.getvalue()
    assert re.search(r"read: pass 1: \d s, \d+ documents/s", stream.getvalue())


@pytest.mark.parametrize("solver", ["primal", "dual", "cg"])
def test_a_fit_and_a_path_of_fits_are_one_whole(solver):
    seen = []
    whole = lambda message, fraction: seen.append((message, fraction))  # noqa: E731
    X = np.random.default_rng(0).poisson(0.7, (30, 12)).astype(float)
    with progress.watched(whole):
        DCoT(5, solver=solver, n_layers=2, verbose=True).fit(X)
        assert_one_way(seen)
        assert {message for message, _ in seen} == {f"layer 1 ({solver})", "layer 2"}
        seen.clear()
        list(DCoT(5, solver=solver, n_layers=2, verbose=True).noise_path(X, [0.5, 0.7, 0.9]))
    assert_one_way(seen)
    assert seen[-1][0] == "setting 3 of 3: layer 2"


def assert_one_way(seen):
    fractions = [fraction for _, fraction in seen]
    assert fractions == sorted(fractions)
    assert (fractions[0], fractions[-1]) == (0.0, 1.0)
    assert max(fractions[:-1]) < 1  # the end is reported once


def test_a_bar_is_erased_for_text_and_drawn_again():
    stream = Terminal()
    display = Display(stream)
    display("layer 1", 0.5)
    erase()
    assert stream.getvalue().endswith("\x1b[1A\x1b[2K")  # one line up, and clear it
    display("layer 1", 0.7)
    assert "70 %" in stream.getvalue()
    display.close()
    written = stream.getvalue()
    erase()
    assert stream.getvalue() == written


def test_a_message_cannot_command_the_terminal():
    stream = Terminal()
    display = Display(stream)
    display("\x1b[31mfile [bold]\nname", 0.5)
    assert "\x1b[31m" not in stream.getvalue()
    assert "\\x1b[31mfile [bold] name" in COLOURS.sub("", stream.getvalue())
    display.close()
