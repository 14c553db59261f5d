"""What a fitted ``DCoTClassifier`` is in a model folder, and back.

The documents it learned from are not in it. It predicts, explains and reports as before, and can be
refitted with more labels on the same representation.
"""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dcot._vectorizer_state import (
    OWN_CODE_ADVICE,
    build_vectorizer,
    counter_settings,
    restore_counter,
    restore_weighting,
    weighting_settings,
)
from dcot.classifier.estimate import Estimate, Score
from dcot.classifier.selection import FORMS, Setting
from dcot.core.representation import Representation
from dcot.errors import InvalidParameterError, ModelFormatError
from dcot.persistence import Contents, decode, encode
from dcot.persistence.contents import DAMAGED, choice, count, setting
from dcot.persistence.fitted import (
    check_vocabulary,
    layer_settings,
    read_layers,
    read_prototypes,
)
from dcot.persistence.saving import Saveable, build, encode_parameters
from dcot.vectorizer import DCoTVectorizer

Array = NDArray[Any]

_ADVICE = {
    "estimator": "its coefficients are saved without it: set_params(estimator='ridge'), which a "
    "refit would then use, before saving",
    "random_state": "the fitted model no longer needs it: set_params(random_state=0), or None, "
    "before saving",
}
_SCORES = ("dcot", "tfidf", "majority")
_MEASURED = ("param_strength", "mean_test_score", "mean_test_error", "std_test_error")


class SaveableClassifier(Saveable):
    """Saving and loading of ``DCoTClassifier``."""

    def _contents(self, keep_moments: bool) -> Contents:
        model: Any = self
        model._check_fitted()
        if keep_moments:
            raise InvalidParameterError(
                "a classifier keeps no moments, because it learns from all documents at once: save "
                "with keep_moments=False; refit takes more labels after loading"
            )
        machine: Representation = model._machine
        settings: dict[str, Any] = {
            "parameters": _parameters(model),
            "n_terms": int(model.n_features_in_),
            "n_prototypes": len(model.prototypes_),
            "n_documents": int(model.n_documents_),
            "n_labelled": int(model.n_labelled_),
            "layers": [layer_settings(layer) for layer in machine.layers],
            "classes": encode("classes", model.classes_.tolist()),
            "classes_dtype": "object" if model.classes_.dtype.kind == "O" else None,
            "labels": model._kind,
            "setting": asdict(model.setting_),
            "strength": _number(model.strength_),
            "temperature": float(model.temperature_),
            "calibrated": bool(model.calibrated_),
            "candidates": model.cv_results_["params"],
            "estimate": _estimate_settings(model.estimate_),
            "from_text": bool(model._from_text),
        }
        contents = Contents(model._saved_as, settings)
        for number, layer in enumerate(machine.layers, start=1):
            contents.weights[f"layer{number}.coef"] = layer.coef_
            contents.arrays[f"layer{number}.intercept"] = np.asarray(layer.intercept_)
            if layer.mean_ is not None:
                contents.arrays[f"layer{number}.mean"] = np.asarray(layer.mean_)
        assert machine.components is not None
        contents.arrays |= {
            "prototypes": np.asarray(model.prototypes_, dtype=np.int64),
            "loss": np.array([layer.loss_ for layer in machine.layers]),
            "coef": machine.components,
            "intercept": np.asarray(model.intercept_, dtype=np.float64),
            "labelled_terms": np.asarray(model._labelled_terms, dtype=bool),
        }
        for name in _columns(model.cv_results_):
            contents.arrays[f"cv.{name}"] = np.asarray(model.cv_results_[name])
        if model._from_text:
            settings["counter"] = counter_settings(model.counter_)
            settings["weighting"] = weighting_settings(model.weighting_)
            contents.arrays["idf"] = np.asarray(model.weighting_.idf_, dtype=np.float64)
            contents.vocabulary = model.counter_.get_feature_names_out().tolist()
        elif hasattr(model, "feature_names_in_"):
            contents.vocabulary = [str(name) for name in model.feature_names_in_]
        contents.facts = _facts(model)
        return contents

    @classmethod
    def _from_contents(cls, contents: Contents) -> Self:
        settings = contents.settings
        model: Any = cls(**_decoded_parameters(cls, settings))
        d, r = count(settings, "n_terms", 1), count(settings, "n_prototypes", 1)
        model.n_features_in_ = d
        model.n_documents_ = count(settings, "n_documents")
        model.n_labelled_ = count(settings, "n_labelled")
        model.prototypes_ = read_prototypes(contents, d, r)
        model.setting_ = _setting(setting(settings, "setting", dict))
        model.classes_ = _classes(settings)
        model._kind = choice(settings, "labels", ("single", "indicator", "sets"))
        model.strength_ = _from_number(settings, "strength")
        model.temperature_ = setting(settings, "temperature", float)
        model.calibrated_ = setting(settings, "calibrated", bool)
        model._labelled_rows = None  # nobody's documents are in a model
        model.estimator_ = None  # its coefficients are all that is needed
        model.estimate_ = _estimate(setting(settings, "estimate", dict))
        model.cv_results_ = _cv_results(contents)
        model._machine = _machine(contents, model.setting_, d, r, len(model.classes_))
        model.intercept_ = contents.array("intercept", (len(model.classes_),))
        model._labelled_terms = contents.array("labelled_terms", (d,), "b")
        model._from_text = setting(settings, "from_text", bool)
        if contents.vocabulary is not None:
            check_vocabulary(contents.vocabulary, d)
        if model._from_text:
            if contents.vocabulary is None:
                raise ModelFormatError(f"the vocabulary is missing{DAMAGED}")
            model.counter_ = restore_counter(contents)
            model.weighting_ = restore_weighting(contents, d)
        elif contents.vocabulary is not None:
            model.feature_names_in_ = np.array(contents.vocabulary, dtype=object)
        return model  # type: ignore[no-any-return]


