"""What a fitted ``DCoTVectorizer`` is in a model folder, and back: its parts in a row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from dcot.errors import ModelFormatError
from dcot.estimator import DCoT
from dcot.persistence import Contents, decode
from dcot.persistence.contents import DAMAGED, count, setting
from dcot.persistence.fitted import check_vocabulary
from dcot.persistence.saving import (
    Saveable,
    build,
    encode_parameters,
    output_container,
    restore_container,
)
from dcot.text import TermCounter, TermWeighting
from dcot.text.options import check_threads

_OWN_CODE = (
    "transform would need it: save the fitted dcot_ alone (model.dcot_.save) and keep your "
    "function in your own code"
)
OWN_CODE_ADVICE = {
    "analyzer": _OWN_CODE,
    "strip_accents": _OWN_CODE,
    "random_state": "the fitted model no longer needs it: set_params(random_state=0), or None, on "
    "the vectorizer and its dcot_ before saving",
    "prototypes": "partial_fit would call it again after loading: give words or columns instead",
}


class SaveableVectorizer(Saveable):
    """Saving and loading of ``DCoTVectorizer``."""

    def _contents(self, keep_moments: bool) -> Contents:
        model: Any = self
        dcot = model._fitted()
        terms = model.counter_.get_feature_names_out().tolist()
        own = model.short_params()
        if callable(own["prototypes"]) and not keep_moments:
            own["prototypes"] = dcot.prototypes_.tolist()  # what the function chose
        contents = Contents(model._saved_as, {}, vocabulary=terms)
        contents.settings = {
            "parameters": encode_parameters({**own, "vocabulary": None}, OWN_CODE_ADVICE),
            "vocabulary_given": own["vocabulary"] is not None,
            "counter": counter_settings(model.counter_),
            "weighting": weighting_settings(model.weighting_),
            "dcot": dcot._saved_settings(contents, keep_moments),
            "container": output_container(model),
        }
        contents.arrays["idf"] = np.asarray(model.weighting_.idf_, dtype=np.float64)
        contents.facts = [*dcot._facts(terms), ("weighting", model.weighting_.scheme)]
        return contents

    @classmethod
    def _from_contents(cls, contents: Contents) -> Self:
        model: Any = build_vectorizer(cls, contents.settings)
        inner = setting(contents.settings, "dcot", dict)
        model.dcot_ = DCoT._from_settings(contents, inner)
        if contents.vocabulary is None:
            raise ModelFormatError(f"the vocabulary is missing{DAMAGED}")
        check_vocabulary(contents.vocabulary, model.dcot_.n_features_in_)
        model.counter_ = restore_counter(contents)
        model.weighting_ = restore_weighting(contents, model.dcot_.n_features_in_)
        if setting(contents.settings, "vocabulary_given", bool):
            model.set_params(vocabulary=contents.vocabulary)
        restore_container(model, contents.settings)
        return model  # type: ignore[no-any-return]


def build_vectorizer(cls: type[Any], settings: Mapping[str, Any]) -> Any:
    """A vectorizer, not fitted, from saved parameters of its parts."""
    found = setting(settings, "parameters", dict)
    return cls(**{name: decode(value) for name, value in found.items()})


def counter_settings(counter: TermCounter) -> dict[str, Any]:
    parameters = counter.get_params(deep=False)
    return {
        "parameters": encode_parameters({**parameters, "vocabulary": None}, OWN_CODE_ADVICE),
        "vocabulary_given": parameters["vocabulary"] is not None,
        "n_documents": int(counter.n_documents_),
    }


def weighting_settings(weighting: TermWeighting) -> dict[str, Any]:
    return {
        "parameters": encode_parameters(weighting.get_params(deep=False), {}),
        "n_documents": int(weighting.n_documents_),
        "mean_length": float(weighting.mean_length_),
    }


def restore_counter(contents: Contents) -> TermCounter:
    settings = setting(contents.settings, "counter", dict)
    counter: TermCounter = build(TermCounter, settings)
    assert contents.vocabulary is not None
    if setting(settings, "vocabulary_given", bool):
        counter.vocabulary = contents.vocabulary
    # refuse settings that no text could be counted with
    counter._analysis()
    check_threads(counter.n_threads)
    if np.dtype(counter.dtype).kind not in "iuf":
        raise ModelFormatError(f"counts cannot be {counter.dtype!r:.60}{DAMAGED}")
    return counter.restore_terms(contents.vocabulary, count(settings, "n_documents"))


def restore_weighting(contents: Contents, n_terms: int) -> TermWeighting:
    settings = setting(contents.settings, "weighting", dict)
    weighting: TermWeighting = build(TermWeighting, settings)
    weighting.check_parameters()
    weighting.n_documents_ = count(settings, "n_documents")
    weighting.mean_length_ = setting(settings, "mean_length", float)
    weighting.idf_ = contents.array("idf", (n_terms,), largest=1e6)
    weighting.n_features_in_ = n_terms
    return weighting
