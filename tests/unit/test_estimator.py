"""DCoT as its user meets it."""

from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from tests.reference import counts, explicit_layer

from dcot import DCoT, DcotError
from dcot.core.fit import fit, fit_path
from dcot.core.options import FitOptions
from dcot.errors import InvalidInputError, InvalidParameterError, InvalidTypeError
from dcot.stream import Repeatable


@pytest.fixture(scope="module")
def X():
    return counts(np.random.default_rng(0), 40, 20)


def by_hand(X, r=8, noises=(0.6, 0.4), squash=np.tanh, ridge=1e-5):
    """Layers by the definition: prototypes, outputs of each layer."""
    P = np.sort(np.lexsort((np.arange(X.shape[1]), -X.sum(0)))[:r])
    outputs, Z, targets = [], X, P
    for noise in noises:
        W, b = explicit_layer(Z, targets, noise, ridge=ridge)
        Z, targets = squash(Z @ W + b), np.arange(r)
        outputs.append(Z)
    return P, outputs


@pytest.mark.parametrize("solver", ["primal", "dual", "cg"])
@pytest.mark.parametrize("r", [8, 20])
def test_paper_to_the_letter(X, solver, r):
    model = DCoT.paper(r, noise=(0.6, 0.4), n_layers=2, solver=solver, tol=1e-13).fit(X)
    P, outputs = by_hand(X, r)
    np.testing.assert_array_equal(model.prototypes_, P)
    features = model.transform(X)
    np.testing.assert_allclose(features, np.hstack([X, *outputs]), atol=1e-8)


@pytest.mark.parametrize("n", [40, 6])
def test_depth_with_fewer_documents_than_prototypes(X, n):
    few = X[:n]
    model = DCoT.paper(8, noise=0.5, n_layers=3, output="layers").fit(few)
    _, outputs = by_hand(few, 8, (0.5, 0.5, 0.5))
    np.testing.assert_allclose(model.transform(few), np.hstack(outputs), atol=1e-7)


def test_normalising_centres_then_scales_rows(X):
    options = {"prototypes": "frequent", "noise": (0.6, 0.4), "shrinkage": 0, "ridge": 1e-5}
    _, outputs = by_hand(X, 8, squash=lambda Z: Z)
    centred = [Z - Z.mean(0) for Z in outputs]
    unit = [Z / np.linalg.norm(Z, axis=1, keepdims=True) for Z in centred]
    model = DCoT(8, **options, normalize="unit").fit(X)
    np.testing.assert_allclose(model.transform(X), np.hstack(unit), atol=1e-8)
    shared = DCoT(8, **options, normalize="shared").fit(X).transform(X)
    length = np.linalg.norm(centred[0], axis=1, keepdims=True)
    spread = [np.mean((Z**2).sum(axis=1)) for Z in centred]
    second = centred[1] * np.sqrt(spread[0] / spread[1])
    np.testing.assert_allclose(shared, np.hstack([centred[0], second]) / length, atol=1e-8)
    model = DCoT(8, normalize="center", output="last", **options).fit(X)
    np.testing.assert_allclose(model.transform(X), centred[-1], atol=1e-8)


@pytest.mark.parametrize("output", ["layers", "last", "concat"])
@pytest.mark.parametrize("squash", ["identity", "tanh"])
@pytest.mark.parametrize("normalize", ["shared", "unit", None])
def test_features_times_weights_without_the_features(X, output, squash, normalize):
    """Many documents take the short way, few the long one; both are the plain product."""
    model = DCoT(8, output=output, squash=squash, normalize=normalize, n_layers=3, noise=0.6)
    made = model.fit(X)._fitted().representation
    features = made.transform(X)
    features = features.toarray() if sp.issparse(features) else features
    weights = np.random.default_rng(0).standard_normal((features.shape[1], 5))
    np.testing.assert_allclose(made.times(X, weights), features @ weights, atol=1e-10)
    np.testing.assert_allclose(made.times(X[:2], weights), features[:2] @ weights, atol=1e-10)


def test_tanh_is_centred_by_its_own_mean(X):
    _, outputs = by_hand(X, 8)
    options = {"prototypes": "frequent", "noise": (0.6, 0.4), "shrinkage": 0, "ridge": 1e-5}
    model = DCoT(8, squash="tanh", normalize="center", **options).fit(X)
    expected = np.hstack([Z - Z.mean(0) for Z in outputs])
    np.testing.assert_allclose(model.transform(X), expected, atol=1e-8)