def _parameters(model: Any) -> dict[str, Any]:
    parameters = model.get_params(deep=False)
    vectorizer = parameters.pop("vectorizer")
    parameters = encode_parameters(parameters, _ADVICE)
    if vectorizer is not None:
        own = vectorizer.short_params()
        parameters["vectorizer"] = {"parameters": encode_parameters(own, OWN_CODE_ADVICE)}
    return parameters


def _decoded_parameters(cls: type[Any], settings: dict[str, Any]) -> dict[str, Any]:
    found = dict(setting(settings, "parameters", dict))
    vectorizer = found.pop("vectorizer", None)
    plain: dict[str, Any] = build(cls, {"parameters": found}).get_params(deep=False)
    if vectorizer is not None:
        if not isinstance(vectorizer, dict):
            raise ModelFormatError(f"the vectorizer is not described{DAMAGED}")
        plain["vectorizer"] = build_vectorizer(DCoTVectorizer, vectorizer)
    return plain


def _number(value: float) -> float | None:
    """JSON has no NaN: a learner without a strength has None."""
    return None if np.isnan(value) else float(value)


def _from_number(settings: dict[str, Any], name: str) -> float:
    return float("nan") if settings.get(name) is None else setting(settings, name, float)


def _classes(settings: dict[str, Any]) -> Array:
    found = decode(setting(settings, "classes", list))
    kinds = (str, int, float, bool)
    if not found or not all(isinstance(name, kinds) for name in found):
        raise ModelFormatError(f"the classes are not labels{DAMAGED}")
    if choice(settings, "classes_dtype", (None, "object")) == "object":
        classes = np.empty(len(found), dtype=object)
        classes[:] = found
        return classes
    return np.array(found)


def _setting(found: dict[str, Any]) -> Setting:
    if set(found) != {field.name for field in fields(Setting)}:
        raise ModelFormatError(f"the chosen setting is not described{DAMAGED}")
    features = choice(found, "features", tuple(FORMS))
    return Setting(
        setting(found, "noise", float),
        setting(found, "shrinkage", float),
        count(found, "n_prototypes", 1),
        features,
    )


