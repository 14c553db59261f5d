"""Every kind of bad input to every public function and command, and what happens.

``test_inputs.py`` tries each row; ``python -m tests.trust.inputs`` writes docs/inputs.md from the
same trials. An outcome is the name of an error of dcot, or ``fine``: then a row says what is done.
"""

from __future__ import annotations

import gzip
import os
import re
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.svm import LinearSVC
from tests.unit.cli.running import run, write_corpora

import dcot
from dcot import DCoT, DCoTClassifier, DCoTVectorizer, SearchIndex
from dcot.stream import Blocks, NpzFiles
from dcot.text import TermCounter, TermWeighting, TextSource, read_texts

PAGE = Path(__file__).parents[2] / "docs" / "inputs.md"
TEXTS = ["crude oil", "opec oil output", "wheat harvest", "corn and wheat", "opec", "corn"]
LABELS = ["oil", "oil", "grain", "grain", None, None]
X = np.random.default_rng(0).poisson(0.7, (30, 12)).astype(float)
Call = Callable[[Any], Any]


@dataclass(frozen=True)
class Kind:
    """One kind of argument: who takes it, and bad values of it.

    ``fine`` says what is done with a value that some or all functions take.
    """

    title: str
    functions: dict[str, Call]
    values: dict[str, Any]
    fine: dict[str, str] = field(default_factory=dict)


