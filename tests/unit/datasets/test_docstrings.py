"""The embedded corpus: large, the same each time, and not naming its own labels."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from dcot.datasets import Corpus, _docstring_sources, _docstrings, load_docstrings
from dcot.datasets._docstring_text import Cleaner
from dcot.errors import DatasetError


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return load_docstrings()


def test_size(corpus: Corpus) -> None:
    assert corpus.n_documents > 3000
    assert len(corpus.target_names) >= 25
    assert {"asyncio", "email", "numpy.ma", "scipy.stats", "sklearn.metrics"} <= set(
        corpus.target_names
    )
    assert min(Counter(corpus.labels.tolist()).values()) >= 40
    assert all(len(text.split()) >= 10 for text in corpus.documents())


def test_split(corpus: Corpus) -> None:
    assert sorted([*corpus.train, *corpus.test]) == list(range(corpus.n_documents))
    assert 0.25 < len(corpus.test) / corpus.n_documents < 0.35
    assert min(Counter(corpus.train_labels.tolist()).values()) >= 10
    assert set(corpus.test_labels) == set(corpus.train_labels)


def test_the_same_in_another_process_that_imports_prints_and_warns_nothing(
    corpus: Corpus,
) -> None:
    code = (
        "import sys, hashlib; from dcot.datasets import load_docstrings; c = load_docstrings();"
        "assert not {'scipy', 'sklearn', 'tkinter', 'asyncio'} & sys.modules.keys();"
        "text = repr((c.texts, c.labels.tolist(), c.train.tolist()));"
        "print(hashlib.sha256(text.encode()).hexdigest())"
    )
    command = [sys.executable, "-W", "error", "-c", code]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    text = repr((corpus.texts, corpus.labels.tolist(), corpus.train.tolist()))
    assert run.stdout.strip() == hashlib.sha256(text.encode()).hexdigest()
    assert run.stderr == ""


def test_no_text_twice(corpus: Corpus) -> None:
    assert len(set(corpus.documents())) == corpus.n_documents


def test_no_document_names_its_label(corpus: Corpus) -> None:
    for text, label in zip(corpus.documents(), corpus.labels.tolist(), strict=True):
        assert not re.search(rf"(?<![\w.]){re.escape(label)}\.\w", text), (label, text)
        assert "." not in label or label not in text, (label, text)


def test_no_package_names_code_or_addresses(corpus: Corpus) -> None:
    joined = "\n".join(corpus.documents())
    words = set(re.findall(r"[a-z0-9]+(?:_[a-z0-9]+)*", joined.lower()))
    assert not words & {"numpy", "scipy", "sklearn", "asyncio", "urllib", "linear_model"}
    assert ">>>" not in joined
    assert "https://" not in joined
    assert not re.search(r"%\(\w+\)s", joined)


@pytest.mark.parametrize(
    ("docstring", "text"),
    [
        ("Use scipy.stats.norm.pdf here.", "Use pdf here."),
        ("Part of `scipy.stats`.", "Part of"),
        ("See numpy.linalg and np.array now.", "See and array now."),
        (":func:`~scipy.stats.ttest` and :ref:`manual <stats_ref>`", "ttest and manual"),
        ("See :ref:`linalg_batch`. Then", "See . Then"),
        ("The email. Then other.thing stays.", "The email. Then other.thing stays."),
        ("Head.\n\n>>> x\n1\n2\n\nTail.", "Head. Tail."),
        ("Head.\n\nParameters\n----------\nx : int", "Head. x : int"),
        ("Head.\n\nReferences\n----------\n.. [1] A, B.\n   C.\n\nNotes\n-----\nN.", "Head. N."),
        ("Head.\n.. versionadded:: 1.2\nimport numpy as np\nfrom a import b\nTail", "Head. Tail"),
        ("%(before_notes)s\nNotes at https://example.org/x.", "Notes at"),
        ("linear_model, NumPy's and scikit-learn words", "'s and words"),
    ],
)
def test_cleaning(docstring: str, text: str) -> None:
    labels = ["scipy.stats", "numpy.linalg", "sklearn.linear_model", "email"]
    assert Cleaner(labels).clean(docstring) == text


SOURCE = '''
"""Module."""
def public(x):
    """Public function."""
    def inner():
        """Not public."""
def _private():
    """Not public."""
class Thing:
    """A thing."""
    async def method(self):
        """A method."""
class _Hidden:
    def method(self):
        """Not public."""
add_newdoc("module", "name", """Added.""")
add_newdoc("module", "Class", ("method", """Added method."""))
add_newdoc("module", "_private", """Not public.""")
other("module", "name", """Not a docstring.""")
'''


def test_public_docstrings_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text(SOURCE)
    assert dict(_docstring_sources._read(tmp_path / "module.py")) == {
        "public": "Public function.",
        "Thing": "A thing.",
        "Thing.method": "A method.",
        "module.name": "Added.",
        "module.Class.method": "Added method.",
    }


def test_files_that_cannot_be_parsed_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "template.py").write_text('"""{{ jinja }}"""\ndef {{ name }}(): pass')
    assert list(_docstring_sources._read(tmp_path / "template.py")) == []
    assert list(_docstring_sources._read(tmp_path / "missing.py")) == []


def test_tests_and_vendored_code_are_passed_over(tmp_path: Path) -> None:
    for name in ("a.py", "tests/b.py", "externals/c.py", "d/e.py", "conftest.py", "f.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    found = [path.name for path in _docstring_sources._python_files(tmp_path)]
    assert found == ["a.py", "e.py"]


def test_a_package_that_is_not_installed_has_no_docstrings() -> None:
    assert list(_docstring_sources.package_docstrings("dcot_no_such_package")) == []


def test_shared_texts_and_repeated_summaries() -> None:
    found = [
        ("a", "a.f", "Same text."),
        ("b", "b.f", "Same text."),
        ("a", "a.g", "Draw a sample. Old way"),
        ("a", "a.h", "Draw a sample. New way"),
        ("b", "b.h", "Draw a sample. Other"),
    ]
    assert [name for _, name, _ in _docstrings._distinct(found)] == ["a.g", "b.h"]


def test_without_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_docstrings, "standard_docstrings", lambda: iter(()))
    monkeypatch.setattr(_docstrings, "package_docstrings", lambda package: iter(()))
    with pytest.raises(DatasetError, match="fewer than two subpackages"):
        load_docstrings()
