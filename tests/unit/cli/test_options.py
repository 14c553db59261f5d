"""Options are written out; names, types and defaults agree with the estimators."""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Literal, get_args, get_origin

import pytest
import typer
from tests.unit.cli.running import run

from dcot import DCoT, DCoTClassifier, DCoTVectorizer
from dcot.classifier.selection import GRID, candidates_for
from dcot.cli import bench, fit, options, train
from dcot.cli.app import application
from dcot.cli.session import Session
from dcot.text import TermCounter, TermWeighting

# Parameters that are not for a command line: set by other options (--seed, --threads), functions
# and mappings, or matters of partial_fit only.
NOT_OPTIONS = {
    "dtype",
    "grid",
    "grow_vocabulary",
    "n_jobs",
    "n_threads",
    "random_state",
    "unlabelled_label",
    "vectorizer",
    "verbose",
    "vocabulary",
}
PARTS = {
    TermCounter: options.Counting,
    TermWeighting: options.Weighting,
    DCoT: fit.DcotOptions,
    DCoTClassifier: train.ClassifierOptions,
}


def parameters(function):
    """Those of a class, or the options of a command, with those of its groups."""
    found = function if isinstance(function, type) else options.with_groups(function)
    return dict(inspect.signature(found, eval_str=True).parameters)


def names(cls):
    renamed = {"scheme": "weighting"}
    return {renamed.get(name, name) for name in parameters(cls)} - NOT_OPTIONS


@pytest.mark.parametrize("cls", PARTS)
def test_every_parameter_of_an_estimator_is_an_option_of_its_group(cls):
    renamed = {"features": "output"}
    assert {renamed.get(name, name) for name in parameters(PARTS[cls])} == names(cls)


def test_fit_and_train_have_these_groups():
    vectorizer = {*parameters(options.Counting), *parameters(options.Weighting)}
    assert vectorizer | {*parameters(fit.DcotOptions)} <= set(parameters(fit.fit))
    assert {*parameters(train.Candidates), "embedding"} == set(GRID)  # its weight has no option
    used = vectorizer | {*GRID, *parameters(train.ClassifierOptions)}
    assert used <= set(parameters(train.train))
    assert "n_layers" not in parameters(train.train)  # chosen with the features


def parsed(command, *arguments):
    """A reader of the groups that a command line gives."""
    found = typer.main.get_command(application()).commands[command]
    values = found.make_context(command, list(arguments)).params
    return lambda *kinds: [options.group_of(kind, values) for kind in kinds]


def test_the_defaults_of_fit_are_those_of_the_vectorizer():
    groups = parsed("fit", "news.txt", "-o", "m")
    made = fit.vectorizer(*groups(options.Counting, options.Weighting, fit.DcotOptions), Session())
    assert plain(made.get_params()) == plain(DCoTVectorizer(random_state=0).get_params())


def plain(params):
    """Parameters as text, without the parts that they belong to."""
    values = {name: value for name, value in params.items() if name.rpartition("__")[2] not in (
        "counter", "weighting", "dcot", "vectorizer",
    )}  # fmt: skip
    return {name: str(value) for name, value in values.items()}


def test_the_defaults_of_train_are_those_of_the_classifier():
    groups = parsed("train", "news.csv", "-o", "m")(
        train.Candidates, train.ClassifierOptions, options.Counting, options.Weighting
    )
    made = train.classifier(*groups, Session())
    expected = DCoTClassifier(vectorizer=DCoTVectorizer(), random_state=0).get_params()
    assert plain(made.get_params()) == plain(expected)


@pytest.mark.parametrize("name", bench.EXAMPLES)
def test_the_defaults_of_the_experiments_are_those_of_their_functions(name):
    theirs = inspect.signature(import_module(f"dcot.bench.{name}").run).parameters
    renamed = {"output": "out", "word": "words", "system": "systems"}
    if name == "defaults":
        renamed = {"only": "studies", "corpus": "corpora"}
    for option, found in parameters(getattr(bench, name)).items():
        if option not in {*parameters(Session), "dry_run"}:
            expected = theirs[renamed.get(option, option)].default
            assert found.default in (None, expected), option  # None leaves it to the function