def outcome(call: Call, value: Any) -> str:
    """The name of the error of dcot, or "fine"; anything else is raised."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            call(value)
        except dcot.DcotError as error:
            return type(error).__name__ if str(error) else "an error without words"
    return "fine"


def outcomes(kind: Kind, name: str) -> dict[str, str]:
    """What each function does with the value of that name."""
    made = kind.values[name]
    found = {}
    for function, call in kind.functions.items():
        try:
            found[function] = outcome(call, made() if callable(made) else made)
        except Exception as error:
            raise AssertionError(f"{function} with {name}: {error!r}") from error
    return found


# -- matrices -----------------------------------------------------------------------------------


def damaged(name: str, place: int, value: int) -> sp.csr_matrix:
    matrix = sp.csr_matrix(X)
    getattr(matrix, name)[place] = value
    return matrix


def with_value(value: float) -> np.ndarray:
    matrix = X.copy()
    matrix[3, 4] = value
    return matrix


def matrices() -> Kind:
    dcot_ = DCoT(5).fit(X)
    classes = ["a", "b", "a"] + [None] * 27
    classifier = DCoTClassifier(selection="none").fit(X, classes)
    weighting = TermWeighting().fit(X)
    index = SearchIndex().add(X)
    values = {
        "None": None,
        "a number": 3.0,
        "a string": "crude oil",
        "a mapping": {"a": 1},
        "one dimension": X[0],
        "three dimensions": lambda: np.zeros((2, 3, 4)),
        "ragged rows": [[1.0, 2.0], [3.0]],
        "no documents": X[:0],
        "no terms": X[:, :0],
        "another number of terms": X[:, :7],
        "NaN": lambda: with_value(np.nan),
        "infinity": lambda: with_value(np.inf),
        "1e300": lambda: with_value(1e300),
        "complex numbers": lambda: X + 1j,
        "strings in cells": lambda: np.full(X.shape, "oil"),
        "objects in cells": lambda: np.full(X.shape, object()),
        "dates in cells": lambda: X.astype("M8[s]"),
        "masked cells": lambda: np.ma.masked_greater(X, 0),
        "CSR, a column that is not there": lambda: damaged("indices", 5, 10**8),
        "CSR, a negative column": lambda: damaged("indices", 5, -1),
        "CSR, rows in no order": lambda: damaged("indptr", 15, 10**7),
        "CSR with NaN": lambda: sp.csr_matrix(with_value(np.nan)),
    }
    functions: dict[str, Call] = {
        "DCoT.fit": lambda m: DCoT(5).fit(m),
        "DCoT.partial_fit": lambda m: DCoT(5).fit(X).partial_fit(m),
        "DCoT.noise_path": lambda m: DCoT(5).noise_path(m, [0.5, 0.8]),
        "DCoT.transform": dcot_.transform,
        "DCoT.reconstruct": dcot_.reconstruct,
        "DCoTClassifier.fit": lambda m: DCoTClassifier(selection="none").fit(m, classes),
        "DCoTClassifier.predict": classifier.predict,
        "DCoTClassifier.predict_proba": classifier.predict_proba,
        "DCoTClassifier.suggest": classifier.suggest,
        "TermWeighting.fit": lambda m: TermWeighting().fit(m),
        "TermWeighting.transform": weighting.transform,
        "SearchIndex.add": lambda m: SearchIndex().add(m),
        "SearchIndex.search": lambda m: index.search(m),
    }
    fine = {
        "one dimension": "one query",
        "no documents": "an empty result",
        "another number of terms": "accepted by the first call; later calls need the same number",
        "1e300": "works: weights and cosines can have any size",
    }
    return Kind("A matrix of documents × terms", functions, values, fine)


# -- texts and labels ---------------------------------------------------------------------------


def texts() -> Kind:
    vectorizer = DCoTVectorizer().fit(TEXTS)
    classifier = DCoTClassifier(selection="none").fit(TEXTS, LABELS)
    counter = TermCounter().fit(TEXTS)
    index = SearchIndex(vectorizer).add(TEXTS)
    six: dict[str, Any] = {
        "None": None,
        "a number": 3,
        "one string": "crude oil",
        "one string of bytes": b"crude oil",
        "no documents": list,
        "None among them": lambda: [*TEXTS[:5], None],
        "numbers among them": lambda: [*TEXTS[:5], 3.5],
        "bytes among them": lambda: [*TEXTS[:5], b"oil"],
        "lists among them": lambda: [*TEXTS[:5], ["oil"]],
        "two columns": lambda: np.array([TEXTS, TEXTS]).T,
        "only empty texts": lambda: [""] * 6,
        "only punctuation": lambda: ["!", "?", ".", ",", ";", ":"],
        "lone surrogates": lambda: ["oil \ud800"] * 6,
        "NUL and controls": lambda: ["oil\0opec \x1b[31m"] * 6,
        "a text of a million letters": lambda: [*TEXTS[:5], "a" * 10**6],
        "a mapping": lambda: dict.fromkeys(TEXTS, 1),
        "a set": lambda: set(TEXTS),
    }
    functions: dict[str, Call] = {
        "DCoTVectorizer.fit": lambda t: DCoTVectorizer().fit(t),
        "DCoTVectorizer.partial_fit": lambda t: DCoTVectorizer().fit(TEXTS).partial_fit(t),
        "DCoTVectorizer.transform": vectorizer.transform,
        "DCoTVectorizer.reconstruct": vectorizer.reconstruct,
        "DCoTClassifier.fit": lambda t: DCoTClassifier(selection="none").fit(t, LABELS),
        "DCoTClassifier.fit, unlabelled": lambda t: DCoTClassifier(selection="none").fit(
            TEXTS, LABELS, unlabelled=t
        ),
        "DCoTClassifier.predict": classifier.predict,
        "DCoTClassifier.has_known_terms": classifier.has_known_terms,
        "TermCounter.fit": lambda t: TermCounter().fit(t),
        "TermCounter.transform": counter.transform,
        "SearchIndex.add": lambda t: SearchIndex(vectorizer).add(t),
        "SearchIndex.search": lambda t: index.search(t),
    }
    fine = {
        "None": "works: no unlabelled documents",
        "one string": "one query",
        "no documents": "an empty result",
        "only empty texts": "works, as documents without a known word: rows of zeros, the "
        "prediction of an empty document, no hits; `has_known_terms` is False",
        "only punctuation": "works as with empty texts",
        "NUL and controls": "works: they separate words",
        "a text of a million letters": "works: one long term",
    }
    return Kind("Texts", functions, six, fine)


def labels() -> Kind:
    classifier = DCoTClassifier(selection="none").fit(TEXTS, LABELS)
    values = {
        "None": None,
        "a string": "oilgas",
        "too few": ["oil", "grain"],
        "too many": LABELS * 2,
        "all the same class": ["oil"] * 6,
        "none at all": [None] * 6,
        "one label": ["oil"] + [None] * 5,
        "a label for each document": list("abcdef"),
        "numbers and strings": ["oil", 3, "oil", 3, None, None],
        "floats that are no classes": np.linspace(0, 1, 6),
        "infinity": np.array([0, 1, np.inf, 0, 1, 0]),
        "objects": [object() for _ in range(6)],
        "a matrix with other numbers than 0 and 1": np.full((6, 2), 7),
        "an indicator matrix of other length": np.eye(3),
        "empty sets of labels": [[]] * 6,
        "three dimensions": np.zeros((6, 1, 2)),
        "a set": set("abcdef"),
        "a mapping": dict.fromkeys("abcdef", 1),
        "None among the labels of a document": [["oil"], ["grain", None], *[None] * 4],
    }
    functions: dict[str, Call] = {
        "DCoTClassifier.fit": lambda y: DCoTClassifier(selection="none").fit(TEXTS, y),
        "DCoTClassifier.refit": lambda y: (
            DCoTClassifier(selection="none").fit(TEXTS, LABELS).refit(TEXTS, y)
        ),
        "DCoTClassifier.score": lambda y: classifier.score(TEXTS, y),
    }
    fine = {
        "all the same class": "works",
        "one label": "works",
        "a label for each document": "works: classes of one document each; labels that the model "
        "does not know count as wrong",
        "numbers and strings": "works: a label that the model does not know counts as wrong",
        "floats that are no classes": "works: labels that the model does not know count as wrong",
        "infinity": "works: labels that the model does not know count as wrong",
        "objects": "works: labels that the model does not know count as wrong",
    }
    return Kind("Labels", functions, values, fine)


def seed_words() -> Kind:
    values = {
        "a list of words": ["opec", "wheat"],
        "a string": "opec",
        "no classes": {},
        "classes without words": {"oil": [], "grain": []},
        "a string for a list": {"oil": "opec", "grain": "wheat"},
        "numbers for words": {"oil": [1], "grain": [2]},
        "words that no document has": {"oil": ["zebra"], "grain": ["wheat"]},
        "classes of text and of numbers": {"oil": ["opec"], 3: ["wheat"]},
        "empty words": {"oil": [""], "grain": [" "]},
    }
    functions: dict[str, Call] = {
        "DCoTClassifier.fit": lambda w: DCoTClassifier().fit(TEXTS, None, seed_words=w),
        "DCoTClassifier.refit": lambda w: (
            DCoTClassifier(selection="none").fit(TEXTS, LABELS).refit(TEXTS, LABELS, seed_words=w)
        ),
    }
    return Kind("Seed words", functions, values)


def weights() -> Kind:
    values = {
        "a string": "abc",
        "too few": np.ones(4),
        "negative": np.full(30, -1.0),
        "NaN": np.full(30, np.nan),
        "infinity": np.full(30, np.inf),
        "all zero": np.zeros(30),
        "two dimensions": np.ones((30, 2)),
        "masked": np.ma.masked_array(np.ones(30), np.arange(30) > 20),
        "1e-300": np.full(30, 1e-300),
    }
    classes = ["a", "b", "a"] + [None] * 27
    functions: dict[str, Call] = {
        "DCoT.fit": lambda w: DCoT(5).fit(X, sample_weight=w),
        "DCoT.partial_fit": lambda w: DCoT(5).partial_fit(X, sample_weight=w).layers_,
        "DCoTVectorizer.fit": lambda w: DCoTVectorizer().fit(TEXTS * 5, sample_weight=w),
        "DCoTClassifier.fit": lambda w: DCoTClassifier(selection="none").fit(
            X, classes, sample_weight=w
        ),
    }
    return Kind("Weights of documents", functions, values)


# -- settings -----------------------------------------------------------------------------------


def settings() -> Iterator[Kind]:
    """A table for each setting."""
    numbers: dict[str, Any] = {"None": None, "a string": "x", "NaN": np.nan, "a list": [[]]}
    noise = {**numbers, "1.0": 1.0, "-0.1": -0.1, "more than layers": (0.5, 0.6, 0.7)}
    counts = {**numbers, "0": 0, "-5": -5, "2.5": 2.5, "True": True, "2**70": 2**70}
    for name, values in {
        "noise": noise,
        "shrinkage": {**numbers, "-1": -1, "infinity": np.inf},
        "n_prototypes": counts,
        "n_layers": counts,
        "n_components": {key: value for key, value in counts.items() if key != "None"},
        "solver": {"None": None, "another name": "magic", "a number": 3},
        "output": {"None": None, "another name": "everything"},
        "memory_limit": {"0": 0, "-1": -1, "no size": "1.2.3GB", "a list": [1]},
        "dtype": {"int": "int32", "another name": "double precision", "an object": object()},
        "random_state": {"a string": "x", "-1": -1, "2**32": 2**32, "a number": 1.5},
    }.items():
        fine = {"2**70": "as many as there are terms", "more than layers": "the first are used"}
        yield Kind(
            f"The setting `{name}`",
            {
                "DCoT.fit": lambda v, name=name: DCoT(**{name: v}).fit(X),
                "DCoTVectorizer.fit": lambda v, name=name: DCoTVectorizer(**{name: v}).fit(TEXTS),
            },
            values,
            fine,
        )
    yield Kind(
        "The setting `ngram_range`",
        {"TermCounter.fit": lambda v: TermCounter(ngram_range=v).fit(TEXTS)},
        {"reversed": (3, 1), "0": (0, 1), "one number": 2, "2**62": (1, 2**62), "strings": "ab"},
    )
    for name, values in {
        "estimator": {
            "None": None,
            "another name": "forest",
            "a class": lambda: LinearSVC,  # `outcomes` calls what can be called
            "a number": 3,
        },
        "random_state": {"a string": "x", "-1": -1, "2**32": 2**32, "a number": 1.5},
        "n_jobs": {"0": 0, "a string": "x", "1.5": 1.5},
        "class_weight": {
            "another name": "x",
            "a number": 3,
            "no class": {"zinc": 1},
            "-1": {"oil": -1, "grain": 1},
            "NaN": {"oil": np.nan, "grain": 1},
        },
    }.items():
        yield Kind(
            f"The setting `{name}` of a classifier",
            {
                "DCoTClassifier.fit": lambda v, name=name: DCoTClassifier(**{name: v}).fit(
                    TEXTS, LABELS
                )
            },
            values,
        )
    yield Kind(
        "The setting `grid`",
        {"DCoTClassifier.fit": lambda v: DCoTClassifier(grid=v).fit(TEXTS, LABELS)},
        {
            "noise 1.0": {"noise": [1.0]},
            "a number instead of a list": {"noise": 0.5},
            "negative shrinkage": {"shrinkage": [-1]},
            "no prototypes": {"n_prototypes": [0]},
            "an unknown name": {"depth": [1]},
            "a list": [0.5],
        },
    )


def queries() -> Kind:
    index = SearchIndex(DCoTVectorizer().fit(TEXTS)).add(TEXTS)
    model = DCoTVectorizer().fit(TEXTS)
    functions: dict[str, Call] = {
        "SearchIndex.search": lambda k: index.search("oil", k=k),
        "SearchIndex.similar": lambda k: index.similar(1, k=k),
        "DCoTVectorizer.similar_terms": lambda k: model.similar_terms("oil", k),
        "DCoTVectorizer.cohort": lambda k: model.cohort("oil", k),
        "DCoTVectorizer.explain": lambda k: model.explain("oil", k),
        "DCoTClassifier.suggest": lambda k: DCoTClassifier().suggest(TEXTS, k),
    }
    values = {"0": 0, "-3": -3, "1.5": 1.5, "a string": "x", "None": None, "10**9": 10**9}
    return Kind("How many results (`k`)", functions, values, {"10**9": "as many as there are"})


def unknown_names() -> Kind:
    index = SearchIndex(DCoTVectorizer().fit(TEXTS)).add(TEXTS)
    model = DCoTVectorizer().fit(TEXTS)
    functions: dict[str, Call] = {
        "SearchIndex.similar": index.similar,
        "SearchIndex.remove": lambda name: index.remove([name]),
        "DCoTVectorizer.similar_terms": model.similar_terms,
        "DCoTVectorizer.cohort": model.cohort,
    }
    values = {"an unknown word or id": "zzz", "an object": object(), "-1": -1, "10**9": 10**9}
    return Kind("A word, column or id", functions, values)


# -- files and models ---------------------------------------------------------------------------


@contextmanager
def folder() -> Iterator[Path]:
    """A new current folder with corpora, a model of each kind, and damaged files."""
    before, place = Path.cwd(), Path(tempfile.mkdtemp())
    os.chdir(place)
    try:
        write_corpora(place)
        body = [text for _, _, text in _rows()]
        vectorizer = DCoTVectorizer(n_prototypes=8).fit(body)
        vectorizer.save("model")
        DCoTClassifier(selection="none").fit(body, [one or None for _, one, _ in _rows()]).save("c")
        SearchIndex(vectorizer).add(body).save("i")
        _damage(place)
        yield place
    finally:
        os.chdir(before)
        shutil.rmtree(place)


def _rows() -> list[tuple[int, str, str]]:
    from tests.unit.cli.running import documents

    return documents()


def _damage(place: Path) -> None:
    for name, change in {
        "cut": lambda path: path.write_bytes(path.read_bytes()[:-7]),
        "flipped": lambda path: path.write_bytes(path.read_bytes()[:-9] + b"\xff" * 9),
        "gone": lambda path: path.unlink(),
    }.items():
        shutil.copytree("c", name)
        change(next((place / name).glob("arrays-*")))
    (place / "empty").mkdir()
    (place / "empty.csv").write_text("")
    (place / "no rows.csv").write_text("topic,body\n")
    (place / "cut.csv.gz").write_bytes(gzip.compress((place / "news.csv").read_bytes())[:-20])
    (place / "broken.parquet").write_bytes(b"PAR1 and nothing else PAR1")
    (place / "latin.csv").write_bytes("topic,body\noil,fl\xfcssig\n".encode("latin-1"))
    (place / "binary.csv").write_bytes(bytes(range(256)) * 40)
    (place / "wide.csv").write_text("topic,body\noil,crude,more\n")
    (place / "deep.jsonl").write_text("[" * 10_000 + "]" * 10_000 + "\n")
    (place / "unknown.ending").write_bytes(b"\x00\x01")
    np.savez(place / "other.npz", a=np.ones(3))
    np.savez(place / "objects.npz", a=np.array([{}], dtype=object))


def models() -> Kind:
    functions: dict[str, Call] = {
        "dcot.load": dcot.load,
        "dcot.load, mmap": lambda path: dcot.load(path, mmap=True),
    }
    values = {
        "None": None,
        "a number": 3,
        "nothing there": "nowhere",
        "a file": "news.csv",
        "an empty folder": "empty",
        "a file cut off": "cut",
        "bytes changed": "flipped",
        "a file missing": "gone",
        "NUL in the path": "a\0b",
    }
    fine = {"bytes changed": "with mmap checksums are not computed, unless `verify=True`"}
    return Kind("A model folder", functions, values, fine)


def targets() -> Kind:
    model = DCoT(3).fit(X)
    functions: dict[str, Call] = {
        "save": model.save,
        "transform_to": lambda path: model.transform_to([X], path),
    }
    values = {
        "None": None,
        "a folder with other files": lambda: _occupied(),
        "below a file": "news.csv/m",
        "a name of 5000 letters": "m" * 5000,
        "NUL in the path": "a\0b",
    }
    return Kind("Where to write", functions, values)


def _occupied() -> Path:
    Path("thesis").mkdir(exist_ok=True)
    Path("thesis/chapter.tex").write_text("mine")
    return Path("thesis")


def files() -> Kind:
    functions: dict[str, Call] = {
        "read_texts": lambda path: list(read_texts(path, column="body")),
        "DCoTVectorizer.fit": lambda path: DCoTVectorizer().fit(read_texts(path, column="body")),
        "TextSource": lambda path: DCoTVectorizer().fit(TextSource(path, column="body")),
    }
    values = {
        "nothing there": Path("nowhere.csv"),
        "an empty folder": Path("empty"),
        "an empty file": Path("empty.csv"),
        "a header and no rows": Path("no rows.csv"),
        "gzip, cut off": Path("cut.csv.gz"),
        "parquet, damaged": Path("broken.parquet"),
        "another encoding": Path("latin.csv"),
        "bytes that are no text": Path("binary.csv"),
        "rows with too many fields": Path("wide.csv"),
        "JSON, nested deeply": Path("deep.jsonl"),
        "an unknown ending": Path("unknown.ending"),
    }
    fine = {"a header and no rows": "no texts", "an empty file": "no texts"}
    return Kind("Files of texts", functions, values, fine)


def blocks() -> Kind:
    functions: dict[str, Call] = {
        "DCoT.fit": lambda made: DCoT(3).fit(made()),
    }
    values = {
        "no blocks": lambda: lambda: Blocks([]),
        "a block with other columns": lambda: lambda: Blocks([X, X[:, :5]]),
        "a block that is no matrix": lambda: lambda: Blocks([X, "oil"]),
        "an iterator that was used": lambda: lambda: iter(()),
        "an .npz of other arrays": lambda: lambda: NpzFiles("other.npz"),
        "an .npz of objects": lambda: lambda: NpzFiles("objects.npz"),
        "an .npz that is not there": lambda: lambda: NpzFiles("nowhere.npz"),
    }
    return Kind("Sources of batches", functions, values)


def python_kinds() -> list[Kind]:
    """All tables but that of the command; inside ``folder()``."""
    made = [matrices(), texts(), labels(), seed_words(), weights(), *settings(), queries()]
    return [*made, unknown_names(), models(), targets(), files(), blocks()]


# -- the command --------------------------------------------------------------------------------

READING = {
    "fit": ("fit", "{corpus}", "--text", "body", "-o", "out"),
    "train": ("train", "{corpus}", "--text", "body", "--label", "topic", "-o", "out"),
    "transform": ("transform", "model", "{corpus}", "--text", "body", "-o", "out.npy"),
    "predict": ("predict", "c", "{corpus}", "--text", "body"),
    "evaluate": ("evaluate", "c", "{corpus}", "--text", "body", "--label", "topic"),
    "suggest": ("suggest", "c", "{corpus}", "--text", "body", "--label", "topic"),
    "refit": ("refit", "c", "{corpus}", "--text", "body", "--label", "topic", "-o", "out"),
    "audit": ("audit", "{corpus}", "--text", "body", "--label", "topic"),
    "index": ("index", "model", "{corpus}", "--text", "body", "-o", "out"),
}
WITH_MODEL = {
    "transform": ("transform", "{model}", "news.csv", "--text", "body", "-o", "out.npy"),
    "predict": ("predict", "{model}", "news.csv", "--text", "body"),
    "evaluate": ("evaluate", "{model}", "news.csv", "--text", "body", "--label", "topic"),
    "suggest": ("suggest", "{model}", "news.csv", "--text", "body", "--label", "topic"),
    "refit": ("refit", "{model}", "news.csv", "--text", "body", "--label", "topic", "-o", "out"),
    "explain": ("explain", "{model}", "oil"),
    "similar": ("similar", "{model}", "oil"),
    "index": ("index", "{model}", "news.csv", "--text", "body", "-o", "out"),
    "search": ("search", "{model}", "oil"),
    "info": ("info", "{model}"),
}
CORPORA = {
    "nothing there": "nowhere.csv",
    "an empty folder": "empty",
    "an empty file": "empty.csv",
    "a header and no rows": "no rows.csv",
    "gzip, cut off": "cut.csv.gz",
    "parquet, damaged": "broken.parquet",
    "another encoding": "latin.csv",
    "bytes that are no text": "binary.csv",
    "rows with too many fields": "wide.csv",
    "JSON, nested deeply": "deep.jsonl",
    "an unknown ending": "unknown.ending",
    "a model folder": "model",
}
MODELS = {
    "nothing there": "nowhere",
    "a file": "news.csv",
    "an empty folder": "empty",
    "a file cut off": "cut",
    "bytes changed": "flipped",
    "a file missing": "gone",
}
OPTIONS = {
    "noise 1.0": ("--noise", "1.0"),
    "noise -0.5": ("--noise", "-0.5"),
    "shrinkage -1": ("--shrinkage", "-1"),
    "0 prototypes": ("--n-prototypes", "0"),
    "a word for a number": ("--n-prototypes", "many"),
    "an option that is not there": ("--depth", "3"),
    "a column that is not there": ("--text", "title"),
}


def command_kinds() -> list[Kind]:
    """The same for the command, whose outcomes are exit codes."""

    def filled(arguments: tuple[str, ...], mark: str) -> Call:
        return lambda value: run(*(value if one == mark else one for one in arguments))

    return [
        Kind(
            "dcot COMMAND CORPUS",
            {name: filled(arguments, "{corpus}") for name, arguments in READING.items()},
            CORPORA,
        ),
        Kind(
            "dcot COMMAND MODEL",
            {name: filled(arguments, "{model}") for name, arguments in WITH_MODEL.items()},
            MODELS,
        ),
        Kind(
            "Options",
            {name: _with_options(READING[name]) for name in ("fit", "train")},
            OPTIONS,
        ),
    ]


def _with_options(arguments: tuple[str, ...]) -> Call:
    given = ["news.csv" if one == "{corpus}" else one for one in arguments]
    return lambda options: run(*given, *options)


def endings(kind: Kind, name: str) -> dict[str, str]:
    """The exit code of each command: 0, 1 (the input) or 2 (the command line), never a bug."""
    found = {}
    for function, call in kind.functions.items():
        shutil.rmtree("out", ignore_errors=True)
        Path("out.npy").unlink(missing_ok=True)
        done = call(kind.values[name])
        assert done.code in (0, 1, 2), (function, name, done.code, done.err)
        assert done.code == 0 or ("Error" in done.err and done.out == ""), (function, name, done)
        assert done.code == 0 or not Path("out").exists(), (function, name)
        found[function] = f"exit {done.code}" if done.code else "fine"
    return found


# -- the page -----------------------------------------------------------------------------------

HEAD = """# Bad input

