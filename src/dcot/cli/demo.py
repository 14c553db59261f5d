"""``dcot demo``: a comparison on the corpus that comes with dcot."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Annotated, Any

from dcot.cli import options as o
from dcot.cli.errors import UserError
from dcot.cli.session import Session, console_width, table
from dcot.errors import MissingExtraError

EXAMPLES = {"demo": ("dcot demo", "dcot demo --draws 2 --word mortgage --word parsley -o demo.png")}


def demo(
    *,
    output: Annotated[Path | None, o.output("Also draw a figure (.png, .svg, .pdf).")] = None,
    word: Annotated[
        list[str] | None, o.option("Word to look up. Can be repeated.", metavar="WORD")
    ] = None,
    draws: Annotated[int, o.option("Number of random draws of labels.", min=1)] = 5,
    session: Session,
) -> None:
    """Compare dCoT with bag of words, TF-IDF and LSI on a small corpus.

    The corpus comes with dcot: 1,054 short texts in 17 everyday topics. Features are learned
    without labels, then classified with five labels per class. Nothing is downloaded.
    """
    if output is not None:
        _check_picture(output)
    session.note("Learning and comparing takes a few seconds.")
    from dcot.bench import demo as bench

    start = time.perf_counter()
    words = tuple(word) if word else bench.WORDS
    found = bench.run(words=words, draws=draws)
    if output is not None:
        _draw(bench.picture(found), output)
    _tell(session, found, draws, time.perf_counter() - start)
    if output is not None:
        session.say(f"Figure: {output}")
    missing = [one for one in words if one not in found.columns]
    if missing:
        session.note(f"Not in the corpus: {', '.join(missing)}")


def _tell(session: Session, found: Any, draws: int, seconds: float) -> None:
    corpus = found.corpus
    means = {name: sum(values) / len(values) for name, values in found.accuracies.items()}
    if session.json:
        session.emit(
            {
                "documents": corpus.n_documents,
                "classes": len(corpus.target_names),
                "test_documents": len(corpus.test),
                "draws": draws,
                "accuracy": means,
                "seconds_to_learn": found.seconds,
                "words": found.columns,
            }
        )
        return
    session.show(
        f"{corpus.n_documents:,} documents in {len(corpus.target_names)} topics, five labels per "
        f"class, without English stop words; accuracy on {len(corpus.test):,} test documents, "
        f"mean of {draws} draw{'s' * (draws > 1)}:"
    )
    rows = [
        (name, f"{100 * mean:.1f} %", f"{found.seconds[name]:.2f} s")
        for name, mean in means.items()
    ]
    session.show(table(["", "accuracy", "learned in"], rows))
    session.show("What words are reconstructed as, strongest first:")
    columns = {name: [term for term, _ in values] for name, values in found.columns.items()}
    for part in _side_by_side(columns):
        session.show(table(list(part), zip_longest(*part.values(), fillvalue="")))
    session.say(f"({seconds:.0f} s)")


def _side_by_side(columns: dict[str, list[str]]) -> Iterator[dict[str, list[str]]]:
    """Columns in groups that fit on a line."""
    part: dict[str, list[str]] = {}
    left = width = console_width()
    for name, terms in columns.items():
        needed = 3 + max(map(len, [name, *terms]))
        if part and needed > left:
            yield part
            part, left = {}, width
        part[name] = terms
        left -= needed
    yield part


def _check_picture(path: Path) -> None:
    from dcot.runtime.extras import require

    if path.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise UserError(f"{path}: a figure has to end in .png, .svg or .pdf")
    if not path.absolute().parent.is_dir():
        raise UserError(f"{path.absolute().parent} does not exist: create it first")
    try:
        require("matplotlib", "plots").use("agg")
    except MissingExtraError as error:
        raise UserError(f"a figure needs matplotlib: {error}") from error


def _draw(figure: Any, path: Path) -> None:
    from dcot.runtime.files import atomic_file

    with atomic_file(path) as file:
        figure.savefig(file, dpi=120, format=path.suffix[1:].lower())