def test_blocks_of_documents_change_nothing(X, monkeypatch):
    whole = DCoT(8, squash="tanh", n_layers=3).fit(X)
    monkeypatch.setattr("dcot.core.layers.BLOCK_BYTES", 1)
    monkeypatch.setattr("dcot.core.fit.allowance", lambda limit: 5000.0)
    cut = lambda n, *bytes_: iter([slice(0, 3), slice(3, n)])  # noqa: E731
    monkeypatch.setattr("dcot.core.layers.row_blocks", cut)
    pieces = DCoT(8, squash="tanh", n_layers=3, solver="primal").fit(X)
    np.testing.assert_allclose(whole.transform(X), pieces.transform(X), atol=1e-9)


def test_output_shapes_types_and_names(X):
    sparse = sp.csr_array(X)
    concat = DCoT(5, output="concat").fit(sparse)
    features = concat.transform(sparse)
    assert sp.issparse(features)
    assert features.format == "csr"
    assert features.shape == (40, 30)
    assert not sp.issparse(concat.transform(X))
    np.testing.assert_allclose(features.toarray(), concat.transform(X), atol=1e-12)
    names = concat.get_feature_names_out()
    assert list(names[:2]) == ["x0", "x1"]
    assert list(names[20:]) == [f"dcot{k}_x{p}" for k in (1, 2) for p in concat.prototypes_]
    assert DCoT(5, output="last").fit(X).get_feature_names_out()[0].startswith("dcot2_")


