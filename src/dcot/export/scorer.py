"""A dcot model that needs only NumPy. Keep this file next to ``weights.npz``.

    from scorer import Scorer

    model = Scorer()
    model.predict(["a text", "another"])  # labels
    model.predict_proba(["a text"])  # a column for each of model.classes
    model.transform(["a text"])  # features

A document can also be a mapping from terms to counts: ``model.transform([{"oil": 2}])``.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

_SPACES = re.compile(r"\s\s+")


class Scorer:
    """A model written by ``dcot.export.to_numpy``."""

    def __init__(self, path: str | Path | None = None) -> None:
        path = Path(__file__).with_name("weights.npz") if path is None else Path(path)
        with np.load(path, allow_pickle=False) as file:
            self.arrays = {name: file[name] for name in file.files}
        self.settings = json.loads(self.arrays.pop("settings").tobytes())
        self.columns = {term: column for column, term in enumerate(self.settings["terms"])}
        self.stop_words = set(self.settings["analysis"]["stop_words"])
        classifier = self.settings["classifier"]
        self.classes: list[Any] = [] if classifier is None else classifier["classes"]

    def transform(self, documents: Iterable[str | Mapping[str, float]]) -> Any:
        """Return the features of documents, one row for each."""
        found = [self._features(*self._weighted(document)) for document in _several(documents)]
        return np.array(found)

    def predict_proba(self, documents: Iterable[str | Mapping[str, float]]) -> Any:
        """Return the probabilities of documents, one column for each of ``classes``."""
        return np.array([self._probabilities(document) for document in _several(documents)])

    def predict(self, documents: Iterable[str | Mapping[str, float]]) -> Any:
        """Return the most probable class of each document; for several labels, all above 0.5.

        Several labels have the form they had in ``fit``: tuples, or rows of zeros and ones.
        """
        found = [self._probabilities(document) for document in _several(documents)]
        if self.settings["classifier"]["exclusive"]:
            return [self.classes[int(row.argmax())] for row in found]
        if self.settings["classifier"]["indicator"]:
            return np.array([row > 0.5 for row in found], dtype=int).reshape(-1, len(self.classes))
        return [tuple(self.classes[k] for k in np.flatnonzero(row > 0.5)) for row in found]

    # -- texts ----------------------------------------------------------------------------------

    def terms(self, text: str) -> list[str]:
        """Return the terms of a text, including terms that the model does not know."""
        how = self.settings["analysis"]
        if how["refused"]:
            raise ValueError(f"texts cannot be counted here: {how['refused']}; pass counts")
        text = text.lower() if how["lowercase"] else text
        if how["strip_accents"] and not text.isascii():
            text = unicodedata.normalize("NFKD", text)
            if how["strip_accents"] == "ascii":
                text = text.encode("ascii", "ignore").decode()
            else:
                text = "".join(char for char in text if not unicodedata.combining(char))
        low, high = how["ngram_range"]
        if how["analyzer"] == "char":
            return _grams(_SPACES.sub(" ", text), low, high)
        if how["analyzer"] == "char_wb":
            words = [f" {word} " for word in _SPACES.sub(" ", text).split()]
            return list(chain.from_iterable(_padded_grams(word, low, high) for word in words))
        words = re.findall(how["token_pattern"], text)
        words = [word for word in words if word not in self.stop_words]
        return [" ".join(gram) for n in range(low, high + 1) for gram in _windows(words, n)]

    def _weighted(self, document: str | Mapping[str, float]) -> tuple[Any, Any]:
        """Return the columns of the known terms of a document, and their weights."""
        counts = Counter(self.terms(document)) if isinstance(document, str) else document
        known = {self.columns[term]: n for term, n in counts.items() if n and term in self.columns}
        columns = np.array(sorted(known), dtype=np.intp)
        tf = np.array([known[column] for column in columns], dtype=np.float64)
        how, scheme = self.settings["weighting"], self.settings["weighting"]["scheme"]
        if self.settings["analysis"]["binary"] or scheme == "binary":
            tf = np.ones_like(tf)
        x = tf
        if scheme == "bm25":
            relative = tf.sum() / how["mean_length"] if how["mean_length"] > 0 else 1.0
            x = tf * (how["k1"] + 1) / (tf + how["k1"] * (1 - how["b"] + how["b"] * relative))
        elif scheme == "log" or (scheme == "tfidf" and how["sublinear_tf"]):
            x = 1 + np.log(tf)
        if scheme == "bm25" or (scheme == "tfidf" and how["use_idf"]):
            x = x * self.arrays["idf"][columns]
        if how["norm"] is not None:
            x = x * _inverse(np.abs(x).sum() if how["norm"] == "l1" else np.sqrt(x @ x))
        return columns, x

    # -- features and probabilities -------------------------------------------------------------

    def _features(self, columns: Any, x: Any) -> Any:
        arrays, settings = self.arrays, self.settings
        normalize, last = settings["normalize"], len(settings["layers"]) - 1
        parts, shared = [], None
        inputs = []
        if settings["output"] in ("concat", "all"):
            words = np.zeros(len(self.columns))
            words[columns] = x
            inputs.append((words, 1.0))
        if settings["output"] in ("lsi", "all"):
            inputs.append((x @ arrays["directions"][columns], settings["lsi_weight"]))
        for values, weight in inputs:
            scale = _inverse(np.sqrt(values @ values)) if normalize in ("unit", "shared") else 1.0
            parts.append(values * (scale * weight))
        z = x
        for k, layer in enumerate(settings["layers"]):
            coef = arrays[f"coef{k}"]
            z = z @ (coef[columns] if k == 0 else coef) + arrays[f"intercept{k}"]
            z = np.tanh(z) if layer["squash"] == "tanh" else z
            block = z - arrays[f"mean{k}"] if f"mean{k}" in arrays else z
            if normalize == "unit":
                block = block * _inverse(np.sqrt(block @ block))
            if normalize == "shared":
                shared = _inverse(np.sqrt(block @ block)) if shared is None else shared
                block = block * (shared * layer["scale"])
            if settings["output"] != "last" or k == last:
                parts.append(block)
        features = np.concatenate(parts)
        return features @ arrays["components"] if "components" in arrays else features

    def _probabilities(self, document: str | Mapping[str, float]) -> Any:
        settings, arrays = self.settings["classifier"], self.arrays
        if settings is None:
            raise ValueError("this model computes features, not classes: use transform")
        columns, x = self._weighted(document)
        features = self._features(columns, x)
        if "vectors" in arrays:
            vector = x @ arrays["vectors"][columns]
            centred = vector - arrays["vectors_mean"]
            scale = np.sqrt(settings["vectors_weight"]) * _inverse(np.sqrt(centred @ centred))
            features = np.concatenate([features, centred * (scale if vector.any() else 0.0)])
        scaled = (features @ arrays["weights"] + arrays["bias"]) * settings["temperature"]
        if not settings["exclusive"]:
            return 1 / (1 + np.exp(-np.clip(2 * scaled, -700, 700)))
        shares = np.exp(scaled - scaled.max())
        return shares / shares.sum()


def _several(documents: Any) -> Any:
    if isinstance(documents, str):
        raise ValueError("expected a list of documents, got one text: put it in a list")
    return documents


def _inverse(length: Any) -> float:
    return 1 / float(length) if length > 0 else 0.0


def _windows(items: Any, n: int) -> list[Any]:
    return [items[i : i + n] for i in range(len(items) - n + 1)]


def _grams(text: str, low: int, high: int) -> list[str]:
    return [gram for n in range(low, high + 1) for gram in _windows(text, n)]


def _padded_grams(word: str, low: int, high: int) -> list[str]:
    """Return character n-grams of a padded word; a word of at most n characters is one n-gram."""
    grams: list[str] = []
    for n in range(low, high + 1):
        if n >= len(word):
            return [*grams, word]
        grams += _windows(word, n)
    return grams
