"""Bad input gets a clear error of dcot's own, and of the usual type."""

from __future__ import annotations

import numpy as np
import pytest
import scipy
import scipy.sparse as sp
from packaging.version import Version
from sklearn.exceptions import NotFittedError

from dcot import (
    DCoT,
    DCoTClassifier,
    DcotError,
    DCoTVectorizer,
    InvalidParameterError,
    NotAvailableError,
    SearchIndex,
)
from dcot.text import TermCounter, TermWeighting

X = np.array([[1.0, 2, 0], [0, 1, 1], [2, 0, 1]])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"noise": 1.0}, "noise must be in .* nothing to learn from"),
        ({"noise": -0.1}, "noise must be in"),
        ({"noise": "high"}, "noise must be a number"),
        ({"noise": []}, "noise must be a number"),
        ({"noise": (0.5, 1.5)}, "got 1.5"),
        ({"noise": (0.5, 0.6, 1.7)}, "got 1.7"),  # no layer uses it, and it is a mistake
        ({"shrinkage": (1.0, 0.0, -1.0)}, "shrinkage must be a number, zero or more"),
        ({"n_layers": 0}, "n_layers must be an integer from 1 to 100"),
        ({"n_layers": 1000}, "n_layers must be an integer from 1 to 100"),
        ({"n_layers": 1.5}, "n_layers"),
        ({"n_prototypes": 0}, "n_prototypes must be a positive integer"),
        ({"n_prototypes": True}, "n_prototypes"),
        ({"n_components": 0}, "n_components"),
        ({"shrinkage": -1}, "shrinkage must be a number, zero or more"),
        ({"shrinkage": float("nan")}, "shrinkage"),
        ({"squash": "relu"}, "squash must be one of 'identity', 'tanh', got 'relu'"),
        ({"output": "everything"}, "output must be one of"),
        ({"normalize": "l3"}, "normalize must be one of"),
        ({"solver": "lu"}, "solver must be one of 'auto', 'primal', 'dual', 'cg'"),
        ({"tol": 0}, "tol must be a number, positive"),
        ({"dtype": "float16"}, "dtype must be 'float32', 'float64' or None"),
        ({"dtype": "no such"}, "dtype must be"),
        ({"dtype": "01"}, "dtype must be"),
        ({"dtype": ","}, "dtype must be"),
        ({"memory_limit": "lots"}, "memory_limit must be"),
        ({"prototypes": "rare"}, "prototypes must be 'variance'"),
        ({"prototypes": [0, 3]}, "column 3, but there are 3 terms"),
        ({"prototypes": [-1]}, "column -1"),
        ({"prototypes": []}, "at least one term"),
        ({"prototypes": [False] * 3}, "a mask of prototypes must have 3 entries"),
        ({"prototypes": ["oil"]}, "columns have no names"),
        ({"prototypes": [0.5]}, "column indices or feature names"),
    ],
)
def test_parameters(options, words):
    with pytest.raises(DcotError, match=words) as caught:
        DCoT(**options).fit(X)
    assert isinstance(caught.value, ValueError | TypeError)


@pytest.mark.parametrize(
    ("matrix", "words"),
    [
        (np.array([[1.0, np.nan]]), "contains NaN: replace missing values by 0$"),
        (sp.csr_array(np.array([[1.0, np.inf]])), "infinity"),
        (np.empty((0, 3)), "0 sample"),
        (np.empty((3, 0)), "0 feature"),
        (np.zeros((4, 3)), "all 4 documents are empty"),
        (sp.csr_array((4, 3)), "all 4 documents are empty"),
        (np.ones(3), "2D"),
        (np.array([[1 + 2j]]), "Complex"),
        ([["a", "b"]], "string|numeric"),
    ],
)
def test_documents(matrix, words):
    with pytest.raises(DcotError, match=words) as caught:
        DCoT().fit(matrix)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("kind", ["M8[D]", "m8[s]"])