A column of NaN, a file that was cut off, a misspelt option: dcot says what is wrong and stops. It
does not guess.

- **A call that ends with an error changes nothing**, neither a model nor a file.
- **The message says what was expected and what to do.** Every error is a `dcot.DcotError`, and an
  error of Python or scikit-learn too, so `except ValueError` works as well.
- **A command ends with exit code 1** if its input cannot be used, and with 2 if the command line
  is wrong. It says why on standard error.

| what is wrong | error |
|---|---|
| the kind of object: a number for a list of texts, a set of labels | `InvalidTypeError` |
| the content: NaN, None among texts, too few labels, a damaged file | `InvalidInputError` |
| a setting: `noise=1.0`, `n_prototypes=0`, a name that is not there | `InvalidParameterError` |
| a word that the model does not know | `UnknownTermError`, with similar words |
| a model folder that is not there, or damaged | `ModelFolderError`, `ModelFormatError` |
| output that cannot be written | `OutputError` |

[Errors](reference/errors.md) has an example of each.

Some input looks wrong and works:

- **Empty texts and texts without any known word** can be classified: the answer is that for an
  empty document. `has_known_terms` tells you which ones they are. You cannot fit on such texts
  alone.
- **An empty list of texts** gives an empty result, but you cannot fit on it.
- **More prototypes, components or hits than there are**: you get all there are.
- **Labels that the model does not know** count as wrong in `score`.
- **A model loaded with `mmap=True`** is opened without its checksums. Pass `verify=True` to have
  them checked.

