"""Any object as any parameter: an error of ours, or it works."""

from __future__ import annotations

import inspect
from contextlib import suppress
from fractions import Fraction

import numpy as np
import pytest

from dcot import (
    DCoT,
    DCoTClassifier,
    DcotError,
    DCoTVectorizer,
    InvalidParameterError,
    SearchIndex,
    distributed,
    load,
)
from dcot.text import TermCounter, TermWeighting

TEXTS = ["crude oil", "opec oil output", "wheat harvest", "corn and wheat", "opec", "corn"]
LABELS = ["oil", "oil", "grain", "grain", None, None]
X = np.random.default_rng(0).poisson(0.7, (30, 12)).astype(float)
VALUES = [
    *(np.array([1, 2]), np.array([]), np.array(["a", "b"]), object(), 5.0, b"x", {}, []),
    *(True, 10**400, Fraction(1, 2), {0.5: 1}, iter(["oil"]), "float16", "longdouble"),
    *(np.array(3), np.array("oil")),
]
USES = {
    DCoT: lambda model: [
        lambda: model.fit(X),
        lambda: model.fit(iter([X])),
        lambda: hasattr(model, "partial_fit"),
        lambda: model.noise_path(X, [0.5, 0.9]),
    ],
    DCoTVectorizer: lambda model: [
        lambda: model.fit(TEXTS),
        lambda: model.fit(iter(TEXTS)),
        lambda: hasattr(model, "partial_fit"),
    ],
    DCoTClassifier: lambda model: [
        lambda: model.fit(TEXTS, LABELS),
        lambda: model.fit(X, [0, 1] * 15),
        lambda: model.suggest(TEXTS, 2),
    ],
    SearchIndex: lambda model: [lambda: model.add(TEXTS), lambda: model.search("oil")],
    TermCounter: lambda model: [lambda: model.fit(TEXTS)],
    TermWeighting: lambda model: [lambda: model.fit(X)],
}


def names_of(kind):
    """Of the parameters; those of its parts too, for a vectorizer."""
    parts = [kind, DCoT, TermCounter, TermWeighting] if kind is DCoTVectorizer else [kind]
    found = {name for part in parts for name in inspect.signature(part).parameters}
    return sorted(found - {"parameters", "params", "kwargs", "scheme"})


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind in USES for name in names_of(kind)]
)
def test_any_object_as_any_parameter(kind, name, tmp_path):
    for number, value in enumerate(VALUES):
        with suppress(DcotError):
            model = kind(**{name: value})
            if hasattr(model, "get_params"):
                model.get_params()
            for use in USES[kind](model):
                with suppress(DcotError):
                    use()
            if hasattr(model, "save"):
                model.save(tmp_path / str(number))
    for folder in tmp_path.iterdir():
        load(folder)  # what can be saved can be loaded


@pytest.mark.parametrize("value", ["no", "False", 0, 1, np.array([1, 2]), object()])
def test_a_flag_of_a_method_is_true_or_false(value, tmp_path):
    """A text would be true: "no" would overwrite, or subtract."""
    model, texts = DCoT(3).fit(X), DCoTVectorizer(n_prototypes=3).fit(TEXTS)
    model.save(tmp_path / "model")
    model.transform_to([X], tmp_path / "x.npy")
    before = (tmp_path / "x.npy").read_bytes()
    for call in (
        lambda: model.reconstruct(X, subtract_bias=value),
        lambda: texts.reconstruct(TEXTS, subtract_bias=value),
        lambda: texts.to_sparse(TEXTS, query=value),
        lambda: model.transform_to([X + 1], tmp_path / "x.npy", overwrite=value),
        lambda: model.transform_to([X], tmp_path / "y.npy", resume=value),
        lambda: texts.transform_to(TEXTS, tmp_path / "y.npy", overwrite=value),
        lambda: distributed.transform_to(model, [X], tmp_path / "z", overwrite=value),
        lambda: model.save(tmp_path / "again", keep_moments=value),
        lambda: load(tmp_path / "model", mmap=value),
        lambda: load(tmp_path / "model", verify=value),
    ):
        with pytest.raises(InvalidParameterError, match="must be True or False, got"):
            call()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "x.npy"]
    assert (tmp_path / "x.npy").read_bytes() == before