@pytest.mark.parametrize("name", [name for name in GRID if name != "embedding"])
def test_candidates_that_help_shows_are_those_of_the_classifier(name):
    shown = information(parameters(train.train)[name]).show_default
    read = options.names(shown) if name == "features" else options.numbers()(shown)
    tried = [getattr(candidate, name) for candidate in candidates_for(DCoT())]
    assert read == tuple(dict.fromkeys(tried))


CHOICES = [(fit.fit, DCoT, name) for name in ("squash", "output", "normalize", "solver")] + [
    (train.train, DCoTClassifier, "selection")
]


@pytest.mark.parametrize(
    ("command", "cls", "name"), CHOICES, ids=lambda one: getattr(one, "__name__", one)
)
def test_choices_are_those_of_the_estimator(command, cls, name):
    option = parameters(command)["features" if name == "output" else name]
    offered = set(get_args(option.annotation.__origin__)) - {"none"}
    assert offered == literals(parameters(cls)[name].annotation) - {"none"}


def literals(annotation):
    """All values of the Literals in a type."""
    if get_origin(annotation) is Literal:
        return set(get_args(annotation))
    return set().union(*map(literals, get_args(annotation)))


def information(parameter):
    return parameter.annotation.__metadata__[0]


ALL = {
    f"{command.__module__.rpartition('.')[2]} {name}": parameter
    for command in (fit.fit, train.train)
    for name, parameter in parameters(command).items()
}


@pytest.mark.parametrize("parameter", ALL.values(), ids=ALL)
def test_help_and_choices(parameter):
    words = information(parameter).help
    assert 8 < len(words) < 200
    assert words.endswith(".")
    assert "``" not in words
    kinds = [parameter.annotation.__origin__, *get_args(parameter.annotation.__origin__)]
    for kind in kinds:
        if get_origin(kind) is Literal:
            assert information(parameter).metavar == "|".join(get_args(kind))


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
        "noise": 0.5, "shrinkage": 1.0, "n_prototypes": 4, "features": "layer 1", "embedding": 0.0,
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


@pytest.mark.parametrize(
    ("command", "option", "value"),
    [
        ("train", "--noise", "1.5"),
        ("train", "--noise", "-0.5"),
        ("train", "--noise", "0.5,1.0"),
        ("train", "--noise", "nan"),
        ("train", "--shrinkage", "-1"),
        ("train", "--n-prototypes", "-5"),
        ("train", "--n-prototypes", "0"),
        ("train", "--n-prototypes", "2.5"),
        ("fit", "--noise", "1"),
        ("fit", "--noise", "0.9,-0.1"),
        ("fit", "--shrinkage", "-1"),
        ("fit", "--n-prototypes", "0"),
        ("fit", "--n-layers", "0"),
        ("fit", "--ngram-range", "0,2"),
        ("fit", "--max-features", "0"),
    ],
)
def test_values_out_of_range(here, command, option, value):
    done = run(command, "news.csv", "--text", "body", "-o", "m", f"{option}={value}")
    assert (done.code, done.out) == (2, "")
    assert option in done.err
    assert not (here / "m").exists()


def test_an_option_that_is_given_twice(here):
    """Only the last value would be used."""
    done = run("train", "news.csv", "--label", "topic", "--label", "number", "-o", "m")
    assert done.code == 2
    assert "--label is given 2 times" in done.err


def test_several_columns_of_text_are_joined(here):
    (here / "two.csv").write_text("title,body\nopec,cut output\nnasdaq,fell\n")
    done = run("fit", "two.csv", "--text", "title", "--text", "body", "-o", "m", "--json")
    assert done.json["terms"] == 5
