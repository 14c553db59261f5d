"""Model folders changed at random with all checksums right again: what an attacker would make.

``python -m tests.unit.persistence.mutating KIND FIRST LAST`` runs mutations outside of pytest and
prints each before it is tried, so that one that kills the process is known.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from tests.unit.persistence.conftest import TEXTS, contents_of, forge, part

import dcot
from dcot import DCoT, DCoTClassifier, DCoTVectorizer, SearchIndex
from dcot.persistence import tensors

MATRIX = np.random.default_rng(0).poisson(0.7, (30, 12)).astype(np.float32)
LABELS = ["oil", "oil", "grain", "grain", None, "grain", None]
NUMBERS = [0, 1, -1, 2, 3, 7, 2**31, 2**32 + 1, 2**62, 2**63 - 1, 2**63, -(2**63), 10**30]
VALUES: list[Any] = [
    *NUMBERS, None, True, False, 0.5, -0.0, 1.5, 1e-300, 1e308, "", "a", "oil", "float64", "01",
    "identity", "tanh", "char", "char_wb", "word", "int8", "(", "\\w", "a+", "é", [], {}, [[]],
    [1], ["a", "b"], [1, 2**62], {"$tuple": [1, 2**62]}, {"$tuple": [1, 3]}, {"$tuple": []},
    {"$tuple": [0.5, 0.7]}, {"$set": ["a"]}, {"$set": [[]]}, {"$mapping": {"a": 1}},
    {"$dtype": "01"},
    {"$dtype": "int8"}, {"$dtype": "float16"}, {"$dtype": "object"}, {"$array": [], "dtype": "<i8"},
    {"$array": [1, 2], "dtype": "<i8"}, {"$array": ["a"] * 9, "dtype": "<U999999"}, {"$what": 1},
    {"$array": [0.5], "dtype": "float64"}, {"$array": {"a": 1}, "dtype": "<U2"},
]  # fmt: skip
INTEGERS = [-1, 0, 1, 5, 2**31 - 1, 2**40, 2**63 - 1, -(2**63)]
FLOATS = [np.nan, np.inf, -np.inf, 0.0, -1.0, 1e-40, 1e30, -1e38, 3e38, 1e300]
TERMS = ["", " ", "\n", "a" * 5000, "oil", "Ωmega", "ﬀ", "\u0000", "\u202e", "x y", '"', "\\"]
WORD_VECTORS = {"oil": [1.0, 0.5], "wheat": [-1.0, 0.5], "corn": [-0.5, 0.1], "the": [0.0, 1.0]}
Model = DCoT | DCoTVectorizer | DCoTClassifier | SearchIndex


def originals() -> dict[str, Model]:
    """A small model of each kind that can be in a folder."""
    vectorizer = DCoTVectorizer(n_prototypes=4, ngram_range=(1, 2)).fit(TEXTS)
    index = SearchIndex(vectorizer, store_texts=True)
    index.add(TEXTS, metadata=[{"n": n} if n % 2 else None for n in range(len(TEXTS))])
    index.add(["gold and silver"], ids=["g"])
    return {
        "DCoT": DCoT(5, n_components=3, output="concat", random_state=0).fit(MATRIX),
        "moments": DCoT(5, n_layers=3).partial_fit(MATRIX),
        "DCoTVectorizer": vectorizer,
        "characters": DCoTVectorizer(n_prototypes=9, analyzer="char_wb", ngram_range=(1, 3)).fit(
            TEXTS
        ),
        "DCoTClassifier": DCoTClassifier(selection="none", random_state=0).fit(TEXTS, LABELS),
        "words": DCoTClassifier(embedding=WORD_VECTORS, random_state=0).fit(TEXTS, LABELS),
        "encoder": DCoTClassifier(embedding=_letters, random_state=0).fit(TEXTS, LABELS),
        "matrix": DCoTClassifier(selection="none", random_state=0).fit(
            MATRIX, ["a", "b", "a"] + [None] * 27
        ),
        "SearchIndex": index,
        "features": SearchIndex().add(MATRIX),
        "index with words": SearchIndex(embedding=WORD_VECTORS).add(TEXTS),
        "index with encoder": SearchIndex(embedding=_letters).add(TEXTS),
    }


def _letters(texts: list[str]) -> np.ndarray:
    """An encoder."""
    return np.array([[text.count("o"), text.count("w"), len(text)] for text in texts], float)


# -- changes ------------------------------------------------------------------------------------


def mutate(folder: Path, rng: random.Random) -> str:
    """Change a folder in one to three places; what was done."""
    done = []
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        has_words = any(folder.glob("vocabulary-*"))
        what = rng.choice(["settings"] * 3 + ["arrays"] * 4 + ["vocabulary"] * has_words)
        done.append(f"{what}: {CHANGES[what](folder, rng)}")
    return "; ".join(done)


def _change_settings(folder: Path, rng: random.Random) -> str:
    settings = json.loads(part(folder, "settings").read_bytes())
    place = rng.choice([place for place in places(settings) if place] or [("x",)])
    target = settings
    for step in place[:-1]:
        target = target[step]
    what = rng.choice(["replace"] * 6 + ["delete", "copy"])
    if what == "delete":
        del target[place[-1]]
    elif what == "copy":
        other = rng.choice(list(places(settings)))
        value: Any = settings
        for step in other:
            value = value[step]
        target[place[-1]] = json.loads(json.dumps(value))
    else:
        target[place[-1]] = rng.choice(VALUES)
    forge(folder, settings=json.dumps(settings).encode())
    return f"{what} {place} {'' if what == 'delete' else repr(target[place[-1]])[:80]}"


def places(tree: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every value of a JSON document."""
    yield path
    items = tree.items() if isinstance(tree, dict) else enumerate(tree)
    for key, value in items:
        if isinstance(value, dict | list):
            yield from places(value, (*path, key))
        else:
            yield (*path, key)


