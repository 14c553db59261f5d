"""``dcot info``, ``explain`` and ``similar``: what is in a model, and what words mean to it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from dcot.cli import options as o
from dcot.cli.errors import UserError
from dcot.cli.files import load_model
from dcot.cli.session import Session, counted, table
from dcot.runtime.resources import format_bytes
from dcot.runtime.terminal import one_line, printable, visible

if TYPE_CHECKING:
    from dcot import DCoT, DCoTClassifier, DCoTVectorizer, SearchIndex
    from dcot.classifier.explanation import Explanation
    from dcot.explain import Meaning

    AnyModel = DCoT | DCoTClassifier | DCoTVectorizer | SearchIndex

READABLE = ("DCoTVectorizer", "DCoT", "DCoTClassifier")
_MODEL_OF_INDEX = "use the model it was made with, or make one with dcot fit"
EXAMPLES = {
    "info": ("dcot info model", "dcot info model --json"),
    "explain": (
        "dcot explain model nasdaq",
        'dcot explain model "opec cut its output" -k 5',
        'dcot explain classifier "opec cut its output" --target oil --against stocks',
    ),
    "similar": ("dcot similar model nasdaq", "dcot similar model stocks --cohort -k 5"),
}


def info(model: o.Model, session: Session) -> None:
    """Show the settings, sizes and estimated accuracy of a model.

    All files of the folder are checked, including their checksums.
    """
    import dcot
    from dcot.persistence.manifest import FORMAT_VERSION, read_manifest

    if model.is_file():
        raise UserError(f"{model} is a file, but a model folder was expected here")
    manifest = read_manifest(model)
    loaded = dcot.load(model)
    contents = loaded._contents(False)
    sizes = {entry.name: entry.size for entry in manifest.files.values()}
    if session.json:
        session.emit(
            {
                "model": str(model),
                "kind": manifest.kind,
                "format_version": FORMAT_VERSION,
                "dcot_version": manifest.dcot_version,
                "bytes": sum(sizes.values()),
                "files": sizes,
                "facts": dict(contents.facts),
                "settings": _settings(loaded),
            }
        )
        return
    rows = [
        ("kind", manifest.kind),
        *contents.facts,
        ("size", format_bytes(float(sum(sizes.values())))),
        ("saved by", f"dcot {manifest.dcot_version}, format {FORMAT_VERSION}"),
    ]
    if changed := _changed(loaded):
        listed = ", ".join(f"{name}={_short(value)}" for name, value in sorted(changed.items()))
        rows.append(("settings changed", listed))
    session.show(_facts(model, rows))


def _settings(model: AnyModel) -> dict[str, Any]:
    """Parameters that JSON can represent."""
    if hasattr(model, "_short_params"):
        parameters = model._short_params()
    else:
        parameters = model.get_params(deep=False) if hasattr(model, "get_params") else {}
    return {name: value for name, value in parameters.items() if _is_plain(value)}


def _is_plain(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    if isinstance(value, dict):
        return all(map(_is_plain, value.values()))
    return value is None or isinstance(value, str | int | float | bool)


def _changed(model: AnyModel) -> dict[str, Any]:
    """Settings that are not the defaults; a list may be the tuple that it was saved from."""
    defaults = _settings(type(model)()) if hasattr(model, "get_params") else {}

    def plain(value: Any) -> Any:
        return tuple(value) if isinstance(value, list) else value

    return {
        name: value
        for name, value in _settings(model).items()
        if plain(value) != plain(defaults.get(name)) and name != "random_state"
    }


def _facts(path: Path, rows: list[tuple[str, str]]) -> Any:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    found = Table(
        box=box.SIMPLE_HEAD,
        show_header=False,
        title=Text(one_line(path)),
        title_justify="left",
        pad_edge=False,
    )
    found.add_column(style="bold", no_wrap=True)
    found.add_column(overflow="fold")
    for name, value in rows:
        found.add_row(Text(one_line(name)), Text(printable(value)))
    return found


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def explain(
    model: o.Model,
    text: Annotated[
        str, o.argument("A word or a document; '' for the bias, - for standard input.", "TEXT")
    ],
    *,
    target: Annotated[
        str | None,
        o.option(
            "For a classifier: class to explain.",
            metavar="CLASS",
            show_default="the predicted class",
        ),
    ] = None,
    against: Annotated[
        str | None,
        o.option(
            "For a classifier: class to compare with.",
            metavar="CLASS",
            show_default="the next most probable",
        ),
    ] = None,
    k: o.K = 10,
    session: Session,
) -> None:
    """Show what a word or a document means to a model.

    For features: the prototypes it is reconstructed as, layer by layer, with each word's share.
    For a classifier: the words behind its decision, and the prototypes they act through.
    """
    document = _read(text)
    loaded = load_model(model, *READABLE, hint=_MODEL_OF_INDEX)
    if type(loaded).__name__ == "DCoTClassifier":
        chosen, other = (_class_named(loaded, name) for name in (target, against))
        _decision(session, loaded.explain(document, chosen, against=other), document, k)
        return
    if target is not None or against is not None:
        raise UserError(f"{model} has no classes: leave --target and --against out")
    found = loaded.explain(document, k=k)
    if session.json:
        session.emit(_meaning(found, k))
    elif len(found.words) < 2:
        session.show(str(found))
    else:
        _show(session, found, k)


def similar(
    model: o.Model,
    word: Annotated[str, o.argument("A word of the model.", "WORD")],
    *,
    cohort: Annotated[
        bool, o.option("Show the words that are translated into this prototype.", "--cohort")
    ] = False,
    layer: Annotated[
        int | None, o.option("Layer to compare in.", min=1, show_default="the last")
    ] = None,
    k: o.K = 10,
    session: Session,
) -> None:
    """Show the words with the most similar meaning."""
    loaded = load_model(model, *READABLE, hint=_MODEL_OF_INDEX)
    find = loaded.cohort if cohort else loaded.similar_terms
    found = find(word, k, layer=layer)
    if session.json:
        terms = [{"term": term, found.measure: value} for term, value in found]
        session.emit({"word": word, "title": found.title, "terms": terms})
        return
    rows = [(visible(term), value) for term, value in found]
    session.show(found.title, table(["term", found.measure], rows))


def _read(text: str) -> str:
    if text != "-":
        return text
    if sys.stdin.isatty():
        raise UserError("standard input is a terminal: pipe a document into it, or quote one")
    return sys.stdin.buffer.read().decode("utf-8", "replace")


def _meaning(found: Meaning, k: int) -> dict[str, Any]:
    return {
        "text": found.text,
        "words": [
            {"word": word, "weight": float(weight)}
            for word, weight in zip(found.words, found.weights, strict=True)
        ],
        "unknown": list(found.unknown),
        "suggestions": dict(found.suggestions),
        "layers": [
            {
                "layer": part.layer,
                "prototypes": [{"prototype": name, "value": value} for name, value in part.top(k)],
                "word_shares": [float(share) for share in part.word_shares],
            }
            for part in found.layers
        ],
    }


def _show(session: Session, found: Meaning, k: int) -> None:
    """Show the words that each prototype's value comes from."""
    for part in found.layers:
        session.show(f"Layer {part.layer}")
        top = part.top(k)
        rows = [
            (f"{value:+.3f}", visible(name), _largest(found.words, part.shares[:, place]))
            for place, (name, value) in enumerate(top)
        ]
        session.show(table(["value", "prototype", "comes from"], rows))
    last = found.layers[-1]
    whole = sorted(zip(last.word_shares, found.words, strict=True), reverse=True)
    listed = ", ".join(f"{visible(word)} {100 * share:.0f} %" for share, word in whole[:10])
    session.show(f"Shares in the document: {listed}{', …' if len(whole) > 10 else ''}")
    _note_skipped(session, found.unknown)


