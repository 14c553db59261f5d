"""``dcot train`` and ``dcot refit``: a classifier from documents, some of them labelled."""

from __future__ import annotations

import shlex
import time
import unicodedata
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from dcot.cli import options as o
from dcot.cli.corpus import Corpus, check_read_once
from dcot.cli.evaluate import evaluation, show_evaluation
from dcot.cli.files import check_target, load_classifier, save_model
from dcot.cli.session import Session, counted, table
from dcot.runtime.resources import format_bytes

if TYPE_CHECKING:
    from dcot import DCoTClassifier

EXAMPLES = {
    "train": (
        "dcot train news.csv --text body --label topic -o model",
        "dcot train news.csv --text body --label topic --unlabelled news.txt -o model",
        "dcot train news.jsonl --text body --label topic --test test.jsonl -o model",
        "dcot train news.csv --text body --label topic --embedding vectors.txt -o model",
    ),
    "refit": ("dcot refit model news.csv --text body --label topic -o model",),
}
_candidates = partial(
    o.option, panel="Settings to choose from (with commas; the first is the default)"
)
_classifier = partial(o.option, panel="Classifier")
_MISSING = {"na", "n/a", "nan", "null", "none", "unknown", "?", "-"}  # may mean unlabelled
_MANY_UNKNOWN = 0.1  # of all documents
_SHEET_ERRORS = {"#n/a", "#nv", "#value!", "#wert!", "#ref!", "#name?", "#div/0!", "#null!"}


@dataclass(frozen=True)
class Candidates:
    """Values of the classifier's ``grid``."""

    noise: Annotated[
        Any,
        _candidates(
            "Probability of removing a term, in [0, 1).",
            parser=o.numbers(low=0, below=1),
            metavar="NUMBERS",
            show_default="0.9",
        ),
    ] = None
    shrinkage: Annotated[
        Any,
        _candidates(
            "Strength of the shrinkage; 0 is the paper.",
            parser=o.numbers(low=0),
            metavar="NUMBERS",
            show_default="1.0",
        ),
    ] = None
    n_prototypes: Annotated[
        Any,
        _candidates(
            "Number of terms to reconstruct.",
            parser=o.numbers(low=1, whole=True),
            metavar="NUMBERS",
            show_default="2000",
        ),
    ] = None
    features: Annotated[
        Any,
        _candidates(
            "Features that the classifier uses.",
            parser=o.names,
            metavar="NAMES",
            show_default="LSI and both layers,both layers,x and LSI and both layers",
        ),
    ] = None


@dataclass(frozen=True)
class ClassifierOptions:
    """Parameters of ``DCoTClassifier``."""

    selection: Annotated[
        Literal["loo", "none"],
        _classifier("Choose settings by leave-one-out; none uses the defaults, which is faster."),
    ] = "loo"
    embedding: Annotated[str | None, _classifier(**o.WORD_VECTORS)] = None
    estimator: Annotated[
        Literal["ridge", "svm", "logistic"], _classifier("The linear classifier.")
    ] = "ridge"
    self_training: Annotated[
        bool,
        _classifier("Whether ridge also learns from its predictions for unlabelled documents."),
    ] = True
    class_weight: Annotated[
        Literal["sqrt", "balanced", "none"],
        _classifier(
            "Weight of a document: one over the square root of the size of its class, one over "
            "the size, or one."
        ),
    ] = "sqrt"
    memory_limit: Annotated[
        str | None,
        _classifier(
            "Memory limit for learning the features, such as 4GB.",
            metavar="SIZE",
            show_default="free memory",
        ),
    ] = None


