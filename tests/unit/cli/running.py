"""Small corpora, and a way to run the command inside a test."""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import json
import sys
from dataclasses import dataclass
from pathlib import Path

from dcot.cli import main

OIL = [
    "crude oil prices rose",
    "opec cut its oil output",
    "oil exports of opec",
    "a barrel of crude",
]
STOCKS = [
    "nasdaq stocks fell",
    "stocks and shares on the nasdaq",
    "shares rose",
    "stocks closed up",
]


def documents(copies: int = 3):
    """Number, label and text; every third has no label."""
    rows = []
    for copy in range(copies):
        for label, texts in (("oil", OIL), ("stocks", STOCKS)):
            rows += [(label, f"{text} on day {copy}") for text in texts]
    return [
        (1000 + number, "" if number % 3 == 2 else label, text)
        for number, (label, text) in enumerate(rows)
    ]


def write_corpora(folder: Path) -> None:
    """The files that the examples in help and documentation speak of."""
    rows = documents()
    for name, chosen in (("news", rows), ("new", rows[:5]), ("test", [r for r in rows if r[1]])):
        with open(folder / f"{name}.csv", "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["number", "topic", "body"])
            writer.writerows(chosen)
        lines = [json.dumps({"number": n, "topic": t, "body": b}) + "\n" for n, t, b in chosen]
        (folder / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")
    (folder / "news.txt").write_text("".join(f"{text}\n" for _, _, text in rows), encoding="utf-8")
    (folder / "queries.txt").write_text("opec output\nnasdaq shares\n", encoding="utf-8")
    vectors = {"oil": (1, 0), "opec": (1, 1), "stocks": (-1, 0), "nasdaq": (-1, 1), "tea": (0, 3)}
    lines = [f"{word} {x} {y}\n" for word, (x, y) in vectors.items()]
    (folder / "vectors.txt").write_text("".join(lines), encoding="utf-8")
    with gzip.open(folder / "news.jsonl.gz", "wb") as file:
        file.write((folder / "news.jsonl").read_bytes())


@dataclass
class Done:
    """How a run ended."""

    code: int
    out: str
    err: str

    @property
    def json(self):
        """The one JSON value, and nothing else, of standard output."""
        return json.loads(self.out)

    @property
    def rows(self):
        return [json.loads(line) for line in self.out.splitlines()]


class _Input(io.TextIOWrapper):
    def __init__(self, data: bytes, terminal: bool = False) -> None:
        super().__init__(io.BytesIO(data), encoding="utf-8")
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal


class _Watched(io.StringIO):
    """A terminal, as far as programs can tell."""

    def isatty(self) -> bool:
        return True


def run(
    *arguments: object, stdin: str | bytes = b"", terminal: bool = False, watched: bool = False
) -> Done:
    """Run a command line in this process; input or output may be a terminal."""
    data = stdin.encode() if isinstance(stdin, str) else stdin
    out, err = (_Watched() if watched else io.StringIO() for _ in range(2))
    before = sys.stdin
    sys.stdin = _Input(data, terminal)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main([str(argument) for argument in arguments])
    finally:
        sys.stdin = before
    return Done(code, out.getvalue(), err.getvalue())
