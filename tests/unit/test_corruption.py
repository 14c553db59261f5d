"""The marginalised corruption against corruption that is really sampled."""

from __future__ import annotations

import numpy as np
import pytest
from tests.reference import counts, explicit_layer, sampled_layer, sampled_loss

from dcot import DCoT
from dcot.core.corruption import Solution, System, marginalise
from dcot.core.moments import Moments

NOISE = 0.5
TARGETS = np.array([0, 3, 5])


@pytest.fixture(scope="module")
def X():
    return counts(np.random.default_rng(1), 60, 6, rate=1.0)


def test_samples_converge_to_the_closed_form_at_the_expected_rate(X):
    coef, intercept = explicit_layer(X, TARGETS, NOISE)
    errors = []
    for copies in (1, 10, 100, 1000):
        squared = []
        for seed in range(12):
            W, b = sampled_layer(X, TARGETS, NOISE, copies, np.random.default_rng(seed))
            squared.append(((W - coef) ** 2).sum() + ((b - intercept) ** 2).sum())
        errors.append(np.sqrt(np.mean(squared)))
    # the error of a mean of m samples falls like m^(−½): 3.2 times for 10 times the copies
    ratios = np.array(errors[:-1]) / errors[1:]
    assert (ratios > 2.2).all(), errors
    assert (ratios < 4.5).all(), errors
    assert errors[-1] < 0.02


def test_the_paper_as_printed_is_not_the_limit(X):
    """E[R] with q_α, the target's factor, in place of q_β moves away from the sampled solution."""
    n, d = X.shape
    constant = np.hstack([X, np.ones((n, 1))])
    S = constant.T @ constant
    survive = np.append(np.full(d, 1 - NOISE), 1.0)
    Q = S * np.outer(survive, survive)
    np.fill_diagonal(Q, np.diag(S) * survive)
    printed = np.linalg.solve(Q, (S[TARGETS] * survive[TARGETS][:, None]).T)
    mended, intercept = explicit_layer(X, TARGETS, NOISE)
    W, b = sampled_layer(X, TARGETS, NOISE, 1000, np.random.default_rng(0))
    far = np.abs(np.vstack([W, b]) - printed).max()
    near = np.abs(np.vstack([W, b]) - np.vstack([mended, intercept])).max()
    assert near < 0.05 < far / 5


@pytest.mark.parametrize("shrinkage", [0.0, 0.5])
@pytest.mark.parametrize("ridge", [0.0, 0.01])
def test_loss_is_the_expected_reconstruction_error(X, shrinkage, ridge):
    model = DCoT(
        prototypes=TARGETS,
        noise=NOISE,
        n_layers=1,
        shrinkage=shrinkage,
        ridge=ridge,
        normalize=None,
        solver="primal",
    ).fit(X)
    layer = model.layers_[0]
    rng = np.random.default_rng(0)
    sampled = sampled_loss(X, TARGETS, NOISE, layer.coef_, layer.intercept_, 4000, rng)
    assert model.loss_[0] == pytest.approx(sampled, rel=0.01)


@pytest.mark.parametrize("solver", ["primal", "dual", "cg"])
def test_all_solvers_report_the_same_loss(X, solver):
    options = {"prototypes": TARGETS, "noise": 0.7, "shrinkage": 0.3, "tol": 1e-12}
    expected = DCoT(**options, solver="primal").fit(X).loss_
    np.testing.assert_allclose(DCoT(**options, solver=solver).fit(X).loss_, expected)


@pytest.mark.parametrize("noise", [0.0, 0.3])
@pytest.mark.parametrize("ridge", [0.0, 7e-5])
def test_mean_variation_and_loss_without_looking_at_the_outputs(X, noise, ridge):
    X = 0.01 * X  # sums below 1
    system = marginalise(Moments.of(X), noise, shrinkage=0.2, ridge=ridge)
    shrinkage = 0.2 if noise else 0.0  # without noise there is nothing to shrink
    coef, intercept = explicit_layer(X, TARGETS, noise, shrinkage=shrinkage, ridge=ridge)
    mean, centred = X.mean(0)[TARGETS], X - X.mean(0)
    outputs, norms = X @ coef + intercept, (coef**2).sum(axis=1)
    bias, output_mean = system.biases(coef, mean)
    np.testing.assert_allclose(bias, intercept, atol=1e-12)
    np.testing.assert_allclose(output_mean, outputs.mean(0))
    gain = float((coef * (centred.T @ centred[:, TARGETS])).sum())
    expected = ((outputs - outputs.mean(0)) ** 2).sum()
    assert system.output_variation(gain, norms) == pytest.approx(expected)
    # the squared bias of a corrupted output, and its variance
    kept = X[:, TARGETS] - (1 - noise) * X @ coef - intercept
    expected = (kept**2).sum() + noise * (1 - noise) * (X**2 @ coef**2).sum()
    loss = system.loss(len(X), float((centred[:, TARGETS] ** 2).sum()), gain, norms)
    assert loss == pytest.approx(expected / (2 * len(X)), abs=1e-12)
    assert system.loss(len(X), 0.0, gain, norms) >= 0  # rounding
    assert np.isnan(system.loss(len(X), 0.0, np.nan, norms))


def test_rare_terms_have_a_root_and_terms_that_never_occur_have_none():
    scale = np.array([0.0, 1e-12, 0.25, 4.0])
    system = System(0.5, 0.5, scale, np.zeros(4), scale)
    np.testing.assert_allclose(system.inverse_root, [0.0, 1e6, 2.0, 0.5])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_noise_that_is_not_more_than_rounding_makes_nothing_regular(X, dtype):
    eps = float(np.finfo(dtype).eps)
    regular = [marginalise(Moments.of(X), noise).is_regular(dtype) for noise in (eps, 2 * eps)]
    assert regular == [False, True]


def test_the_solution_of_equal_documents_is_zero():
    """Otherwise it would be rounding errors, which are scaled up to features."""
    solution = Solution(np.ones((5, 3)), 7.0)
    differ = np.random.default_rng(0).random((4, 5))
    assert solution.unless_equal(Moments.of(differ)) is solution
    equal = solution.unless_equal(Moments.of(np.tile(differ[:1], (4, 1))))
    assert not equal.coef.any()
    assert equal.coef.shape == (5, 3)
    assert equal.gain == 0


@pytest.mark.parametrize("size", [1e-9, 1e9, 1e14, 1e20])
def test_documents_of_large_weight_are_not_equal(X, size):
    """The weights of all documents together are no number of additions that round."""
    weights = np.full(len(X), size)
    assert Moments.of(X, weights).differ
    assert not Moments.of(np.repeat(X[:1], len(X), axis=0), weights).differ