def train(
    corpus: o.Corpora,
    output: o.ModelOut,
    *,
    unlabelled: Annotated[
        list[str] | None,
        o.option("More documents, used without labels. Can be repeated.", metavar="CORPUS"),
    ] = None,
    test: Annotated[
        str | None,
        o.option(
            "Evaluate on these documents afterwards. Column names are the same.", metavar="CORPUS"
        ),
    ] = None,
    precision: o.Precision = None,
    reading: o.Reading,
    labels: o.Labels,
    candidates: Candidates,
    options: ClassifierOptions,
    counting: o.Counting,
    weighting: o.Weighting,
    session: Session,
) -> None:
    """Train a classifier from few labels and many documents.

    Rows with an empty label count as unlabelled and are still used for training. Settings are
    chosen by leave-one-out on the labelled documents. The expected accuracy is printed next to
    that of TF-IDF.
    """
    check_target(output, "DCoTClassifier")
    source = Corpus(corpus, reading, labels, part="train")
    tested = None if test is None else Corpus([test], reading, labels, part="test")
    more = Corpus(unlabelled, reading) if unlabelled else None
    check_read_once([*corpus, *(unlabelled or ()), test or ""])
    for one in filter(None, (tested, more)):
        one.check()
    documents = source.whole()
    given = source.checked_labels(documents)
    note_empty_texts(session, documents.texts)
    note_doubtful_labels(session, given, labels.label)
    if tested is not None and tested.rereadable:  # before the work, not after it
        tested.checked_labels(tested.whole())
    start = time.perf_counter()
    model = classifier(candidates, options, counting, weighting, session)
    model.fit(documents.texts, given, unlabelled=more.whole().texts if more else None)
    _note_unknown_texts(session, model, documents.texts)
    facts = _saved(session, model, output, precision, time.perf_counter() - start)
    if tested is not None:
        facts["test"] = _evaluate(session, model, tested, set(documents.texts))
    if session.json:
        session.emit(facts)


def refit(
    model: o.Model,
    corpus: o.Corpora,
    output: o.ModelOut,
    *,
    precision: o.Precision = None,
    reading: o.Reading,
    labels: o.Labels,
    session: Session,
) -> None:
    """Train the classifier of a model again, with more or other labels.

    The features stay the same, so this takes seconds. The corpus must have all labelled documents,
    not only the new ones; with unlabelled rows it is more accurate. The output may be the model
    itself.
    """
    check_target(output, "DCoTClassifier")
    source = Corpus(corpus, reading, labels, part="train")
    source.check()
    trained = load_classifier(model)
    documents = source.whole()
    given = source.checked_labels(documents)
    note_empty_texts(session, documents.texts)
    note_doubtful_labels(session, given, labels.label)
    start = time.perf_counter()
    trained.refit(documents.texts, given)
    facts = _saved(session, trained, output, precision, time.perf_counter() - start)
    if session.json:
        session.emit(facts)


def _saved(
    session: Session, model: DCoTClassifier, output: Path, precision: str | None, seconds: float
) -> dict[str, Any]:
    """Save a trained classifier, show its expected accuracy, and return its facts for JSON."""
    size = save_model(model, output, precision)
    facts = facts_of(model) | {"model": str(output), "seconds": round(seconds, 3), "bytes": size}
    if not (session.json or session.quiet):
        show(session, model, facts)
    return facts


def classifier(
    candidates: Candidates,
    options: ClassifierOptions,
    counting: o.Counting,
    weighting: o.Weighting,
    session: Session,
) -> DCoTClassifier:
    """Make an unfitted classifier from options."""
    from dcot import DCoTClassifier, DCoTVectorizer

    grid = {name: values for name, values in vars(candidates).items() if values is not None}
    return DCoTClassifier(
        vectorizer=DCoTVectorizer(**o.parameters_of(counting, weighting)),
        grid=grid or None,
        random_state=session.seed,
        verbose=session.verbose,
        **o.parameters_of(options),
    )


def _evaluate(
    session: Session, model: DCoTClassifier, tested: Corpus, trained_on: set[str]
) -> dict[str, Any]:
    found, same = evaluation(model, tested, trained_on)
    if same:
        session.note(
            f"Note: {same:,} of these documents were trained on, so the accuracy is too high."
        )
    if not session.json:
        session.show(f"On {tested.name}:")
        show_evaluation(session, found)
    return found


def note_empty_texts(session: Session, texts: Sequence[str]) -> None:
    """Note documents without text, such as the empty rows at the end of many spreadsheets."""
    empty = sum(not text.strip() for text in texts)
    if empty:
        session.note(
            f"Note: {counted(empty, 'document')} of {len(texts):,} {'is' if empty == 1 else 'are'} "
            "empty."
        )


