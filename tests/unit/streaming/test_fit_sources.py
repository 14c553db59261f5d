"""Fitting from batches gives the model of a fit on all documents, by every way there is."""

from __future__ import annotations

import time
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from tests.unit.streaming.corpus import matrix
from tests.unit.streaming.same import assert_same_model

from dcot import DCoT
from dcot.core.options import FitOptions
from dcot.core.plan import CorpusSize, Plan, meetings, pass_plans, plan_passes
from dcot.core.solvers.cg import iterate
from dcot.errors import InvalidInputError, InvalidParameterError, InvalidTypeError, OutOfMemoryError
from dcot.stream import Blocks, NpzFiles, Once, Repeatable, fitting

WAYS = [("packed", "cholesky", 40), ("packed", "cg", 40), ("sparse", "cg", 40), ("none", "cg", 40)]


def cut(X, *places):
    bounds = [0, *places, X.shape[0]]
    return [X[a:b] for a, b in pairwise(bounds)]


@pytest.fixture
def X():
    return matrix()


@pytest.fixture
def way(request, monkeypatch):
    storage, method, width = request.param
    plan = Plan(storage, method, 0.0, 0.0, 0.0, 1, width)
    monkeypatch.setattr(fitting, "plan_passes", lambda *a, **k: plan)
    return request.param


@pytest.fixture
def narrow_panels(monkeypatch):
    from dcot.stream import packed, sums

    monkeypatch.setattr(sums, "PANEL", 32)
    assert packed.panels_of(100)[0] == (0, 32)


