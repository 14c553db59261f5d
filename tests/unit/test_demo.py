"""The demo on a small corpus, and its figures."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest

from dcot.bench import demo
from dcot.datasets import Corpus, load_everyday
from dcot.plots import accuracy_bars, word_columns

mpl.use("agg")


@pytest.fixture(scope="module")
def found():
    full = load_everyday()
    kept = np.flatnonzero(np.isin(full.labels, ["chess", "cooking", "law", "weather"]))
    is_test = np.isin(kept, full.test)
    corpus = Corpus(
        name="four topics",
        texts=[full.texts[row] for row in kept],
        labels=full.labels[kept],
        train=np.flatnonzero(~is_test),
        test=np.flatnonzero(is_test),
    )
    return demo.run(corpus, words=("stalemate", "nosuchword"), draws=2)


def test_every_system_learns_something(found):
    assert list(found.accuracies) == ["bag of words", "TF-IDF", "LSI", "dCoT"]
    for values in found.accuracies.values():
        assert len(values) == 2
        assert min(values) > 0.5


def test_words_mean_what_they_should(found):
    assert list(found.columns) == ["(empty)", "stalemate"]
    names = [name for name, _ in found.columns["stalemate"]]
    assert {"queen", "rook", "pawn", "king"} & set(names)
    values = [value for _, value in found.columns["stalemate"]]
    assert values == sorted(values, reverse=True)


def test_picture(found, tmp_path):
    figure = demo.picture(found)
    figure.savefig(tmp_path / "demo.png")
    assert (tmp_path / "demo.png").stat().st_size > 10_000


def test_figures_stand_alone():
    bars = accuracy_bars({"LSI": [0.5, 0.6], "dCoT": [0.7, 0.8]}, title="few labels")
    assert [label.get_text() for label in bars.axes[0].get_yticklabels()] == ["LSI", "dCoT"]
    words = word_columns({"nasdaq": [("stock", 0.4), ("market", 0.2)]})
    texts = [text.get_text() for text in words.axes[0].texts]
    assert texts == ["nasdaq", "stock", "market"]
