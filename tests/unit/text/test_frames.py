"""scikit-learn's setting ``transform_output`` concerns what a caller gets, and nothing inside."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
from scipy import sparse

import dcot
from dcot import DCoT, DCoTClassifier, DCoTVectorizer, InvalidParameterError, SearchIndex
from dcot.text import TermCounter, TermWeighting

TEXTS = ["crude oil prices", "opec oil output", "wheat harvest", "wheat and corn prices"] * 3
LABELS = ["oil", "oil", "grain", "grain"] * 3


@pytest.fixture(params=["pandas", "polars"])
def frames(request):
    with sklearn.config_context(transform_output=request.param):
        yield request.param


def module_of(value):
    return type(value).__module__.split(".")[0]


def test_everything_works_if_frames_are_asked_for(frames, tmp_path):
    with sklearn.config_context(transform_output="default"):
        arrays = DCoTVectorizer(n_prototypes=3).fit(TEXTS)
        expected, vectors = arrays.transform(TEXTS), arrays.to_sparse(TEXTS)
    model = DCoTVectorizer(n_prototypes=3).fit(TEXTS)
    for found in (model.transform(TEXTS), model.fit_transform(TEXTS)):
        assert module_of(found) == frames
        assert list(found.columns) == model.get_feature_names_out().tolist()
        np.testing.assert_array_equal(found.to_numpy(), expected)
    np.testing.assert_array_equal(model.encode(TEXTS), arrays.encode(TEXTS))
    assert model.to_sparse(TEXTS) == vectors
    assert str(model.explain("opec")) == str(arrays.explain("opec"))
    assert DCoTVectorizer(n_prototypes=3).partial_fit(TEXTS).transform(TEXTS).shape == (12, 6)
    assert model.transform_to(TEXTS, tmp_path / "f.npy") == len(TEXTS)
    assert DCoTVectorizer(n_prototypes=3).fit(lambda: [TEXTS]).transform(TEXTS).shape == (12, 6)


def test_a_classifier_if_frames_are_asked_for(frames):
    model = DCoTClassifier().fit(TEXTS, LABELS)
    assert model.predict(["opec"]).tolist() == ["oil"]
    assert "opec" in str(model.explain("opec"))
    assert model.refit(TEXTS, LABELS).predict_proba(["opec", "corn"]).shape == (2, 2)
    assert module_of(model.transform(["opec"])) == frames


def test_an_index_if_frames_are_asked_for(frames):
    assert SearchIndex().add(TEXTS[:4]).search("opec output").ids[0] == 1
    assert SearchIndex(layer=None).add(TEXTS[:4]).search("opec output").ids[0] == 1


def test_counts_and_weights_are_always_sparse(frames):
    counts = TermCounter().fit_transform(TEXTS)
    for found in (
        counts,
        TermWeighting().fit_transform(counts),
        TermCounter().fit(TEXTS).transform(TEXTS),
    ):
        assert sparse.issparse(found)


@pytest.mark.parametrize("output", ["concat", "all"])
@pytest.mark.parametrize("container", ["pandas", "polars"])
def test_sparse_features_in_a_frame_are_refused(tmp_path, output, container):
    model = DCoTVectorizer(output=output, n_prototypes=3)
    with pytest.raises(InvalidParameterError, match=f"{container}.*n_components"):
        model.set_output(transform=container)
    assert sparse.issparse(model.fit_transform(TEXTS))
    counts = TermCounter().fit_transform(TEXTS)
    with sklearn.config_context(transform_output=container):
        for call in (
            lambda: model.transform(TEXTS),
            lambda: DCoTVectorizer(output=output).fit_transform(TEXTS),
            lambda: DCoT(3, output=output).fit_transform(counts),
            lambda: DCoT(3, output=output).fit(counts).transform(counts),
        ):
            with pytest.raises(InvalidParameterError, match="sparse"):
                call()
        dense = DCoT(3, output=output).fit_transform(counts.toarray())
        assert module_of(dense) == container
    short = DCoTVectorizer(output=output, n_components=2).set_output(transform=container)
    assert module_of(short.fit_transform(TEXTS)) == container
    short.set_params(n_components=None).fit(TEXTS).save(tmp_path / "model")
    with pytest.raises(InvalidParameterError, match="sparse"):
        dcot.load(tmp_path / "model").transform(TEXTS)
