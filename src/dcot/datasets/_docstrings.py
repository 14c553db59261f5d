"""The embedded corpus: docstrings of installed packages, real text that is on every machine."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator

import numpy as np

from dcot.datasets._corpus import Corpus
from dcot.datasets._docstring_sources import (
    Docstring,
    package_docstrings,
    quiet,
    standard_docstrings,
)
from dcot.datasets._docstring_text import Cleaner
from dcot.errors import DatasetError

__all__ = ["load_docstrings"]

_PACKAGES = ("numpy", "scipy", "sklearn")
_MIN_WORDS = 10
_TEST_SHARE = 0.3


def load_docstrings(min_class_size: int = 40) -> Corpus:
    """Docstrings of the standard library, NumPy, SciPy and scikit-learn, by subpackage.

    Some 5000 public docstrings of at least ten words in some 40 classes such as ``"email"``,
    ``"numpy.ma"`` or ``"scipy.stats"``. They are read from the installed sources: nothing is
    downloaded and nothing is imported. The corpus is the same each time, and changes a little
    with the installed versions.

    Code, markup and package names are removed, so that a document does not name its own label.
    Texts that occur under several labels are left out; of texts of a class with the same first
    sentence one is kept. About 30 % are test documents, chosen by a hash of the object's name.

    Parameters
    ----------
    min_class_size : int
        Subpackages with fewer documents are left out.
    """
    found = _distinct(list(_all_docstrings(min_class_size)))
    sizes = Counter(label for label, _, _ in found)
    kept = sorted(item for item in found if sizes[item[0]] >= min_class_size)
    if len({label for label, _, _ in kept}) < 2:
        raise DatasetError(
            f"fewer than two subpackages have {min_class_size} docstrings: expected the sources "
            "(.py files) of NumPy, SciPy and scikit-learn to be installed; reinstall them, or "
            "lower min_class_size"
        )
    is_test = np.array([_is_test(name) for _, name, _ in kept])
    return Corpus(
        name="docstrings",
        texts=[text for _, _, text in kept],
        labels=np.array([label for label, _, _ in kept]),
        train=np.flatnonzero(~is_test),
        test=np.flatnonzero(is_test),
        licence="PSF-2.0 (Python), BSD-3-Clause (NumPy, SciPy, scikit-learn)",
        citation="The authors of Python, NumPy, SciPy and scikit-learn.",
        description="Public docstrings of the installed standard library, NumPy, SciPy and "
        "scikit-learn, labelled by subpackage, without code and package names. It depends a "
        "little on the installed versions.",
    )


def _all_docstrings(min_class_size: int) -> Iterator[Docstring]:
    """Cleaned docstrings of the labels that have enough of them to begin with."""
    with quiet():
        found = list(standard_docstrings()) + list(_numpy_random())
        for package in _PACKAGES:
            found += package_docstrings(package)
    sizes = Counter(label for label, _, _ in found)
    clean = Cleaner(sizes).clean
    for label, name, docstring in found:
        if sizes[label] < min_class_size:
            continue
        text = clean(docstring)
        if len(text.split()) >= _MIN_WORDS:
            yield label, name, text


def _numpy_random() -> Iterator[Docstring]:
    """``numpy.random`` is compiled and its sources are not installed; dcot has it loaded anyway."""
    for owner in (np.random.Generator, np.random.RandomState, np.random):
        prefix = "" if owner is np.random else f"{owner.__name__}."
        for name in sorted(vars(owner)):
            text = getattr(getattr(owner, name), "__doc__", None)
            if text and not name.startswith("_") and callable(getattr(owner, name)):
                yield "numpy.random", f"numpy.random.{prefix}{name}", text


def _distinct(found: list[Docstring]) -> list[Docstring]:
    """One of each text, and none of those that two labels share: they cannot be told apart."""
    labels = defaultdict(set)
    for label, _, text in found:
        labels[text].add(label)
    first: dict[tuple[str, str], Docstring] = {}
    for label, name, text in found:
        if len(labels[text]) == 1:
            summary = text.split(". ")[0]
            first.setdefault((label, summary), (label, name, text))
    return list(first.values())


def _is_test(name: str) -> bool:
    return hashlib.sha256(name.encode()).digest()[0] < 256 * _TEST_SHARE