def test_dates_are_no_numbers(kind):
    with pytest.raises(DcotError, match=r"values of type .*\[.\], expected numbers"):
        DCoT().fit(np.ones((3, 3)).astype("i8").astype(kind))


def test_too_large_for_float32():
    with pytest.raises(DcotError, match="too large for float32"):
        DCoT(dtype="float32").fit(X * 1e300)
    with pytest.raises(DcotError, match="too large for float32"):
        DCoT(dtype="float32").fit(sp.csr_array(X * 1e300))


def test_wrong_number_of_columns_at_transform():
    with pytest.raises(DcotError, match="has 2 features, but DCoT is expecting 3"):
        DCoT().fit(X).transform(X[:, :2])


@pytest.mark.parametrize("call", ["transform", "reconstruct"])
def test_not_fitted(call):
    with pytest.raises(DcotError, match="not fitted") as caught:
        getattr(DCoT(), call)(X)
    assert isinstance(caught.value, NotFittedError)


@pytest.mark.parametrize("layer", [0, 3, -1, 1.0, "one"])
def test_no_such_layer(layer):
    with pytest.raises(DcotError, match="layer must be an integer from 1 to 2"):
        DCoT().fit(X).reconstruct(X, layer=layer)


@pytest.mark.parametrize("weights", [[1, 2], [1, -1, 1], [0, 0, 0], [1, 1, np.nan]])
def test_weights(weights):
    with pytest.raises(DcotError, match="sample_weight must"):
        DCoT().fit(X, sample_weight=weights)


@pytest.mark.parametrize("solver", ["auto", "primal", "dual", "cg"])
def test_too_large_for_memory_is_said_before_allocating(solver):
    large = sp.random_array((3000, 2000), density=0.001, format="csr", random_state=0)
    with pytest.raises(DcotError, match=r"needs about .* are allowed: .*") as caught:
        DCoT(solver=solver, memory_limit="1 MB").fit(large)
    assert isinstance(caught.value, MemoryError)


def test_memory_error_names_the_way_out():
    large = sp.random_array((3000, 3000), density=0.001, format="csr", random_state=0)
    with pytest.raises(MemoryError, match="solver='cg' fits"):
        DCoT(20, solver="primal", memory_limit="20 MB").fit(large)
    with pytest.raises(MemoryError, match="partial_fit keeps 3000 × 3000 moments"):
        DCoT(20, memory_limit="20 MB").partial_fit(large)


def test_depth_and_features_too_large_for_memory(monkeypatch):
    wide = sp.random_array((50, 3000), density=0.01, format="csr", random_state=0)
    with pytest.raises(MemoryError, match="a layer from 2000 to 2000 prototypes"):
        DCoT(memory_limit="50 MB").fit(wide)
    model = DCoT(10).fit(wide)
    monkeypatch.setattr("dcot.estimator.allowance", lambda limit: 1000.0)
    with pytest.raises(DcotError, match="transform in batches, or set n_components"):
        model.transform(wide)


def test_partial_fit_that_cannot_be_exact_is_not_offered():
    for options in ({"squash": "tanh"}, {"n_components": 2}, {"output": "lsi"}):
        model = DCoT(**options)
        assert not hasattr(model, "partial_fit")
        with pytest.raises(AttributeError, match="use fit"):
            _ = model.partial_fit


def test_partial_fit_refuses_other_columns_and_empty_corpora():
    model = DCoT().partial_fit(X)
    with pytest.raises(DcotError, match="has 2 features"):
        model.partial_fit(X[:, :2])
    model = DCoT().partial_fit(np.zeros((2, 3)))
    with pytest.raises(DcotError, match="documents are empty"):
        model.transform(X)
    assert np.isfinite(model.partial_fit(X).transform(X)).all()


def test_empty_noise_path():
    with pytest.raises(DcotError, match="at least one noise level"):
        DCoT().noise_path(X, [])


