"""Denoising autoencoders: by gradient descent (SDA), and in closed form (mSDA)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.neural_network import MLPRegressor

from dcot.bench.features import Block, Blocks
from dcot.bench.systems.base import ROWS, SEED, Learned, Setting, Size, System, grid, groups, share
from dcot.bench.systems.dcot import outputs_of
from dcot.bench.tasks import Documents
from dcot.estimator import DCoT

Array = NDArray[Any]
BATCH = 100


def frequent_terms(X: Any, count: int) -> Array:
    """Columns of the terms that most documents have."""
    seen = np.asarray((X > 0).sum(axis=0)).ravel()
    return np.sort(np.argsort(-seen, kind="stable")[:count])


class Sda(System):
    """A stack of autoencoders, each reading the hidden layer of the one below.

    Each is scikit-learn's MLPRegressor with one hidden layer of tanh units. In every epoch
    ``partial_fit`` gets documents with terms removed at random as inputs, and the documents
    themselves as targets. The output layer has a unit per term, so the vocabulary is cut to the
    terms that most documents have.
    """

    name = "SDA"
    about = "sklearn MLPRegressor on sampled corruptions of TF-IDF, layer by layer"
    slow = True
    seconds = 7.5

    def settings(self, size: Size) -> list[Setting]:
        full = size == "full"
        return grid(
            terms=(5000 if full else 500,),
            units=(500 if full else 50,),
            epochs=(10 if full else 4,),
            noise=(0.5, 0.8) if full else (0.5,),
            layers=(1, 2),
        )

    def learn(self, documents: Documents, settings: Sequence[Setting]) -> Iterator[Learned]:
        for members in groups(settings, "noise").values():
            stack = SdaStack(members[0], max(setting["layers"] for setting in members))
            stack.fit(documents.tfidf)
            yield from share(members, stack.hidden, self._blocks)

    def _blocks(self, hidden: list[Array], setting: Setting, documents: Documents) -> Blocks:
        return [Block.of(H, "unit") for H in hidden[: setting["layers"]]]


class SdaStack:
    """The autoencoders of one noise level."""

    def __init__(self, setting: Setting, n_layers: int) -> None:
        self.setting, self.n_layers = setting, n_layers

    def fit(self, X: Any) -> None:
        """Learn layer by layer."""
        self.columns = frequent_terms(X, self.setting["terms"])
        Z = self.input(X)
        rng = np.random.default_rng(SEED)
        self.layers: list[MLPRegressor] = []
        for _ in range(self.n_layers):
            model = MLPRegressor(
                hidden_layer_sizes=(self.setting["units"],),
                activation="tanh",
                alpha=0.0,
                learning_rate_init=1e-3,
                random_state=SEED,
            )
            for _ in range(self.setting["epochs"]):
                order = rng.permutation(Z.shape[0])
                for start in range(0, len(order), BATCH):
                    clean = Z[order[start : start + BATCH]]
                    target = clean.toarray() if sp.issparse(clean) else clean
                    model.partial_fit(self.corrupted(clean, rng), target)
            self.layers.append(model)
            Z = _hidden(model, Z)

    def hidden(self, documents: Documents) -> list[Array]:
        """Activations of every layer on clean documents."""
        Z, outputs = self.input(documents.tfidf), []
        for model in self.layers:
            Z = _hidden(model, Z)
            outputs.append(Z)
        return outputs

    def input(self, X: Any) -> Any:
        """The cut vocabulary, scaled up.

        Values in unit rows are tiny. Scaled up, squared errors are of the order of one, and the
        default step size of the optimiser fits.
        """
        cut = sp.csr_array(X[:, self.columns], dtype=np.float32)
        return cut * np.float32(np.sqrt(len(self.columns)))

    def corrupted(self, Z: Any, rng: np.random.Generator) -> Any:
        """A copy with terms removed at random."""
        keep = 1 - self.setting["noise"]
        if not sp.issparse(Z):
            return np.where(rng.random(Z.shape) < keep, Z, np.float32(0))
        Z = Z.copy()
        Z.data *= (rng.random(len(Z.data)) < keep).astype(np.float32)
        return Z


def _hidden(model: MLPRegressor, Z: Any) -> Array:
    return np.asarray(np.tanh(Z @ model.coefs_[0] + model.intercepts_[0]), dtype=np.float32)


class Msda(System):
    """Marginalised SDA: the closed form with every term as a target, and x kept as features.

    The system is terms × terms, so the vocabulary is cut to the terms that most documents have.
    """

    name = "mSDA"
    about = "the closed form with all terms as targets, on TF-IDF of a cut vocabulary"
    seconds = 0.3

    def settings(self, size: Size) -> list[Setting]:
        full = size == "full"
        return grid(
            terms=(3000 if full else 500,),
            noise=(0.8, 0.5, 0.9) if full else (0.8,),
            layers=(1, 2),
            rows=ROWS,
        )

    def learn(self, documents: Documents, settings: Sequence[Setting]) -> Iterator[Learned]:
        depth = max(setting["layers"] for setting in settings)
        columns = frequent_terms(documents.counts, settings[0]["terms"])
        X = documents.tfidf[:, columns]
        for (noise,), members in groups(settings, "noise").items():
            model = DCoT.paper(len(columns), noise, depth, solver="primal").fit(X)

            def outputs(documents: Documents, model: DCoT = model) -> list[Any]:
                return outputs_of(model, documents.tfidf[:, columns], None)

            yield from share(members, outputs, self._blocks)

    def _blocks(self, layers: list[Any], setting: Setting, documents: Documents) -> Blocks:
        scaled = [Block.of(Z, setting["rows"]) for Z in layers[: setting["layers"]]]
        return [Block.of(documents.tfidf), *scaled]