def _note_unknown_texts(session: Session, model: DCoTClassifier, texts: Sequence[str]) -> None:
    """Note that many documents have no word in common with another one, or no word at all."""
    unknown = int((~model.has_known_terms(texts)).sum())
    if unknown > _MANY_UNKNOWN * len(texts):
        session.note(
            f"Note: {unknown:,} of {len(texts):,} documents have no word that the model knows, so "
            "it cannot tell them apart. Parts of words may be better: --analyzer char_wb "
            "--ngram-range 3,4"
        )


def note_doubtful_labels(session: Session, labels: list[Any], column: str | None) -> None:
    """Note possible mistakes: the label "NA", "Oil" and "oil", a class with a single document."""
    flat = [one for label in labels for one in (label if isinstance(label, list) else [label])]
    counts = Counter(one for one in flat if one is not None)
    for name, count in counts.items():
        if name.strip().lower() in _MISSING | _SHEET_ERRORS:
            have = "document has" if count == 1 else "documents have"
            session.note(
                f"Note: {count:,} {have} the label {name!r}. If it marks unlabelled rows, "
                f"add --unlabelled-label {shlex.quote(name)}"
            )
    for names in _alike(counts):
        listed = " and ".join(f"{name!r} ({counts[name]:,})" for name in names[:5])
        session.note(
            f"Note: the labels {listed} differ only in spaces or upper case, and are different "
            "classes. If they are one class, give them the same spelling"
        )
    single = sum(count == 1 for count in counts.values())
    labelled = sum(label is not None for label in labels)
    if labelled > 2 and len(counts) > labelled / 2:
        session.note(
            f"Note: {labelled:,} labelled documents have {len(counts):,} different labels: is "
            f"{column or 'the folder name'!r} really the label?"
        )
    elif single and len(counts) > 2:
        have = "class has" if single == 1 else "classes have"
        session.note(
            f"Note: of {len(counts)} classes, {single} {have} a single labelled document, which is "
            "too few to estimate the accuracy there."
        )


def _alike(names: Iterable[str]) -> list[list[str]]:
    """Names that differ only in spaces, upper case or how a character is encoded."""
    groups: dict[str, list[str]] = {}
    for name in names:
        key = " ".join(unicodedata.normalize("NFKC", name).casefold().split())
        groups.setdefault(key, []).append(name)
    return [sorted(group) for group in groups.values() if len(group) > 1]


def facts_of(model: DCoTClassifier) -> dict[str, Any]:
    """Facts about a trained classifier, for JSON."""
    estimate: dict[str, Any] = {"held_out": model.estimate_.n}
    for name in ("dcot", "tfidf", "majority") if model.estimate_.n else ():
        estimate[name] = asdict(getattr(model.estimate_, name))
        del estimate[name]["name"]
    return {
        "kind": "DCoTClassifier",
        "documents": int(model.n_documents_),
        "labelled": int(model.n_labelled_),
        "classes": [str(name) for name in model.classes_],
        "setting": model.best_params_,
        "settings_tried": len(model.cv_results_["params"]),
        "calibrated": bool(model.calibrated_),
        "estimate": estimate,
    }


def show(session: Session, model: DCoTClassifier, facts: dict[str, Any]) -> None:
    """Show the expected accuracy of a classifier to a person."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the text says it too
        summary, *others = model.report().split("\n\n")
    estimate = model.estimate_
    rows = [
        [
            score.name,
            *_percent(score.accuracy, score.accuracy_interval),
            *_percent(score.macro_f1, score.macro_f1_interval),
        ]
        for score in (estimate.dcot, estimate.tfidf, estimate.majority)
    ]
    session.show(
        summary,
        table(["", "accuracy", "95 % interval", "macro-F1", "95 % interval"], rows),
        *(paragraph + "\n" for paragraph in others[1:]),
    )
    session.say(f"Saved to {facts['model']} ({format_bytes(facts['bytes'])}).")


def _percent(value: float, interval: tuple[float, float]) -> tuple[str, str]:
    low, high = interval
    return f"{100 * value:.1f} %", f"{100 * low:.1f} – {100 * high:.1f}"
