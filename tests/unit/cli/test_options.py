"""Options come from the signatures: names, defaults and types agree with the real classes."""

from __future__ import annotations

import inspect

import pytest
from tests.unit.cli.running import run

from dcot import DCoTClassifier, DCoTVectorizer
from dcot.classifier.selection import GRID
from dcot.cli import settings
from dcot.cli.errors import as_options

NOT_OPTIONS = settings._NOT_OPTIONS


def information(option):
    return option.annotation.__metadata__[0]


def defaults(cls):
    found = inspect.signature(cls).parameters.values()
    return {parameter.name: parameter.default for parameter in found}


def test_every_parameter_of_the_vectorizer_is_an_option():
    names = [option.name for option in settings.vectorizer_options()]
    assert len(names) == len(set(names))
    assert set(names) == set(defaults(DCoTVectorizer)) - NOT_OPTIONS


def test_every_parameter_of_the_classifier_is_an_option():
    names = {option.name for option in settings.classifier_options()}
    assert set(defaults(DCoTClassifier)) - NOT_OPTIONS <= names
    assert set(GRID) <= names
    # what dCoT learns with is chosen from the grid
    assert "n_layers" not in names


@pytest.mark.parametrize("option", settings.vectorizer_options(), ids=lambda option: option.name)
def test_defaults_and_words(option):
    shown = information(option).show_default
    real = defaults(DCoTVectorizer)[option.name]
    if option.name != "token_pattern" and real is not None:
        assert shown == settings._shown(real)
    words = information(option).help
    assert 8 < len(words) < 200
    assert words.endswith(".")
    assert "``" not in words
    assert option.default is None


def test_the_grid_is_read_right():
    assert settings._grid() == GRID


def test_values_reach_the_estimator(here):
    done = run(
        "fit", "news.txt", "-o", "m", "--n-prototypes", 5, "--noise", "0.7", "--n-layers", 1,
        "--no-lowercase", "--ngram-range", "1,2", "--min-df", "2", "--stop-words", "on,a",
        "--weighting", "bm25", "--norm", "none", "--normalize", "none", "--features", "last",
        "--seed", 7,
    )  # fmt: skip
    assert done.code == 0, done.err
    found = run("info", "m", "--json").json["settings"]
    expected = {
        "n_prototypes": 5,
        "noise": 0.7,
        "n_layers": 1,
        "lowercase": False,
        "ngram_range": [1, 2],
        "min_df": 2,
        "stop_words": ["on", "a"],
        "weighting": "bm25",
        "norm": None,
        "normalize": None,
        "output": "last",
        "random_state": 7,
        "verbose": False,
    }
    assert {name: found[name] for name in expected} == expected
    assert isinstance(found["min_df"], int)


def test_grid_and_learner_reach_the_classifier(here):
    done = run(
        "train", "news.csv", "--text", "body", "--label", "topic", "-o", "m", "--noise", "0.5",
        "--n-prototypes", "4,6", "--features", "layer 1", "--selection", "none",
        "--class-weight", "balanced", "--stop-words", "english", "--json",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert done.json["setting"] == {
        "noise": 0.5, "shrinkage": 1.0, "n_prototypes": 4, "features": "layer 1",
    }  # fmt: skip
    assert done.json["settings_tried"] == 1
    found = run("info", "m", "--json").json["settings"]
    assert (found["selection"], found["class_weight"]) == ("none", "balanced")


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--noise", "much", "'much' is not a number"),
        ("--ngram-range", "1,2,3", "one or two numbers"),
        ("--n-prototypes", "many", "integer"),
        ("--solver", "magic", "magic"),
        ("--no-such-thing", "1", "--no-such-thing"),
    ],
)
def test_values_that_are_none(here, option, value, words):
    done = run("fit", "news.txt", "-o", "m", option, value)
    assert done.code == 2
    assert words in done.err
    assert "dcot fit --help" in done.err
    assert len(done.err.splitlines()) == 2


def test_messages_speak_of_options():
    assert as_options("noise must be in [0, 1)") == "--noise must be in [0, 1)"
    assert as_options("pass errors='replace'") == "pass --errors replace"
    assert as_options("as in column='the text'") == "as in --text 'the text'"
    assert as_options("raise max_iter or noise") == "raise --max-iter or noise"
    assert as_options("a noisy output") == "a noisy output"