## Every case that is tested

Each row was tried with every function that takes such an argument.

"""


def rows_of(kind: Kind, tried: Callable[[Kind, str], dict[str, str]]) -> list[tuple[str, str]]:
    """Each value, and what happens, in words."""
    return [(name, in_words(kind, name, tried(kind, name))) for name in kind.values]


def in_words(kind: Kind, name: str, found: dict[str, str]) -> str:
    """The most frequent outcome first; functions are named where they differ."""
    by_outcome: dict[str, list[str]] = {}
    for function, what in found.items():
        by_outcome.setdefault(what, []).append(function)
    ranked = sorted(by_outcome.items(), key=lambda item: -len(item[1]))
    parts = []
    for number, (what, functions) in enumerate(ranked):
        said = kind.fine.get(name, "works") if what == "fine" else what
        who = f" ({', '.join(functions)})" if number or (len(ranked) > 1 and what == "fine") else ""
        parts.append(said + who)
    return "; ".join(parts)


def page() -> str:
    parts = [HEAD]
    with folder():
        for kinds, tried in ((python_kinds(), outcomes), (command_kinds(), endings)):
            for kind in kinds:
                rows = rows_of(kind, tried)
                who = ", ".join(f"`{name}`" for name in kind.functions)
                table = "\n".join(f"| {name} | {what} |" for name, what in rows)
                table = f"| input | what happens |\n|---|---|\n{table}"
                parts.append(folded(kind.title, f"For {who}.\n\n{table}"))
    return "".join([*parts, TAIL])


def folded(title: str, text: str) -> str:
    """Markdown that a reader opens, in the repository and on the site."""
    shown = re.sub(r"`(.+?)`", r"<code>\1</code>", title)  # no Markdown there in the repository
    head = f'<details markdown="1">\n<summary>{shown}</summary>'
    return f"{head}\n\n{text}\n\n</details>\n\n"


TAIL = """`python -m tests.trust.inputs` writes this page, and `tests/trust/test_inputs.py` fails if
a row is no longer true.
"""


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE}")