OPTIONS = [
    {},
    {"squash": "tanh", "n_layers": 3},
    {"squash": "tanh", "n_layers": 1, "normalize": None},
    {"n_layers": 3, "noise": (0.5, 0.3, 0.6), "shrinkage": 0.2},
    {"output": "concat", "normalize": "center", "ridge": 0.1},
    {"n_components": 7, "random_state": 3},
    {"output": "all"},
    {"output": "lsi", "n_components": 7, "random_state": 3},
    {"prototypes": [3, 5, 60, 149]},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("way", WAYS, indirect=True, ids=str)
def test_every_way_gives_the_model_of_one_fit(X, way, options, narrow_panels):
    options = {"n_prototypes": 40, "tol": 1e-12, **options}
    expected = DCoT(**options, solver="primal").fit(X)
    got = DCoT(**options).fit(cut(X, 1, 120, 130, 371))
    assert_same_model(got, expected)
    np.testing.assert_allclose(
        sp.csr_array(got.transform(X)).toarray(),
        sp.csr_array(expected.transform(X)).toarray(),
        atol=1e-7,
    )


@pytest.mark.parametrize("way", [("none", "cg", 9)], indirect=True, ids=str)
def test_few_right_hand_sides_at_a_time(X, way):
    expected = DCoT(40, solver="primal").fit(X)
    assert_same_model(DCoT(40, tol=1e-12).fit(cut(X, 120)), expected)


def test_no_noise_is_the_least_norm_solution(X, narrow_panels):
    options = {"n_prototypes": 30, "noise": 0.0, "shrinkage": 0.0, "n_layers": 2}
    expected = DCoT(**options, solver="primal").fit(X)
    assert_same_model(DCoT(**options).fit(cut(X, 200)), expected, tol=1e-7)


@pytest.mark.parametrize("way", WAYS, indirect=True, ids=str)
def test_single_precision(X, way):
    options = {"n_prototypes": 40, "dtype": "float32", "tol": 1e-6}
    expected = DCoT(**options, solver="primal").fit(X)
    assert_same_model(DCoT(**options).fit(cut(X, 77)), expected, tol=2e-5)


@pytest.mark.parametrize("way", WAYS, indirect=True, ids=str)
@pytest.mark.parametrize("options", [{}, {"n_components": 5, "random_state": 0}], ids=str)
def test_weights(X, way, options):
    weights = np.random.default_rng(1).integers(0, 4, X.shape[0]).astype(float)
    options = {"n_prototypes": 40, "tol": 1e-12, **options}
    expected = DCoT(**options, solver="primal").fit(X, sample_weight=weights)
    got = DCoT(**options).fit(cut(X, 100, 250), sample_weight=weights)
    assert_same_model(got, expected)


@pytest.mark.parametrize("way", WAYS, indirect=True, ids=str)
def test_dense_blocks(X, way):
    expected = DCoT(40, solver="primal").fit(X)
    got = DCoT(40, tol=1e-12).fit([block.toarray() for block in cut(X, 100, 250)])
    assert_same_model(got, expected)


@settings(max_examples=15, deadline=None)
@given(st.lists(st.integers(0, 400), max_size=6))
def test_any_cut_gives_the_same_model(places):
    X = matrix()
    expected = DCoT(30, solver="primal").fit(X)
    assert_same_model(DCoT(30, solver="primal").fit(cut(X, *sorted(places))), expected)


def test_all_kinds_of_sources(X, tmp_path):
    expected = DCoT(30, solver="primal").fit(X)
    blocks = cut(X, 100, 250)
    paths = []
    for number, block in enumerate(blocks):
        paths.append(tmp_path / f"part{number}.npz")
        sp.save_npz(paths[-1], sp.csr_matrix(block), compressed=False)
    for source in (
        blocks,
        Blocks(blocks),
        paths,
        [str(path) for path in paths],
        NpzFiles(paths),
        lambda: iter(blocks),
        Repeatable(lambda: (block for block in blocks)),
        iter(blocks),
    ):
        assert_same_model(DCoT(30, solver="primal").fit(source), expected)


def test_mapped_files_are_not_read_into_memory(X, tmp_path):
    path = tmp_path / "x.npz"
    sp.save_npz(path, sp.csr_matrix(X), compressed=False)
    from dcot.stream.sources import mapped_csr

    mapped = mapped_csr(path)
    assert isinstance(mapped.data, np.memmap)
    assert isinstance(mapped.indices, np.memmap)
    assert (sp.vstack(list(mapped.slices())) != X).nnz == 0


def test_empty_blocks_add_nothing(X):
    expected = DCoT(30, solver="primal").fit(X)
    got = DCoT(30, solver="primal").fit([X[:0], X[:100], X[:0], X[100:], X[:0]])
    assert_same_model(got, expected)


# -- errors -------------------------------------------------------------------------------------


def test_different_columns_are_named(X):
    with pytest.raises(InvalidInputError, match=r"block 1: 149 columns.*150.*vocabulary"):
        DCoT(30).fit([X[:100], X[100:, :149]])


def test_a_bad_value_names_its_block(X):
    bad = X[100:].toarray()
    bad[3, 3] = np.nan
    with pytest.raises(InvalidInputError, match=r"block 1.*NaN"):
        DCoT(30).fit([X[:100], bad])


def test_a_bad_block_can_be_skipped_and_is_counted(X):
    bad = X[:50].toarray()
    bad[3, 3] = np.inf
    source = Blocks([X[:100], bad, X[100:]], on_error="skip")
    assert_same_model(DCoT(30, solver="primal").fit(source), DCoT(30, solver="primal").fit(X))
    assert list(source.skipped) == ["block 1"]


def with_nan(X):
    bad = X.toarray()
    bad[3, 3] = np.nan
    return bad


def test_a_bad_first_batch_of_an_iterator_is_named(X):
    with pytest.raises(InvalidInputError, match=r"batch 0.*NaN"):
        DCoT(30).fit(iter([with_nan(X[:50]), X]))
    with pytest.raises(InvalidInputError, match="batch 0"):
        DCoT(30).fit(iter(["a text", "another"]))


def test_bad_batches_of_an_iterator_can_be_skipped(X):
    expected = DCoT(30, solver="primal").fit(X)
    bad = with_nan(X[:50])
    for batches in ([bad, bad, X[:100], X[100:]], [X[:0], X[:100], bad, X[100:]]):
        source = Once(iter(batches), on_error="skip")
        assert_same_model(DCoT(30, solver="primal").fit(source), expected)
        numbers = [n for n, batch in enumerate(batches) if batch is bad]
        assert list(source.skipped) == [f"batch {number}" for number in numbers]
    with pytest.raises(InvalidInputError, match="no documents"):
        DCoT(30).fit(Once(iter([bad]), on_error="skip"))


def test_a_bad_block_of_a_noise_path_is_named(X):
    with pytest.raises(InvalidInputError, match=r"block 1.*NaN"):
        DCoT(30).noise_path([X[:100], with_nan(X[100:])], [0.5])
    with pytest.raises(InvalidInputError, match=r"block 1: 149 columns"):
        DCoT(30).noise_path([X[:100], X[100:, :149]], [0.5])
    source = Blocks([X[:100], with_nan(X[:50]), X[100:]], on_error="skip")
    (found,) = DCoT(30, solver="primal").noise_path(source, [0.5])
    assert_same_model(found, DCoT(30, solver="primal", noise=0.5).fit(X))
    with pytest.raises(InvalidInputError, match="no block can be used"):
        DCoT(30).noise_path(Blocks([with_nan(X)], on_error="skip"), [0.5])


def test_an_iterator_is_enough_for_one_pass_and_refused_for_two(X):
    with pytest.raises(InvalidInputError, match="can be read once"):
        DCoT(30, squash="tanh").fit(iter([X]))
    with pytest.raises(InvalidInputError, match="can be read once"):
        DCoT(30, n_components=5).fit(iter([X]))
    with pytest.raises(InvalidInputError, match="output='lsi' needs another pass"):
        DCoT(30, output="lsi").fit(iter([X]))
    once = iter([X])
    with pytest.raises(InvalidInputError, match="same iterator twice"):
        DCoT(30).fit(lambda: once)


def test_a_source_that_changes_is_refused(X):
    rounds = []

    def batches():
        rounds.append(1)
        return iter([X] if len(rounds) < 3 else [X, X])

    with pytest.raises(InvalidInputError, match=r"changed between passes: 400 .* 800"):
        DCoT(30, solver="primal").fit(batches)


@pytest.mark.parametrize("empty", [lambda: iter([]), iter([])])
def test_no_documents(empty):
    with pytest.raises(InvalidInputError, match="no documents"):
        DCoT(30).fit(empty)


def test_all_documents_without_terms():
    with pytest.raises(InvalidInputError, match="are empty"):
        DCoT(3).fit([sp.csr_array((5, 4)), sp.csr_array((2, 4))])


def test_dual_is_refused(X):
    with pytest.raises(InvalidParameterError, match="solver='dual' holds the documents"):
        DCoT(30, solver="dual").fit([X])


def test_weights_of_the_wrong_length(X):
    with pytest.raises(InvalidInputError, match="sample_weight"):
        DCoT(30).fit([X[:10], X[10:]], sample_weight=np.ones(11))
    with pytest.raises(InvalidInputError, match="sample_weight has 11 entries"):
        DCoT(30).fit(lambda: iter([X[:10], X[10:]]), sample_weight=np.ones(11))
    n = X.shape[0]
    with pytest.raises(InvalidInputError, match=f"has {n + 1} entries, and the source has {n} doc"):
        DCoT(30).fit(lambda: iter([X[:10], X[10:]]), sample_weight=np.ones(n + 1))


def test_weights_do_not_shift_when_a_batch_is_skipped(X):
    source = Repeatable(lambda: iter([X[:10], X[10:20, :5], X[20:]]), on_error="skip")
    with pytest.raises(InvalidParameterError, match="cannot be combined with on_error='skip'"):
        DCoT(30).fit(source, sample_weight=np.ones(X.shape[0]))


def test_damaged_files_are_named(X, tmp_path):
    good, bad = tmp_path / "good.npz", tmp_path / "bad.npz"
    sp.save_npz(good, sp.csr_matrix(X), compressed=False)
    bad.write_bytes(good.read_bytes()[:-500])
    with pytest.raises(InvalidInputError, match=r"bad\.npz is not an \.npz file, or is cut off"):
        DCoT(30).fit([good, bad])
    with pytest.raises(InvalidInputError, match=r"missing\.npz does not exist"):
        DCoT(30).fit([good, tmp_path / "missing.npz"])
    sp.save_npz(bad, sp.csr_matrix(X), compressed=True)
    with pytest.raises(InvalidParameterError, match=r"compressed=False"):
        DCoT(30).fit([good, bad])
    source = NpzFiles([good, bad], on_error="skip")
    assert DCoT(30).fit(source).n_documents_ == X.shape[0]
    assert "compressed" in source.skipped[str(bad)]
    sp.save_npz(bad, sp.csc_matrix(X), compressed=False)
    with pytest.raises(InvalidInputError, match="CSR"):
        DCoT(30).fit([bad])
    source = NpzFiles([good, bad], on_error="skip")
    assert DCoT(30).fit(source).n_documents_ == X.shape[0]
    assert list(source.skipped) == [str(bad)]


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("shape", np.array([20, 9, 3])),
        ("shape", np.array([-1, 9])),
        ("shape", np.array(["a", "b"])),
        ("format", np.array([b"csr", b"csc"])),
        ("indptr", np.array([0, 5], dtype=np.uint8)),
        ("indptr", np.array([0, 300, 200], dtype=np.uint64)),
        ("indices", np.array(3)),
        ("indices", np.full(4, -1)),
        ("data", np.array(["x"] * 4)),
        ("data", np.zeros((2, 2))),
    ],
)
def test_an_npz_with_other_arrays_is_damaged(tmp_path, name, array):
    X = sp.csr_matrix(np.eye(4))
    arrays = {part: getattr(X, part) for part in ("indices", "indptr", "data")}
    arrays |= {"shape": np.array(X.shape), "format": np.array(b"csr"), name: array}
    np.savez(tmp_path / "x.npz", **arrays)
    with pytest.raises(InvalidInputError, match=r"x\.npz is (damaged|not in CSR)"):
        DCoT(2).fit(NpzFiles(tmp_path / "x.npz"))


