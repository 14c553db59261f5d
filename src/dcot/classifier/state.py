"""Convert a ``FittedClassifier`` to arrays and JSON, and back.

The documents of the fit are not saved. After loading, the classifier predicts, explains and reports
as before, and can be refitted with more labels on the same representation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcot.classifier.calibration import Reliability
from dcot.classifier.estimate import Estimate, Score
from dcot.classifier.fit import FittedClassifier
from dcot.classifier.labels import EXCLUSIVE, as_label_array
from dcot.classifier.selection import Candidate, layers_and_output
from dcot.core.fit import FittedDCoT
from dcot.embedding.vectors import add_embedding, read_embedding
from dcot.errors import ModelFormatError
from dcot.persistence import Contents, decode, encode
from dcot.persistence.contents import DAMAGED, choice, count, setting
from dcot.persistence.saving import encode_parameters

Array = NDArray[Any]

_CLASS_ADVICE = (
    "learn from labels that are text or whole numbers, as in [str(label) for label in y]"
)
_ADVICE = {
    "estimator": "its coefficients are saved without it: set_params(estimator='ridge'), which a "
    "refit would then use, before saving",
    "random_state": "the fitted model no longer needs it: set_params(random_state=0), or None, "
    "before saving",
}
_SCORES = ("dcot", "tfidf", "majority")
_MEASURED = ("param_strength", "mean_test_score", "mean_test_error", "std_test_error")


# -- to the folder ------------------------------------------------------------------------------


def add_classifier(
    contents: Contents, fitted: FittedClassifier, parameters: Mapping[str, Any], from_text: bool
) -> dict[str, Any]:
    """Add the arrays to ``contents``, which holds the representation; return the settings."""
    settings = {
        "parameters": encode_parameters(parameters, _ADVICE),
        "from_text": from_text,
        "representation": contents.settings,
        "n_documents": int(fitted.n_documents),
        "n_labelled": int(fitted.n_labelled),
        "classes": encode("a class", fitted.classes.tolist(), _CLASS_ADVICE),
        "classes_dtype": "object" if fitted.classes.dtype.kind == "O" else None,
        "labels": fitted.kind,
        "chosen": asdict(fitted.candidate),
        "best_index": int(fitted.best_index),
        "strength": None if np.isnan(fitted.strength) else float(fitted.strength),
        "alpha": float(fitted.alpha),
        "learner": fitted.learner,
        "temperature": float(fitted.temperature),
        "calibrated": bool(fitted.calibrated),
        "candidates": fitted.cv_results["params"],
        "estimate": _estimate_settings(fitted.estimate),
        "embedding": add_embedding(contents, fitted.embedding),
        "had_vectors": bool(fitted.had_vectors),
    }
    contents.arrays["coef"] = fitted.coef
    contents.arrays["intercept"] = np.asarray(fitted.intercept, dtype=np.float64)
    contents.arrays["known_terms"] = np.asarray(fitted.known_terms, dtype=bool)
    if fitted.reliability is not None:
        for name, value in vars(fitted.reliability).items():
            contents.arrays[f"reliability.{name}"] = np.asarray(value)
    for name in (*_MEASURED, "rank_test_error"):
        contents.arrays[f"cv.{name}"] = np.asarray(fitted.cv_results[name])
    return settings


def _estimate_settings(estimate: Estimate) -> dict[str, Any]:
    scores = {}
    for name in _SCORES if estimate.n else ():
        score = asdict(getattr(estimate, name))
        scores[name] = {key: encode(key, value) for key, value in score.items()}
    return {"n": int(estimate.n), **scores}


def classifier_facts(fitted: FittedClassifier) -> list[tuple[str, str]]:
    """Lines of the model card."""
    estimate, chosen, dcot = fitted.estimate, fitted.candidate, fitted.dcot
    names = [str(name) for name in fitted.classes[:20]]
    more = f" and {len(fitted.classes) - 20:,} more" if len(fitted.classes) > 20 else ""
    tried = len(fitted.cv_results["params"])
    kept = "default kept" if fitted.best_index == 0 else "another one chosen"
    return [
        ("documents learned from", f"{fitted.n_documents:,}, {fitted.n_labelled:,} with labels"),
        ("classes", f"{len(fitted.classes):,}: {', '.join(names)}{more}"),
        ("terms", f"{dcot.n_terms:,}"),
        ("prototypes", f"{len(dcot.prototypes):,}"),
        ("noise, shrinkage", f"{chosen.noise:g}, {chosen.shrinkage:g} (first layer)"),
        ("features", chosen.features),
        *([("embedding", fitted.embedding.describe())] if fitted.embedding else []),
        ("selection", f"{tried} candidates tried, {kept}"),
        ("learner", fitted.learner),
        *_estimate_facts(estimate),
        ("probabilities", "calibrated" if fitted.calibrated else "not calibrated: few labels"),
    ]


def _estimate_facts(estimate: Estimate) -> list[tuple[str, str]]:
    if not estimate.n:
        return [("accuracy, estimated", "not known: no document was labelled")]
    return [
        ("accuracy, estimated", _span(estimate.dcot.accuracy, estimate.dcot.accuracy_interval)),
        ("macro-F1, estimated", _span(estimate.dcot.macro_f1, estimate.dcot.macro_f1_interval)),
        ("TF-IDF on the same documents", f"{100 * estimate.tfidf.accuracy:.1f} %"),
        ("majority class", f"{100 * estimate.majority.accuracy:.1f} %"),
    ]


def _span(value: float, interval: tuple[float, float]) -> str:
    low, high = interval
    return f"{100 * low:.1f} to {100 * high:.1f} % (95 % interval; best guess {100 * value:.1f} %)"


# -- from the folder ----------------------------------------------------------------------------


def read_representation(contents: Contents) -> tuple[Contents, bool]:
    """What a classifier stands on, and whether it is one of texts."""
    inner = setting(contents.settings, "representation", dict)
    return replace(contents, settings=inner), setting(contents.settings, "from_text", bool)


def read_classifier(contents: Contents, dcot: FittedDCoT) -> FittedClassifier:
    """The classifier; whatever does not fit together is a ``ModelFormatError``."""
    settings = contents.settings
    candidate, classes = _candidate(setting(settings, "chosen", dict)), _classes(settings)
    made = dcot.representation
    if len(made.layers) != candidate.n_layers or made.output != candidate.output:
        raise ModelFormatError(f"the layers are not those of {candidate.features!r}{DAMAGED}")
    found = _cv_results(contents)
    best = count(settings, "best_index")
    if best >= len(found["params"]):
        raise ModelFormatError(f"there is no candidate {best}{DAMAGED}")
    embedding = read_embedding(contents, dcot.n_terms, dcot.dtype)
    width = dcot.n_features + (0 if embedding is None else len(embedding.mean))
    coef = contents.array("coef", (len(classes), width)).astype(dcot.dtype, copy=False)
    strength = settings.get("strength")
    kind = choice(settings, "labels", ("single", "soft", "indicator", "sets"))
    estimate = _estimate(setting(settings, "estimate", dict))
    return FittedClassifier(
        dcot=dcot,
        candidate=candidate,
        embedding=embedding,
        had_vectors=_had_vectors(settings, found),
        classes=classes,
        kind=kind,
        coef=coef,
        intercept=contents.array("intercept", (len(classes),)),
        strength=np.nan if strength is None else setting(settings, "strength", float),
        alpha=setting(settings, "alpha", float),
        estimator=None,  # only its coefficients are needed
        learner=_learner(settings),
        temperature=setting(settings, "temperature", float),
        calibrated=setting(settings, "calibrated", bool),
        estimate=estimate,
        reliability=_reliability(contents, estimate.n) if kind in EXCLUSIVE else None,
        cv_results=found,
        best_index=best,
        n_documents=count(settings, "n_documents"),
        n_labelled=count(settings, "n_labelled"),
        known_terms=contents.array("known_terms", (dcot.n_terms,), "b"),
        labelled_rows=None,  # documents are not saved
        held_out=None,
    )


def _learner(settings: dict[str, Any]) -> str:
    if "learner" in settings:
        return setting(settings, "learner", str)
    return str(setting(settings, "parameters", dict).get("estimator"))  # written before


def _had_vectors(settings: dict[str, Any], cv_results: dict[str, Any]) -> bool:
    if "had_vectors" in settings:
        return setting(settings, "had_vectors", bool)
    return any(cv_results["param_embedding"])  # folders of before this was written


def _classes(settings: dict[str, Any]) -> Array:
    found = decode(setting(settings, "classes", list))
    kinds = (str, int, float, bool)
    if not found or not all(isinstance(name, kinds) for name in found):
        raise ModelFormatError(f"the classes are not labels{DAMAGED}")
    if choice(settings, "classes_dtype", (None, "object")) == "object":
        classes = np.empty(len(found), dtype=object)
        classes[:] = found
        return classes
    return as_label_array(found)


def _candidate(found: dict[str, Any]) -> Candidate:
    if set(found) != {field.name for field in fields(Candidate)}:
        raise ModelFormatError(f"the chosen settings are not described{DAMAGED}")
    features, n_prototypes = setting(found, "features", str), setting(found, "n_prototypes", int)
    layers_and_output(features)
    if n_prototypes < 1:
        raise ModelFormatError(f"there are {n_prototypes!r:.60} prototypes{DAMAGED}")
    return Candidate(
        setting(found, "noise", float),
        setting(found, "shrinkage", float),
        n_prototypes,  # of any size: all terms, if there are fewer
        features,
        setting(found, "embedding", float),
    )


def _cv_results(contents: Contents) -> dict[str, Any]:
    rows = setting(contents.settings, "candidates", list)
    tried = [_candidate(row if isinstance(row, dict) else {}) for row in rows]
    if not tried:
        raise ModelFormatError(f"there are no candidates{DAMAGED}")
    found: dict[str, Any] = {"params": [asdict(entry) for entry in tried]}
    for field in fields(Candidate):
        values = [getattr(entry, field.name) for entry in tried]
        found[f"param_{field.name}"] = np.array(values, dtype=object)
    for name in _MEASURED:
        found[name] = contents.array(f"cv.{name}", (len(tried),), finite=False)
    found["rank_test_error"] = contents.array("cv.rank_test_error", (len(tried),), "i")
    return found


def _reliability(contents: Contents, n: int) -> Reliability | None:
    if not n:
        return None
    best, own, weights = (
        contents.array(f"reliability.{name}", (n,)) for name in ("best", "own", "weights")
    )
    return Reliability(best, own, contents.array("reliability.right", (n,), "b"), weights)


def _estimate(found: dict[str, Any]) -> Estimate:
    n = count(found, "n")
    if not n:
        return Estimate.unknown()
    return Estimate(n, *(_score(setting(found, name, dict)) for name in _SCORES))


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