def _machine(contents: Contents, chosen: Setting, d: int, r: int, n_classes: int) -> Representation:
    layers = read_layers(contents, contents.settings, d, r)
    if len(layers) != chosen.n_layers:
        raise ModelFormatError(f"there are {len(layers)} layers, not {chosen.n_layers}{DAMAGED}")
    plain = Representation(layers, chosen.output, "unit")
    rows = plain.width + (d if plain.output == "concat" else 0)
    coef = contents.array("coef", (rows, n_classes)).astype(layers[0].coef_.dtype, copy=False)
    return Representation(layers, chosen.output, "unit", coef)


def _columns(cv_results: dict[str, Any]) -> list[str]:
    """What is one number a candidate and does not follow from its setting."""
    named = {f"param_{field.name}" for field in fields(Setting)}
    return sorted(set(cv_results) - named - {"params"})


def _cv_results(contents: Contents) -> dict[str, Any]:
    rows = setting(contents.settings, "candidates", list)
    settings = [_setting(row if isinstance(row, dict) else {}) for row in rows]
    if not settings:
        raise ModelFormatError(f"there are no candidates{DAMAGED}")
    found: dict[str, Any] = {"params": [asdict(entry) for entry in settings]}
    for field in fields(Setting):
        values = [getattr(entry, field.name) for entry in settings]
        found[f"param_{field.name}"] = np.array(values, dtype=object)
    for name in (*_MEASURED, "rank_test_error"):
        kinds = "i" if name.startswith("rank") else "f"
        found[name] = contents.array(f"cv.{name}", (len(settings),), kinds, finite=False)
    return found


def _estimate_settings(estimate: Estimate) -> dict[str, Any]:
    scores = {}
    for name in _SCORES:
        score = asdict(getattr(estimate, name))
        scores[name] = {key: encode(key, value) for key, value in score.items()}
    return {"n": int(estimate.n), **scores}


def _estimate(found: dict[str, Any]) -> Estimate:
    return Estimate(count(found, "n"), *(_score(setting(found, name, dict)) for name in _SCORES))


def _score(found: dict[str, Any]) -> Score:
    return Score(
        setting(found, "name", str),
        setting(found, "accuracy", float),
        _interval(found.get("accuracy_interval")),
        setting(found, "macro_f1", float),
        _interval(found.get("macro_f1_interval")),
    )


def _interval(found: Any) -> tuple[float, float]:
    value = decode(found)
    if not isinstance(value, tuple) or [type(end) for end in value] != [float, float]:
        raise ModelFormatError(f"an interval of the estimate is {found!r:.60}{DAMAGED}")
    return value


def _facts(model: Any) -> list[tuple[str, str]]:
    """The lines of the model card."""
    estimate: Estimate = model.estimate_
    chosen: Setting = model.setting_
    names = [str(name) for name in model.classes_[:12]]
    more = ", …" if len(model.classes_) > len(names) else ""
    kept = asdict(chosen) == model.cv_results_["params"][0]
    tried = len(model.cv_results_["params"])
    return [
        ("documents learned from", f"{model.n_documents_:,}, {model.n_labelled_:,} with labels"),
        ("classes", f"{len(model.classes_):,}: {', '.join(names)}{more}"),
        ("terms", f"{model.n_features_in_:,}"),
        ("prototypes", f"{len(model.prototypes_):,} (document frequency)"),
        ("noise, shrinkage", f"{chosen.noise:g}, {chosen.shrinkage:g} (first layer)"),
        ("features", chosen.features),
        ("selection", f"{tried} settings tried, " + ("default kept" if kept else "one changed")),
        ("learner", str(model.estimator)),
        ("accuracy, estimated", _span(estimate.dcot.accuracy, estimate.dcot.accuracy_interval)),
        ("macro-F1, estimated", _span(estimate.dcot.macro_f1, estimate.dcot.macro_f1_interval)),
        ("TF-IDF on the same documents", f"{100 * estimate.tfidf.accuracy:.1f} %"),
        ("majority class", f"{100 * estimate.majority.accuracy:.1f} %"),
        ("probabilities", "calibrated" if model.calibrated_ else "not calibrated: few labels"),
    ]


def _span(value: float, interval: tuple[float, float]) -> str:
    low, high = interval
    return f"{100 * value:.1f} % (95 % interval {100 * low:.1f} to {100 * high:.1f})"