def _change_vocabulary(folder: Path, rng: random.Random) -> str:
    terms = json.loads(part(folder, "vocabulary").read_bytes())
    what = rng.choice(["replace", "replace", "drop", "add", "shuffle", "other", "empty"])
    if what == "empty" or not terms:
        terms = []
    elif what == "drop":
        terms.pop(rng.randrange(len(terms)))
    elif what == "add":
        terms.insert(rng.randrange(len(terms)), rng.choice(TERMS))
    elif what == "shuffle":
        rng.shuffle(terms)
    elif what == "replace":
        terms[rng.randrange(len(terms))] = rng.choice(TERMS)
    else:
        terms[rng.randrange(len(terms))] = rng.choice(VALUES)
    forge(folder, vocabulary=terms)
    return what


def _change_arrays(folder: Path, rng: random.Random) -> str:
    path = part(folder, "arrays")
    views = tensors.views(path.read_bytes(), path)
    arrays = {name: np.array(array) for name, array in views.items()}
    if not arrays:
        return "nothing"
    name = rng.choice(sorted(arrays))
    array = arrays[name]
    what = rng.choice([*["entry"] * 6, "fill", "wrap", *ARRAY_CHANGES])
    if what in ("entry", "fill", "wrap"):
        if not array.size:
            return "nothing"
        _set_entries(array, what, rng)
    elif what == "remove":
        del arrays[name]
    elif what == "more":
        arrays["more"] = array
    elif what == "swap":
        other = rng.choice(sorted(arrays))
        arrays[name], arrays[other] = arrays[other], array
        what = f"swap with {other}"
    else:
        with np.errstate(all="ignore"):
            arrays[name] = np.ascontiguousarray(ARRAY_CHANGES[what](array))
    forge(folder, arrays=arrays)
    return f"{what} {name}"


def _set_entries(array: np.ndarray, what: str, rng: random.Random) -> None:
    flat = array.reshape(-1)
    with np.errstate(all="ignore"):
        value = {
            "i": lambda: rng.choice([*INTEGERS, len(flat)]),
            "f": lambda: np.float64(rng.choice(FLOATS)).astype(array.dtype),
            "u": lambda: rng.randrange(256),
            "b": lambda: rng.random() < 0.5,
        }[array.dtype.kind]
        if what == "fill":
            flat[:] = _fitting(value(), array)
        elif what == "wrap" and array.dtype == np.int64 and len(flat) > 3:
            flat[1:4] = [2**63 - 1, -(2**63), -1]  # differences of these overflow
        else:
            for _ in range(rng.choice([1, 1, 4])):
                flat[rng.randrange(len(flat))] = _fitting(value(), array)


def _fitting(value: Any, array: np.ndarray) -> Any:
    if array.dtype.kind != "i":
        return value
    limits = np.iinfo(array.dtype)
    return min(max(value, limits.min), limits.max)


ARRAY_CHANGES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "shorter": lambda a: a[:-1],
    "longer": lambda a: np.concatenate([a, a[-1:]]),
    "narrower": lambda a: a[..., :-1],
    "transposed": lambda a: a.T,
    "flat": lambda a: a.reshape(-1),
    "column": lambda a: a.reshape(-1, 1),
    "none": lambda a: a[:0],
    "reversed": lambda a: a[::-1],
    "float64": lambda a: a.astype(np.float64),
    "float32": lambda a: a.astype(np.float32),
    "float16": lambda a: a.astype(np.float16),
    "int32": lambda a: a.astype(np.int32),
    "int64": lambda a: a.astype(np.int64),
    "int8": lambda a: a.astype(np.int8),
    "bytes": lambda a: a.astype(np.uint8),
    "bool": lambda a: a.astype(bool),
    "remove": lambda a: a,
    "more": lambda a: a,
    "swap": lambda a: a,
}
CHANGES = {
    "settings": _change_settings,
    "vocabulary": _change_vocabulary,
    "arrays": _change_arrays,
}


