"""Kill work at random moments, or let the disk end, and look at what is left.

``python -m tests.trust.crashing KIND COUNT`` starts the work COUNT times in children and kills each
(SIGKILL) at a random moment; for a third as many it limits the size of the files instead. What is
there afterwards has to be the old output or the new one, whole, and the same work, done again (for
some), has to give the new one to the byte. It prints, as JSON and for either way to stop, how many
were tried, how many of them were stopped before their end, and what was wrong.

Children are forked from a process that has imported everything and never used polars, whose
threads do not survive a fork.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path

State = dict[str, bytes]
Ending = tuple[bool, str]  # whether it was before the end, and what was wrong


def state(path: Path) -> State:
    """Every byte of a file or folder; nothing, if it is not there."""
    if path.is_file():
        return {path.name: path.read_bytes()}
    files = sorted(path.rglob("*")) if path.exists() else []
    return {str(file.relative_to(path)): file.read_bytes() for file in files if file.is_file()}


def of_a_model(path: Path) -> State:
    """The files that the manifest of a model names, after all its checks; the rest is remains."""
    from dcot.persistence import read_folder
    from dcot.persistence.manifest import MANIFEST, read_manifest

    if not (path / MANIFEST).exists():
        return {}
    read_folder(path)
    names = {MANIFEST, *read_manifest(path).names}
    return {name: data for name, data in state(path).items() if name in names}


def command(*arguments: str) -> Callable[[], None]:
    """Run the command in this process; an error of its own ends with 1."""

    def run() -> None:
        from dcot.cli import main

        sys.exit(main(arguments))

    return run


def save() -> None:
    import numpy as np

    from dcot import DCoT

    X = np.random.default_rng(0).poisson(0.7, (60, 400)).astype(float)
    DCoT(200).fit(X).save("result")


def stream() -> None:
    """A fit from files, in passes."""
    from dcot import DCoTVectorizer
    from dcot.text import TextSource

    DCoTVectorizer(n_prototypes=30).fit(TextSource("long.txt")).save("result")


LABELLED = ("news.csv", "--text", "body", "--label", "topic", "--quiet")
# each: the work, its output, how to read it, and another output that is there before, or none
WORK: dict[str, tuple[Callable[[], None], str, Callable[[Path], State], str | None]] = {
    "save": (save, "result", of_a_model, "model"),
    "train": (command("train", *LABELLED, "-o", "result"), "result", of_a_model, "c"),
    "index": (
        command("index", "model", "news.csv", "--text", "body", "-o", "result", "--quiet"),
        "result",
        of_a_model,
        "i",
    ),
    "transform": (
        command("transform", "model", "long.txt", "-o", "result", "--overwrite", "--quiet"),
        "result",
        state,
        "features",
    ),
    "transform to an array": (
        command("transform", "model", "long.txt", "-o", "result.npy", "--quiet"),
        "result.npy",
        state,
        None,
    ),
    "streamed fit": (stream, "result", of_a_model, "model"),
}


def child(work: Callable[[], None], limit: int | None = None) -> int:
    """Start the work in a child; its process id."""
    number = os.fork()
    if number:
        return number
    code = 70
    try:
        with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
            os.dup2(nowhere.fileno(), 2)
            if limit is not None:
                import resource  # here, because Windows has none and imports this module, too

                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
            code = _ended(work)
    finally:
        os._exit(code)


def _ended(work: Callable[[], None]) -> int:
    import dcot

    try:
        work()
    except dcot.DcotError:
        return 1
    except SystemExit as ending:
        return int(ending.code or 0)
    except BaseException:
        traceback.print_exc()
        return 70
    return 0


def wait(number: int) -> int:
    """How a child ended: its exit code, or minus the signal."""
    return os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])


def prepare(kind: str) -> None:
    """Corpora, models and outputs in the current folder, made by children: see above."""
    from tests.unit.cli.running import write_corpora

    write_corpora(Path())
    lines = Path("news.txt").read_text().splitlines()
    Path("long.txt").write_text("".join(f"{line} {n}\n" for n in range(100) for line in lines))
    fitted = ("--n-prototypes", "20", "--quiet")
    steps = [
        ("fit", "news.csv", "--text", "body", *fitted, "-o", "model"),
        ("train", *LABELLED, "--noise", "0.5", "-o", "c"),
        ("index", "model", "new.csv", "--text", "body", "-o", "i", "--quiet"),
        ("transform", "model", "news.txt", "-o", "features", "--quiet"),
    ]
    for step in steps:
        if wait(child(command(*step))):
            raise SystemExit(f"{kind}: could not run dcot {' '.join(step)}")


def _reset(output: Path, before: str | None) -> None:
    for path in [*Path().glob("result*"), *Path().glob(".result*")]:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    if before is not None:
        shutil.copytree(before, output)


def trial(kind: str, after: float | None, limit: int | None, new: State, again: bool) -> Ending:
    """Work that is killed after some seconds, or has so many bytes for a file."""
    work, name, read, before = WORK[kind]
    output = Path(name)
    _reset(output, before)
    old = read(output)
    number = child(work, limit)
    if after is not None:
        time.sleep(after)
        os.kill(number, signal.SIGKILL)
    ended = wait(number)
    if ended not in (0, 1 if after is None else -signal.SIGKILL):
        return True, f"ended with {ended}"
    found = read(output)
    if found not in (old, new):
        return True, f"neither old nor new: {sorted(found)}"
    if again and (wait(child(work)) or read(output) != new):
        return True, "done again, it is another output"
    return ended != 0, ""


def main(kind: str, count: str) -> None:
    import dcot.classifier.model
    import dcot.cli.app
    import dcot.search
    import dcot.text  # noqa: F401

    rng = random.Random(f"{kind}-{count}")
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        prepare(kind)
        work, name, read, before = WORK[kind]
        _reset(Path(name), before)
        if wait(child(work)):  # compiles what is not in the cache yet
            raise SystemExit(f"{kind}: the work fails by itself")
        _reset(Path(name), before)
        start = time.monotonic()
        wait(child(work))
        seconds, new = time.monotonic() - start, read(Path(name))
        size = max(len(data) for data in new.values())
        kills, rooms = int(count), -(-int(count) // 3)
        found = {
            "killed": [
                trial(kind, rng.uniform(0, 1.1 * seconds), None, new, rng.random() < 0.3)
                for _ in range(kills)
            ],
            "without room": [
                trial(kind, None, rng.randrange(size), new, rng.random() < 0.3)
                for _ in range(rooms)
            ],
        }
        os.chdir("/")
    print(json.dumps({way: summary(endings) for way, endings in found.items()}))


def summary(endings: list[Ending]) -> dict[str, object]:
    wrong = [what for _, what in endings if what]
    return {"tried": len(endings), "stopped": sum(half for half, _ in endings), "wrong": wrong}


if __name__ == "__main__":
    main(*sys.argv[1:])