def test_negative_values_are_fine():
    rng = np.random.default_rng(0)
    features = DCoT(squash="tanh").fit_transform(rng.normal(size=(30, 6)))
    assert np.isfinite(features).all()


# -- values that the precision cannot compute with ------------------------------------------------

COUNTS = np.random.default_rng(0).poisson(0.7, (30, 12)).astype(float)
SOLVED = [{}, {"solver": "primal"}, {"solver": "cg"}, {"shrinkage": 0.0}, {"squash": "tanh"}]


@pytest.mark.parametrize("options", SOLVED)
@pytest.mark.parametrize(
    ("dtype", "factor", "words"),
    [
        ("float32", 1e20, "too large for float32"),
        ("float32", 1e-20, "too small for float32"),
        ("float32", 1e-100, "too small for float32"),
        ("float64", 1e155, "too large for float64"),
        ("float64", 1e-200, "too small for float64"),
    ],
)
def test_values_out_of_range_are_refused(dtype, factor, words, options):
    with pytest.raises(DcotError, match=words):
        DCoT(5, dtype=dtype, **options).fit(COUNTS * factor)


@pytest.mark.parametrize("source", [False, True])
@pytest.mark.parametrize("options", [{}, {"solver": "primal"}, {"solver": "cg"}])
@pytest.mark.parametrize(
    ("dtype", "factor"),
    [("float32", 2.0**33), ("float32", 2.0**-43), ("float64", 2.0**400), ("float64", 2.0**-400)],
)
def test_the_scale_of_the_values_changes_nothing(dtype, factor, options, source):
    options = {"dtype": dtype, "tol": 1e-6, **options}
    expected = DCoT(5, **options).fit_transform(COUNTS)
    X = COUNTS * factor
    got = DCoT(5, **options).fit([X[:10], X[10:]] if source else X).transform(X)
    np.testing.assert_allclose(got, expected, atol=2e-3 if dtype == "float32" else 1e-5)


@pytest.mark.parametrize("weight", [1e-300, 1e300])
def test_weights_out_of_range_are_refused(weight):
    with pytest.raises(DcotError, match="sample_weight, are too"):
        DCoT(5).fit(COUNTS, sample_weight=np.full(30, weight))


def test_a_column_of_tiny_values_without_shrinkage():
    X = COUNTS.astype(np.float32)
    X[:, 3] *= 1e-25
    assert np.isfinite(DCoT(5).fit_transform(X)).all()
    with pytest.raises(DcotError, match="too small for float32"):
        DCoT(5, shrinkage=0.0).fit(X)


def test_a_model_refuses_values_too_large_to_transform():
    model = DCoT(5, dtype="float32").fit(COUNTS)
    with pytest.raises(DcotError, match="too large for float32"):
        model.transform(COUNTS * 1e30)


# -- sparse matrices whose indices point outside --------------------------------------------------


def damaged(kind, dtype, form):
    Y = sp.random(200, 50, 0.1, format="csr" if form == "bsr" else form, random_state=0)
    Y = Y.tobsr((2, 2)) if form == "bsr" else Y
    Y.indices, Y.indptr = Y.indices.astype(dtype), Y.indptr.astype(dtype)
    size = {"csr": 50, "csc": 200, "bsr": 25}[form]
    if kind == "far":
        Y.indices[-1] = 10**8
    elif kind == "near":
        Y.indices[-1] = size + 5
    elif kind == "negative":
        Y.indices[-1] = -1
    elif kind == "start":
        Y.indptr[20] = 10**7
    elif kind == "decreasing":
        Y.indptr[20] = 0
    elif kind == "short":
        Y.indices = Y.indices[:-5]
    return Y