def test_too_large_for_every_way(X):
    with pytest.raises(OutOfMemoryError, match=r"150 terms.*allowed"):
        DCoT(30, memory_limit="1MB").fit([X])


# -- the choice ---------------------------------------------------------------------------------


def corpus(d, n, length=40):
    frequency = np.maximum(n * length / (np.arange(1, d + 1) * np.log(d)), 1)
    nnz = float(n * length)
    return CorpusSize(d, n, nnz, nnz * length / 2, np.minimum(frequency, n))


def settings_for(limit, solver="auto"):
    return FitOptions(noise=(0.9,), shrinkage=(1.0,), solver=solver, memory_limit=limit)


@pytest.mark.parametrize(
    ("d", "n", "limit", "storage"),
    [
        (3_000, 10**6, 4e9, "packed"),  # few terms: the matrix is small
        (100_000, 10**8, 64e9, "packed"),  # many, and room
        (100_000, 10**5, 5e9, "none"),  # no room for it
        (20_000, 500, 64e9, "none"),  # not worth it
    ],
)
def test_the_choice_follows_the_corpus(d, n, limit, storage):
    assert plan_passes(corpus(d, n), 1000, 4, settings_for(limit)).storage == storage


def test_a_sparse_matrix_where_terms_rarely_meet():
    d, n = 100_000, 10**8
    short = corpus(d, n, length=4)
    sparse = next(plan for plan in pass_plans(short, 300, 4, 0.9) if plan.storage == "sparse")
    packed = [plan for plan in pass_plans(short, 300, 4, 0.9) if plan.storage == "packed"]
    assert sparse.memory < min(plan.memory for plan in packed)
    assert plan_passes(short, 300, 4, settings_for(15e9)).storage in ("sparse", "none")