def _note_skipped(session: Session, unknown: Sequence[str]) -> None:
    if unknown:
        more = f" and {len(unknown) - 10} more" if len(unknown) > 10 else ""
        session.note(f"Unknown words, skipped: {', '.join(unknown[:10])}{more}")


def _largest(words: Any, shares: Any) -> str:
    ranked = sorted(zip(shares, words, strict=True), key=lambda pair: -abs(pair[0]))
    return ", ".join(f"{visible(word)} {share:+.3f}" for share, word in ranked[:3])


def _decision(session: Session, found: Explanation, document: str, k: int) -> None:
    """Show the words behind a classifier's decision."""
    if session.json:
        session.emit({"text": document, **asdict(found)})
        return
    if not found.words:
        session.note("The model knows no word of the text: this is its baseline.")
    session.show(found.title)
    rows = [
        (f"{word.share:+.3f}", visible(word.word) + ("" if word.labelled else " *"), word.reasons())
        for word in found.words[:k]
    ]
    if len(found.words) > k:
        rest, more = sum(word.share for word in found.words[k:]), len(found.words) - k
        rows.append((f"{rest:+.3f}", f"({counted(more, 'more word')})", ""))
    if found.encoder:
        rows.append((f"{found.encoder:+.3f}", "(the whole text, by the encoder)", ""))
    rows.append((f"{found.baseline:+.3f}", "(baseline)", ""))
    session.show(table(["share", "word", "through"], rows))
    if not all(word.labelled for word in found.words[:k]):
        session.show("* not in any labelled document: it acts only through its prototypes.")
    _note_skipped(session, found.unknown)


def _class_named(model: DCoTClassifier, target: str | None) -> Any:
    """The class with this name; on the command line numbers are text."""
    if target is None:
        return None
    named = {str(name): name for name in model.classes_}
    if target not in named:
        known = ", ".join(list(named)[:10]) + (", …" if len(named) > 10 else "")
        raise UserError(f"the model has no class {target!r}: it has {known}")
    return named[target]
