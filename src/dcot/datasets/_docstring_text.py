"""From a docstring to running text: without code, markup and the name of its own package.

A document must not give its label away by naming it. Doctests, imports, addresses, references,
markup and numpydoc headings go; ``scipy.stats.norm`` becomes ``norm``; names that are nothing but
names of packages (``numpy``, ``asyncio``, ``linear_model``) go entirely. Package names that are
English words (``signal``, ``email``, ``cluster``) stay where they stand as words: they are the
subject.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable

__all__ = ["Cleaner"]

# Whole lines. A doctest ends at the first blank line, its output included.
_LINES = (
    re.compile(
        r"^[ \t]*References[ \t]*\n[ \t]*-{3,}[ \t]*(?:\n(?!.*\n[ \t]*-{3,}[ \t]*$).*)*",
        re.MULTILINE,
    ),
    re.compile(r"^[ \t]*>>>.*(?:\n(?![ \t]*$).*)*", re.MULTILINE),
    re.compile(r"^.*\n[ \t]*[-=~]{3,}[ \t]*$", re.MULTILINE),  # a heading and its rule
    re.compile(r"^[ \t]*\.\. .*$", re.MULTILINE),
    re.compile(r"^[ \t]*(?:from[ \t]+[\w.]+[ \t]+)?import[ \t]+\w[\w., *()]*$", re.MULTILINE),
)
_ANCHOR = re.compile(r":ref:`[^`<]*`")  # the name of a place in the manual, not text
_ROLE = re.compile(r":[a-z:]+:`~?([^`<]*)(?:<[^`]*>)?`")
_TEMPLATE = re.compile(r"%\(\w+\)[sd]")

# Inside a word, which here is whatever stands between blanks.
_ADDRESS = re.compile(r"(?:https?://|ftp://|doi:).*", re.IGNORECASE)
_DOTTED = re.compile(r"(?<![\w.])[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
_RULE = re.compile(r"[-=~+|_*^.]{3,}")

# Other names under which the packages appear.
_ALIASES = frozenset({"np", "sp", "scikit", "scikit-learn", "scikits"})
# Names of packages that are no words of English; those with an underscore are added by rule.
_MERE_NAMES = frozenset(
    {"asyncio", "fftpack", "importlib", "ipaddress", "linalg", "ma", "multiprocessing", "ndimage"}
    | {"numpy", "pathlib", "scipy", "sklearn", "unittest", "urllib"}
)


class Cleaner(dict[str, str]):
    """Turns docstrings into texts, for a corpus with these labels.

    It is a dictionary from words as written to words as kept, filled as words are met: there
    are fifty times more words than different ones.

    >>> clean = Cleaner(["scipy.stats", "sklearn.linear_model"]).clean
    >>> clean("Fit as `scipy.stats.norm.fit` of scipy.stats does.\\n\\n>>> f(1)\\n2\\n\\nMore.")
    'Fit as `fit` of does. More.'
    """

    def __init__(self, labels: Iterable[str]) -> None:
        super().__init__()
        labels = list(labels)
        self._roots = {label.split(".")[0] for label in labels} | _ALIASES
        self._parts = {part for label in labels for part in label.split(".")}
        mere = {part for part in self._parts if part in _MERE_NAMES or "_" in part} | _ALIASES
        names = "|".join(map(re.escape, sorted(mere, reverse=True)))  # longest first
        self._mere = re.compile(rf"(?<![^\W_])(?:{names})(?![^\W_])", re.IGNORECASE)

    def clean(self, docstring: str) -> str:
        """The text of one docstring."""
        text = inspect.cleandoc(docstring)
        for pattern in _LINES:
            text = pattern.sub(" ", text)
        text = _ROLE.sub(r"\1", _ANCHOR.sub(" ", _TEMPLATE.sub(" ", text)))
        return " ".join(filter(None, map(self.__getitem__, text.split())))

    def __missing__(self, word: str) -> str:
        kept = _DOTTED.sub(self._shorten, _RULE.sub("", _ADDRESS.sub("", word)))
        kept = self._mere.sub("", kept)
        self[word] = kept if kept == word or any(map(str.isalnum, kept)) else ""
        return self[word]

    def _shorten(self, match: re.Match[str]) -> str:
        names = match.group().split(".")
        if names[0] not in self._roots:
            return match.group()
        return "" if names[-1] in self._parts else names[-1]