# -- use ----------------------------------------------------------------------------------------


def use(model: Any, folder: Path) -> Iterator[Callable[[], Any]]:
    """Everything that one does with a loaded model, step by step."""
    text = isinstance(model, DCoTVectorizer) or (
        isinstance(model, DCoTClassifier) and model.vectorizer_ is not None
    )
    documents: Any = TEXTS if text else MATRIX
    yield lambda: repr(model)
    if isinstance(model, SearchIndex):
        embedding = model._snapshot.embedding
        if embedding is not None and embedding.kind == "encoder":
            yield lambda: model._attach_encoder(_letters)
        yield from _use_index(model)
    else:
        word = "oil" if text else 1
        yield lambda: model.similar_terms(word)
        yield lambda: model.cohort(int(model.prototypes_[0]))
        yield lambda: str(model.similar_terms(2, layer=1))
    if isinstance(model, DCoTClassifier):
        if model._learned.embedding is not None and model._learned.embedding.kind == "encoder":
            yield lambda: model._attach_encoder(_letters)
        yield lambda: model.predict(documents)
        yield lambda: model.predict(documents, abstain=0.6)
        yield lambda: model.predict_sets(documents)
        yield lambda: model.predict_proba(documents)
        yield lambda: str(model.explain(TEXTS[0] if text else MATRIX[:1]))
        yield lambda: model.meaning(TEXTS[0] if text else MATRIX[0])
        yield model.summary
        yield model.report
        yield lambda: model.score(documents, ["oil"] * len(documents))
        yield lambda: model.refit(documents, ["oil", "grain"] + [None] * (len(documents) - 2))
    elif not isinstance(model, SearchIndex):
        yield lambda: model.transform(documents)
        yield lambda: model.reconstruct(documents)
        yield model.get_feature_names_out
        yield lambda: str(model.explain(TEXTS[0] if text else MATRIX[0]))
        yield lambda: model.loss_
        if hasattr(model, "partial_fit") and not text:
            yield lambda: model.partial_fit(documents)
            yield lambda: model.transform(documents)
    yield lambda: model.save(folder / "again")
    yield lambda: dcot.load(folder / "again")


def _use_index(index: SearchIndex) -> Iterator[Callable[[], Any]]:
    features = index._snapshot.is_text is False
    queries: Any = MATRIX[:3] if features else ["opec oil", "wheat", "gold", "nothing"]
    for hybrid in (None,) if features else (None, False, 0, 0.3):
        yield lambda hybrid=hybrid: str(index.search(queries, k=4, hybrid=hybrid))
    yield lambda: any(index.metadata) and index.search(queries, where={"n": 1}).to_frame()
    yield lambda: index.search(queries, where=lambda entry: entry.get("n", 0) > 1)
    yield lambda: index.similar(2)
    yield lambda: index.ids
    yield lambda: index.metadata
    yield lambda: "g" in index
    yield lambda: index.remove([1, 2])
    yield lambda: index.add(MATRIX[:2] if features else ["zeppelin over rio", "oil"])
    yield lambda: index.search(queries, k=50)


def attempt(kind: str, whole: dict[str, bytes], seed: int, folder: Path) -> str | None:
    """Mutate, load and use a folder; what went wrong, if anything did."""
    rng = random.Random(f"{kind}-{seed}")
    for path in folder.iterdir():
        if path.is_file():
            path.unlink()
    for name, data in whole.items():
        (folder / name).write_bytes(data)
    done = mutate(folder, rng)
    mmap = rng.random() < 0.4
    where = f"{kind} {seed} mmap={mmap} ({done})"
    if __name__ == "__main__":
        print(where, flush=True)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            model = dcot.load(folder, mmap=mmap)
        except dcot.DcotError:
            return None
        except Exception:
            return f"load of {where}\n{traceback.format_exc(limit=-6)}"
        for number, step in enumerate(use(model, folder.parent)):
            try:
                step()
            except dcot.DcotError:
                continue
            except Exception:
                return f"step {number} of {where}\n{traceback.format_exc(limit=-8)}"
    return None


def main(kinds: str, first: str, last: str) -> None:
    models = originals()
    for kind in models if kinds == "all" else kinds.split(","):
        with tempfile.TemporaryDirectory() as root:
            folder = Path(root) / "model"
            models[kind].save(folder, keep_moments=kind == "moments")
            whole = contents_of(folder)
            for seed in range(int(first), int(last)):
                if found := attempt(kind, whole, seed, folder):
                    print("FOUND", found, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