@pytest.mark.parametrize("form", ["csr", "csc", "bsr"])
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint32, np.uint64])
@pytest.mark.parametrize("kind", ["far", "near", "negative", "start", "decreasing", "short"])
def test_indices_are_checked_before_they_are_used(kind, dtype, form):
    if kind == "negative" and np.dtype(dtype).kind == "u":
        pytest.skip("unsigned integers are not negative")
    Y = damaged(kind, dtype, form)
    model = DCoT(5).fit(damaged("", np.int32, "csr"))
    for use in (DCoT(5).fit, DCoT(5).partial_fit, model.transform, lambda Y: DCoT(5).fit([Y])):
        with pytest.raises(DcotError, match="not a valid sparse matrix"):
            use(Y)


@pytest.mark.parametrize("form", ["csr", "csc", "bsr"])
@pytest.mark.parametrize("kind", ["far", "start"])
def test_indices_are_checked_by_whatever_takes_a_matrix(kind, form):
    Y = damaged(kind, np.int32, form)
    counter = TermCounter(vocabulary=[f"t{n:02d}" for n in range(50)])
    model = DCoT(5).fit(damaged("", np.int32, "csr"))
    labels = ["a", "b"] * 100
    for use in (
        counter.inverse_transform,
        SearchIndex(model).add,
        TermWeighting("bm25").fit_transform,
        lambda Y: DCoTClassifier(selection="none").fit(Y, labels),
    ):
        with pytest.raises(DcotError, match="not a valid sparse matrix"):
            use(Y)


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (1000, "columns go from 0 to 1000"),
        (-1, "columns go from -1 to 11"),
        (2**40, f"columns go from 0 to {2**40}"),  # SciPy cannot convert it
        (2**70, "columns are object"),
    ],
)
def test_lists_with_a_column_that_is_not_there(column, words):
    Y = sp.lil_array(COUNTS)
    Y.rows[0], Y.data[0] = [0, column], [1.0, 1.0]
    known = SearchIndex(DCoT(5).fit(COUNTS))
    for use in (DCoT(5).fit, TermWeighting("bm25").fit_transform, known.add):
        with pytest.raises(DcotError, match=words):
            use(Y)


def test_lists_of_different_lengths():
    Y = sp.lil_array(COUNTS)
    Y.data[0] = [1.0] * 50
    for use in (DCoT(5).fit, DCoT(5).fit(COUNTS).transform, TermWeighting("bm25").fit_transform):
        with pytest.raises(DcotError, match="not of the same length"):
            use(Y)


@pytest.mark.parametrize("change", ["shape", "flat", "pointers", "floats"])
def test_arrays_of_the_wrong_kind(change):
    Y = damaged("", np.int32, "bsr" if change in ("shape", "flat") else "csr")
    if change == "shape":
        Y.data = np.ones((len(Y.indices), 3, 3))
    elif change == "flat":
        Y.data = np.ones(len(Y.indices))
    elif change == "pointers":
        Y.indptr = Y.indptr[:-1]
    else:
        Y.indices = Y.indices.astype(float)
    with pytest.raises(DcotError, match="not a valid sparse matrix"):
        DCoT(5).fit(Y)


@pytest.mark.parametrize("end", ["rows", "columns"])
def test_coordinates_are_checked(end):
    Y = sp.random(200, 50, 0.1, format="coo", random_state=0)
    (Y.row if end == "rows" else Y.col)[7] = 10**6
    with pytest.raises(DcotError, match=rf"{end} go from \d+ to 1000000"):
        DCoT(5).fit(Y)


@pytest.mark.parametrize("dtype", [np.int64, np.uint32, np.uint64])
def test_any_integers_are_good_indices(dtype):
    Y = damaged("", np.int32, "csr")
    expected = DCoT(5).fit_transform(Y)
    np.testing.assert_array_equal(DCoT(5).fit_transform(damaged("", dtype, "csr")), expected)


def test_flags_that_are_out_of_date():
    Y = sp.csr_array(COUNTS)
    Y.sort_indices()
    assert Y.has_canonical_format
    start, stop = Y.indptr[:2]
    Y.indices[start:stop] = Y.indices[start:stop][::-1].copy()
    Y.data[start:stop] = Y.data[start:stop][::-1].copy()
    np.testing.assert_allclose(DCoT(5).fit_transform(Y), DCoT(5).fit_transform(COUNTS), atol=1e-12)