def test_every_kind_of_matrix_gives_the_same(X):
    expected = DCoT(6).fit_transform(X)
    wide = sp.csr_matrix(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    kinds = [sp.csr_matrix(X), sp.csc_array(X), sp.coo_array(X), sp.coo_matrix(X), wide]
    kinds += [sp.csr_array(X).asformat(name) for name in ("bsr", "lil", "dok", "dia")]
    kinds += [np.asfortranarray(X), pd.DataFrame(X).set_axis(range(20), axis=1), X.tolist()]
    for kind in kinds:
        np.testing.assert_allclose(DCoT(6).fit_transform(kind), expected, atol=1e-9)
    integers = DCoT(6).fit_transform(sp.csr_array(X.astype(np.int64)))
    assert integers.dtype == np.float32
    np.testing.assert_allclose(integers, expected, atol=1e-4)


def test_duplicate_entries_are_summed_and_the_matrix_left_alone():
    data, rows, columns = [1.0, 2.0, 4.0, 1.0], [0, 0, 1, 1], [1, 1, 0, 1]
    csr = sp.csr_array((data, columns, [0, 2, 4]), shape=(2, 2))
    before = csr.data.copy()
    found = DCoT(noise=0.5).fit(csr).layers_[0].coef_
    np.testing.assert_array_equal(csr.data, before)
    summed = sp.coo_array((data, (rows, columns)), shape=(2, 2)).toarray()
    np.testing.assert_allclose(found, DCoT(noise=0.5).fit(summed).layers_[0].coef_)


def test_reconstruct_shows_words_and_bias(X):
    model = DCoT.paper(8, noise=0.5, n_layers=2).fit(X)
    words = sp.csr_array(np.eye(20))
    _, outputs = by_hand(X, 8, (0.5, 0.5))
    rebuilt = model.reconstruct(X, layer=2)
    np.testing.assert_allclose(rebuilt, outputs[1], atol=1e-8)
    empty = model.reconstruct(sp.csr_array((1, 20)), layer=1)
    np.testing.assert_allclose(empty[0], np.tanh(model.layers_[0].intercept_))
    shown = model.reconstruct(words, layer=1, subtract_bias=True)
    np.testing.assert_allclose(shown, model.reconstruct(words, layer=1) - empty)


def test_compression_keeps_inner_products(X):
    full = DCoT(8).fit_transform(X)
    model = DCoT(8, n_components=16, random_state=0).fit(X)
    small = model.transform(X)
    np.testing.assert_allclose(small @ small.T, full @ full.T, atol=1e-8)
    assert list(model.get_feature_names_out()[:2]) == ["dcot_0", "dcot_1"]
    concat = DCoT(8, n_components=36, output="concat", random_state=0)
    both = concat.fit_transform(sp.csr_array(X))
    wide = DCoT(8, output="concat").fit_transform(X)
    np.testing.assert_allclose(both @ both.T, wide @ wide.T, atol=1e-8)


def test_noise_path_equals_single_fits(X):
    noises = [0.0, 0.3, (0.9, 0.5), 0.95]
    for solver in ("auto", "primal", "dual", "cg"):
        model = DCoT(8, solver=solver, tol=1e-13)
        path = model.noise_path(X, noises)
        for noise, found in zip(noises, path, strict=True):
            single = DCoT(8, solver=solver, tol=1e-13, noise=noise).fit(X)
            assert found.noise == noise
            np.testing.assert_allclose(found.transform(X), single.transform(X), atol=1e-6)


@pytest.mark.parametrize(
    "prototypes", [np.array([0, 1, 2]), [0, 1, 2], np.arange(20) < 3, lambda moments, r: [0, 1, 2]]
)
def test_noise_path_with_given_prototypes(X, prototypes):
    for found in DCoT(prototypes=prototypes).noise_path(X, [0.5, 0.9]):
        single = DCoT(prototypes=[0, 1, 2], noise=found.noise).fit(X)
        np.testing.assert_array_equal(found.prototypes_, [0, 1, 2])
        np.testing.assert_allclose(found.transform(X), single.transform(X), atol=1e-8)


def test_names_that_do_not_fit_the_columns(X):
    with pytest.raises(InvalidInputError, match="names of the 20 columns"):
        DCoT(8).fit(X).get_feature_names_out(["a"])
    frame = pd.DataFrame(X, columns=[f"t{column}" for column in range(20)])
    with pytest.raises(InvalidInputError, match="names of the 20 columns"):
        DCoT(8).fit(frame).get_feature_names_out([f"u{column}" for column in range(20)])


def test_noise_path_with_a_ridge(X):
    for found in DCoT.paper(8).noise_path(X, [0.2, 0.7]):
        single = DCoT.paper(8, noise=found.noise).fit(X)
        np.testing.assert_allclose(found.transform(X), single.transform(X), atol=1e-8)


@pytest.mark.parametrize("options", [{}, {"n_layers": 1, "squash": "tanh", "normalize": None}])
@pytest.mark.parametrize("sparse", [True, False])
def test_partial_fit_in_any_pieces_equals_fit(X, options, sparse):
    weights = np.random.default_rng(0).integers(0, 3, 40).astype(float)
    rows = sp.csr_array(X) if sparse else X
    whole = DCoT(8, **options).fit(rows, sample_weight=weights)
    pieces = DCoT(8, **options)
    for part in (slice(0, 1), slice(1, 17), slice(17, 40)):
        if weights[part].any():
            pieces.partial_fit(rows[part], sample_weight=weights[part])
    np.testing.assert_array_equal(pieces.prototypes_, whole.prototypes_)
    np.testing.assert_allclose(pieces.transform(X), whole.transform(X), atol=1e-8)
    np.testing.assert_allclose(pieces.loss_, whole.loss_)


def test_the_order_of_bytes_does_not_matter(X):
    rows = X.toarray() if sp.issparse(X) else X
    swapped = rows.astype(rows.dtype.newbyteorder())
    np.testing.assert_array_equal(DCoT().fit_transform(swapped), DCoT().fit_transform(rows))


@pytest.mark.parametrize("kind", [np.array, sp.csr_array])
def test_partial_fit_of_no_documents_adds_nothing(X, kind, capfd):
    rows = kind(X.toarray() if sp.issparse(X) else X)
    model = DCoT().partial_fit(rows).partial_fit(rows[:0])
    np.testing.assert_allclose(model.loss_, DCoT().fit(rows).loss_)
    assert capfd.readouterr() == ("", "")  # where BLAS complains


def test_partial_fit_after_fit_says_that_it_starts_again(X):
    model = DCoT(8).fit(X)
    with pytest.warns(UserWarning, match="starts a new model"):
        model.partial_fit(X[:20])
    np.testing.assert_allclose(model.transform(X), DCoT(8).fit(X[:20]).transform(X), atol=1e-9)


@pytest.mark.parametrize("used", [True, False])
def test_partial_fit_changes_no_copy(X, used):
    model = DCoT(8).partial_fit(X[:20])
    if used:
        model.transform(X)
    other = copy.copy(model)
    other.partial_fit(X[20:])
    assert (model.n_documents_, other.n_documents_) == (20, 40)
    np.testing.assert_allclose(model.transform(X), DCoT(8).fit(X[:20]).transform(X), atol=1e-9)
    np.testing.assert_allclose(other.transform(X), DCoT(8).fit(X).transform(X), atol=1e-9)
    model.partial_fit(X[20:30])
    assert (model.n_documents_, other.n_documents_) == (30, 40)
    np.testing.assert_allclose(model.transform(X), DCoT(8).fit(X[:30]).transform(X), atol=1e-9)


def test_partial_fit_does_not_change_what_was_fitted(X):
    model = DCoT(8).partial_fit(X)
    fitted = model._fitted()
    scatter = fitted.moments.scatter.copy()
    model.partial_fit(X)
    assert fitted.moments.n == fitted.n_documents == 40
    np.testing.assert_array_equal(fitted.moments.scatter, scatter)


def test_partial_fit_copies_moments_only_after_a_use(X):
    model = DCoT(8).partial_fit(X)
    scatter = model._moments.scatter
    model.partial_fit(X)
    assert np.shares_memory(model._moments.scatter, scatter)
    model.transform(X)
    model.partial_fit(X)
    assert not np.shares_memory(model._moments.scatter, scatter)


CHOICES = ("variance", "document_frequency", "frequent")


def each_way(X, weights, **options):
    """The prototypes by fits in memory, dense and sparse, in blocks and in pieces."""
    fits = [X, sp.csr_array(X), [X[:7], X[7:]], [sp.csr_array(X[:19]), sp.csr_array(X[19:])]]
    models = [DCoT(**options).fit(documents, sample_weight=weights) for documents in fits]
    pieces = DCoT(**options).partial_fit(X[:13], sample_weight=weights[:13])
    models.append(pieces.partial_fit(X[13:], sample_weight=weights[13:]))
    return [model.prototypes_.tolist() for model in models]


@pytest.mark.parametrize("draw", range(10))
def test_rounding_does_not_choose_prototypes(draw):
    generator = np.random.default_rng(draw)
    X, weights = generator.random((80, 5)) + 0.1, generator.random(80)
    # every term is in every document: the total decides
    total = np.argmax(weights @ X)
    variance = np.argmax(weights @ (X - np.average(X, axis=0, weights=weights)) ** 2)
    for choice, expected in (("document_frequency", total), ("variance", variance)):
        found = each_way(X, weights, n_prototypes=1, prototypes=choice)
        assert found == [[expected]] * 5
    same = np.tile(X[:, :1], (1, 5))  # and then the first column
    for choice in CHOICES:
        assert each_way(same, weights, n_prototypes=1, prototypes=choice) == [[0]] * 5


@pytest.mark.filterwarnings("ignore:reconstructed values differ so little")
@pytest.mark.parametrize("draw", range(10))
def test_cancelling_digits_do_not_choose_prototypes(draw):
    X = np.tile(np.random.default_rng(draw).random((40, 1)), (1, 6)) + 2.0**20
    permuted = X[np.random.default_rng(draw + 1).permutation(40)]
    assert each_way(np.hstack([permuted, X]), np.ones(40), n_prototypes=3) == [[0, 1, 2]] * 5


def test_constant_columns_are_the_last_prototypes():
    X = np.random.default_rng(0).random((30, 4))
    X[:, 1] = 50.0
    assert list(DCoT(3).fit(X).prototypes_) == [0, 2, 3]


def test_rounding_does_not_choose_prototypes_of_centred_documents():
    X = np.random.default_rng(0).standard_normal((40, 20))
    X = np.vstack([X, -X])  # every total is zero
    for choice in ("document_frequency", "frequent"):
        found = each_way(X, np.full(80, 0.1), n_prototypes=3, prototypes=choice)
        assert found == [[0, 1, 2]] * 5


@pytest.mark.filterwarnings("ignore:reconstructed values differ so little")
def test_small_differences_choose_prototypes():
    X = np.ones((1000, 3))
    X[0] = [0, 1, 1]
    X[:, 2] += 1e-7
    assert DCoT(1, prototypes="document_frequency").fit(X).prototypes_.tolist() == [2]
    X[1, 2] = 0
    assert DCoT(1, prototypes="document_frequency").fit(X).prototypes_.tolist() == [1]


def test_empty_and_unknown_documents_give_the_bias():
    X = np.array([[2.0, 1, 0, 0], [1, 1, 1, 0], [3, 0, 1, 0]])
    for noise in (0.0, 0.5):
        model = DCoT(4, noise=noise, normalize=None).fit(X)
        strange = np.array([[0.0, 0, 0, 0], [0, 0, 0, 5]])
        features = model.transform(strange)
        assert np.isfinite(features).all()
        np.testing.assert_allclose(features[0], features[1])
        assert not model.layers_[0].coef_[3].any()


def test_one_document_is_remembered_by_its_bias():
    X = np.array([[2.0, 1, 0]])
    model = DCoT(normalize=None).fit(X)
    np.testing.assert_allclose(model.reconstruct(np.zeros((1, 3)), layer=1), X)
    assert np.isfinite(DCoT().fit_transform(X)).all()


def test_the_bias_rebuilds_the_most_frequent_prototypes(X):
    model = DCoT.paper(8, noise=0.8, n_layers=1).fit(X)
    order = np.argsort(-model.reconstruct(np.zeros((1, 20)))[0])
    frequent = np.argsort(-X[:, model.prototypes_].sum(0))
    assert set(order[:3]) == set(frequent[:3])


def test_prototypes_by_every_way(X):
    frame = pd.DataFrame(X, columns=[f"t{i:02d}" for i in range(20)])
    assert list(DCoT(prototypes=["t05", "t02"]).fit(frame).prototypes_) == [2, 5]
    assert list(DCoT(prototypes=np.array([7, 1])).fit(X).prototypes_) == [1, 7]
    mask = np.arange(20) < 3
    assert list(DCoT(prototypes=mask).fit(X).prototypes_) == [0, 1, 2]
    last = DCoT(2, prototypes=lambda moments, r: np.arange(moments.n_terms)[-r:])
    assert list(last.fit(X).prototypes_) == [18, 19]
    assert len(DCoT(1000).fit(X).prototypes_) == 20
    df = DCoT(3, prototypes="document_frequency").fit(X).prototypes_
    assert (X > 0).sum(0)[df].min() >= np.sort((X > 0).sum(0))[-3]


def test_same_model_twice(X):
    for options in ({}, {"solver": "cg"}, {"n_components": 5, "random_state": 3}):
        first = DCoT(8, **options).fit_transform(X)
        np.testing.assert_array_equal(first, DCoT(8, **options).fit_transform(X))


def test_pickle(X):
    model = DCoT(8).fit(X)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.transform(X), model.transform(X))