def test_less_memory_means_more_passes_not_failure():
    wide = plan_passes(corpus(100_000, 10**5), 1000, 4, settings_for(5e9))
    tight = plan_passes(corpus(100_000, 10**5), 1000, 4, settings_for(1.2e9))
    assert tight.memory <= 1.2e9 < wide.memory
    assert tight.passes > wide.passes
    assert tight.width < 1000


def test_the_number_of_meetings_is_an_upper_estimate():
    X = matrix(2000, 300)
    frequency = np.bincount(X.indices, minlength=300)
    cells = ((X.T @ X).nnz + np.count_nonzero(frequency)) / 2
    assert cells <= 1.1 * meetings(frequency, 2000)
    assert meetings(frequency, 2000) < 3 * cells


def test_the_plan_is_said_before_the_work(X, capsys, caplog):
    with caplog.at_level("INFO", logger="dcot"):
        model = DCoT(30, solver="primal", verbose=True).fit([X])
    assert "packed symmetric scatter matrix, cholesky: about" in caplog.text
    said = capsys.readouterr().err
    assert said.index("cholesky: about") < said.index("pass 2: scatter matrix")
    assert "documents/s" in said
    assert model.plan_.memory > 0


def test_a_short_iteration_warns(X):
    from sklearn.exceptions import ConvergenceWarning

    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        model = DCoT(30, solver="cg", max_iter=2, tol=1e-10).fit([X])
    assert model.n_iter_ == 2


def test_an_iteration_that_gets_no_better_ends():
    rng = np.random.default_rng(0)
    noisy = lambda vectors: vectors + rng.standard_normal(vectors.shape)  # noqa: E731
    found = iterate(noisy, np.ones((20, 3)), 0.1, tol=1e-12, max_iter=10_000)
    assert not found.converged
    assert found.n_iter < 500


@pytest.mark.parametrize("paths", [5, None, 1.5])
def test_paths_that_are_none(paths):
    with pytest.raises(InvalidTypeError, match="a path or a list of paths"):
        NpzFiles(paths)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_are_blocks_and_have_the_same_columns(X, frame):
    names = [f"word{k}" for k in range(X.shape[1])]
    whole = pd.DataFrame(X.toarray(), columns=names)
    blocks = [frame(whole[:20]), frame(whole[20:])]
    model = DCoT(solver="primal")
    assert_same_model(clone(model).fit(blocks), clone(model).fit(X))
    blocks[1] = blocks[1][names[::-1]]
    for fit in (DCoT().fit, lambda blocks: DCoT().noise_path(blocks, [0.5, 0.9])):
        with pytest.raises(InvalidInputError, match="block 1: the columns have other names"):
            fit(blocks)


def test_the_plan_does_not_depend_on_how_long_a_pass_takes():
    X = sp.random_array((2000, 3000), density=0.01, format="csr", random_state=0)

    def slowly():
        time.sleep(0.3)
        yield X

    fast, slow = (DCoT(20).fit(Repeatable(read)) for read in (lambda: iter([X]), slowly))
    assert (fast.plan_.storage, fast.plan_.method) == (slow.plan_.storage, slow.plan_.method)
    assert np.array_equal(fast.layers_[1].coef_, slow.layers_[1].coef_)