# -- the rest -------------------------------------------------------------------------------------


@pytest.mark.parametrize("noises", [0.5, [], None, np.array(0.5), "0.5", iter(())])
def test_noise_path_wants_several(noises):
    with pytest.raises(DcotError, match="noises must be a list"):
        DCoT(5).noise_path(COUNTS, noises)


def test_a_noise_path_may_be_generated():
    models = DCoT(5).noise_path(COUNTS, (noise for noise in (0.5, 0.9)))
    assert [model.noise for model in models] == [0.5, 0.9]


def test_weights_that_are_no_numbers():
    with pytest.raises(DcotError, match="sample_weight must be numbers"):
        DCoT(5).fit(COUNTS, sample_weight="abc")


def test_no_documents_have_no_features():
    model = DCoT(5).fit(COUNTS)
    assert model.transform(COUNTS[:0]).shape == (0, 10)
    assert model.transform(sp.csr_array((0, 12))).shape == (0, 10)
    with pytest.raises(DcotError, match="got an empty list"):
        model.transform([])


@pytest.mark.parametrize(
    ("change", "advice"),
    [
        ({"squash": "tanh"}, "set squash='identity' or n_layers=1"),
        ({"squash": "tanh", "n_layers": 1}, "set squash='identity' or normalize=None"),
        ({"output": "lsi"}, "output='lsi': set it to 'layers'"),
        ({"output": "all"}, "output='all': set it to 'layers'"),
        ({"n_components": 3}, "n_components: set it to None"),
    ],
)
def test_moments_are_not_enough_for_what_is_asked_later(change, advice):
    model = DCoT(5).partial_fit(COUNTS).set_params(**change)
    with pytest.raises(DcotError, match="cannot be learned from moments") as raised:
        model.transform(COUNTS)
    assert advice in str(raised.value)
    back = {name: getattr(DCoT(), name) for name in change}
    assert model.set_params(**back).transform(COUNTS).shape == (len(COUNTS), 10)


def test_prototypes_in_lists_of_different_lengths():
    with pytest.raises(DcotError, match="prototypes must be a list"):
        DCoT(prototypes=[[0, 1], [2]]).fit(COUNTS)
    with pytest.raises(DcotError, match="prototypes must be a list"):
        DCoT(prototypes=[[0, 1], [2]]).noise_path(COUNTS, [0.5, 0.9])


def test_partial_fit_says_why_it_is_not_there():
    with pytest.raises(NotAvailableError, match="set squash='identity' or n_layers=1"):
        DCoT(squash="tanh").partial_fit(COUNTS)


@pytest.mark.parametrize("kind", [sp.coo_array, sp.csr_array])
def test_a_sparse_row_is_no_matrix(kind):
    if kind is sp.csr_array and Version(scipy.__version__) < Version("1.14"):
        pytest.skip("this version of SciPy has no CSR arrays of one dimension")
    row, blocks = kind(np.array([1.0, 0, 2])), [sp.csr_array(COUNTS), kind(np.ones(3))]
    with pytest.raises(DcotError, match="dimension"):
        TermWeighting().fit(row)
    for wrong in (row, blocks):
        with pytest.raises(DcotError):
            DCoT().fit(wrong)


@pytest.mark.parametrize("model", [DCoT(), TermCounter(), TermWeighting(), DCoTVectorizer()])
@pytest.mark.parametrize("name", ["foo", "foo__bar", "noise__bar", "dtype__bar", "norm__bar"])
def test_a_parameter_that_is_not_there(model, name):
    before = model.get_params()
    with pytest.raises(InvalidParameterError, match=name.split("__")[0]):
        model.set_params(**{name: 1})
    assert model.get_params() == before