def test_verbose_reports_on_standard_error(X, capsys):
    DCoT(8, verbose=True).fit(X)
    assert "layer 1" in capsys.readouterr().err
    DCoT(8).fit(X)
    assert capsys.readouterr().err == ""


def test_cg_that_stops_early_says_so(X):
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        model = DCoT(8, solver="cg", max_iter=1, tol=1e-10, noise=0.1).fit(X)
    assert model.n_iter_ == 1


# -- a fit is a value -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("learn", "given"),
    [
        ("fit", lambda X: (X[:, :4], None, [1.0])),  # weights of the wrong length
        ("fit", lambda X: ([X[:5, :4], X[:5]],)),  # blocks of different width
        ("fit", lambda X: (np.zeros((4, 3)),)),
        ("fit", lambda X: (pd.DataFrame({"a": [np.nan], "b": [1.0]}),)),
        ("partial_fit", lambda X: (X * np.nan,)),
        ("partial_fit", lambda X: (X, None, [1.0])),
    ],
)
@pytest.mark.parametrize("first", ["fit", "partial_fit"])
def test_a_fit_that_fails_leaves_the_model_as_it_was(X, learn, given, first):
    frame = pd.DataFrame(X, columns=[f"t{i}" for i in range(X.shape[1])])
    model = getattr(DCoT(8), first)(frame)
    before, state = model.transform(frame), model._learned
    arguments = given(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # partial_fit after fit says that it starts again
        with pytest.raises(DcotError):
            getattr(model, learn)(*arguments)
    assert model._learned is state
    assert model.n_features_in_ == X.shape[1]
    assert model.feature_names_in_.tolist() == frame.columns.tolist()
    np.testing.assert_array_equal(model.transform(frame), before)


def test_a_second_fit_leaves_nothing_of_the_first(X):
    frame = pd.DataFrame(X, columns=[f"t{i}" for i in range(X.shape[1])])
    model = DCoT(8).partial_fit(frame)
    model.transform(frame)
    model.fit(X[:, :6])
    once = DCoT(8).fit(X[:, :6])
    assert not hasattr(model, "feature_names_in_")
    assert model.n_features_in_ == 6
    assert model._learned.moments is None
    assert vars(model).keys() == vars(once).keys()
    np.testing.assert_array_equal(model.transform(X[:, :6]), once.transform(X[:, :6]))

    source = Repeatable(lambda: [X[:5], X[5:, :3], X[5:]], on_error="skip")
    model.fit(source)
    assert list(model.skipped_) == ["batch 1"]
    assert model.plan_.storage == "packed"
    model.fit(X)
    assert model.skipped_ == {}
    assert model.plan_.storage in ("documents", "gram", "dense")


def test_names_and_features_stay_together(X):
    model = DCoT(5).fit(X)
    features, names = model.transform(X), model.get_feature_names_out()
    model.set_params(output="concat", n_layers=1, normalize=None, n_components=3)
    assert model.get_feature_names_out().tolist() == names.tolist()
    np.testing.assert_array_equal(model.transform(X), features)
    assert len(names) == features.shape[1] == model._n_features_out


def test_blocks_are_transformed_like_a_matrix(X):
    blocks = [X[:5], sp.csr_array(X[5:])]
    model = DCoT(8).fit(X)
    whole = model.transform(X)
    for source in (blocks, lambda: iter(blocks), iter(blocks)):
        np.testing.assert_allclose(model.transform(source), whole, atol=1e-12)
    np.testing.assert_allclose(DCoT(8).fit_transform(blocks), whole, atol=1e-10)
    joined = DCoT(8, output="concat").fit(X)
    both = joined.transform([sp.csr_array(X[:5]), sp.csr_array(X[5:])])
    np.testing.assert_allclose(both.toarray(), joined.transform(X), atol=1e-12)
    (path,) = DCoT(8).noise_path(blocks, [(0.9, 0.8)])
    np.testing.assert_allclose(path.transform(X), whole, atol=1e-10)


def test_an_iterator_is_not_enough_to_fit_and_transform(X):
    with pytest.raises(InvalidInputError, match="can be read once"):
        DCoT(8).fit_transform(iter([X[:5], X[5:]]))
    with pytest.raises(InvalidTypeError, match="noise_path takes a list of blocks"):
        DCoT(8).noise_path(lambda: iter([X]), [0.5])


def test_a_path_of_any_options_equals_single_fits(X):
    matrix, weights = sp.csr_array(X), np.linspace(0, 2, len(X))
    common = {"solver": "primal", "memory_limit": 1e9}
    options = [
        FitOptions(noise=(0.9, 0.8), shrinkage=(1.0, 0.0), n_prototypes=8, **common),
        FitOptions(noise=(0.5,), shrinkage=(1.0,), n_prototypes=8, **common),
        FitOptions(noise=(0.5,), shrinkage=(0.3,), n_prototypes=4, output="last", **common),
        FitOptions(noise=(0.0,), shrinkage=(0.3,), n_prototypes=4, n_components=2, **common),
    ]
    for one, found in zip(options, fit_path(matrix, weights, options), strict=True):
        alone = fit(matrix, weights, one)
        np.testing.assert_array_equal(found.prototypes, alone.prototypes)
        assert len(found.layers) == one.n_layers
        expected = alone.representation.transform(matrix)
        np.testing.assert_allclose(found.representation.transform(matrix), expected, atol=1e-9)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"noise": (1.0,), "shrinkage": (0.0,)}, "noise must be in"),
        ({"noise": (0.5,)}, "one value per layer"),
        ({"shrinkage": (-1.0, 0.0)}, "shrinkage"),
        ({"n_prototypes": 0}, "n_prototypes"),
    ],
)
def test_options_are_checked(change, words):
    with pytest.raises(InvalidParameterError, match=words):
        FitOptions(**change)


@pytest.mark.parametrize("names", [object(), "oil", {}, 3])
def test_names_of_columns_that_are_no_names(X, names):
    with pytest.raises(DcotError, match="pass the names"):
        DCoT().fit(X).get_feature_names_out(names)


@pytest.mark.parametrize("shape", [(12, 60), (60, 12)])
def test_weights_that_iterations_cannot_tell_from_rounding(shape):
    X = np.random.default_rng(0).poisson(0.7, shape) + 0.0
    weights = np.r_[1.0, np.full(shape[0] - 1, 1e-10)]
    model = DCoT(solver="cg", dtype="float32", tol=1e-4, n_layers=1, normalize=None)
    exact = DCoT(solver="primal", dtype="float64", n_layers=1, normalize=None)
    near = model.fit(X, sample_weight=weights).layers_[0].coef_
    far = exact.fit(X, sample_weight=weights).layers_[0].coef_
    assert np.abs(near - far).max() < 0.001 * np.abs(far).max()
    weights[1:] = 1e-13
    with pytest.warns(UserWarning, match="closer together"):
        model.fit(X, sample_weight=weights)
    model.set_params(solver="dual").fit(X, sample_weight=weights)  # without a warning
