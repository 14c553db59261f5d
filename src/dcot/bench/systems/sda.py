"""Stacked denoising autoencoder: gradient descent on input that is really corrupted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.neural_network import MLPRegressor

from dcot.bench.machines import Blocks
from dcot.bench.systems._base import SEED, Learned, Setting, Size, System, remembered, scaled
from dcot.bench.tasks import Documents

Array = NDArray[Any]
BATCH = 100


class Sda(System):
    """One autoencoder after the other, each reading the hidden layer of the one before.

    Each is scikit-learn's MLPRegressor with one hidden layer of tanh units, fed by
    ``partial_fit`` with documents whose terms were removed at random, anew in every epoch, and
    the documents themselves as targets. The vocabulary is cut to the terms in most documents:
    the output layer has a unit for each.
    """

    name = "SDA"
    about = "sklearn MLPRegressor on sampled corruptions of TF-IDF, layer by layer"
    slow = True

    def settings(self, size: Size) -> list[Setting]:
        full = size == "full"
        common = {
            "terms": 5000 if full else 500,
            "units": 500 if full else 50,
            "epochs": 10 if full else 4,
        }
        noises = (0.5, 0.8) if full else (0.5,)
        return [
            {**common, "noise": noise, "layers": layers} for noise in noises for layers in (1, 2)
        ]

    def learn(self, documents: Documents, settings: Sequence[Setting]) -> Iterator[Learned]:
        for noise in dict.fromkeys(setting["noise"] for setting in settings):
            members = [setting for setting in settings if setting["noise"] == noise]
            stack = Stack(members[0], max(setting["layers"] for setting in members))
            stack.fit(documents.tfidf)
            hidden = remembered(stack.hidden)
            for setting in members:

                def features(
                    documents: Documents, setting: Setting = setting, hidden: Any = hidden
                ) -> Blocks:
                    return [scaled(H, "unit") for H in hidden(documents)[: setting["layers"]]]

                yield Learned(setting, features)


class Stack:
    """The autoencoders of one noise level."""

    def __init__(self, setting: Setting, n_layers: int) -> None:
        self.setting, self.n_layers = setting, n_layers

    def fit(self, X: Any) -> None:
        """Learn layer by layer."""
        seen = np.asarray((X > 0).sum(axis=0)).ravel()
        self.columns = np.sort(np.argsort(-seen, kind="stable")[: self.setting["terms"]])
        Z = self._input(X)
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
                    model.partial_fit(self._corrupted(clean, rng), target)
            self.layers.append(model)
            Z = _hidden(model, Z)

    def hidden(self, documents: Documents) -> list[Array]:
        """Activations of every layer on clean documents."""
        Z, outputs = self._input(documents.tfidf), []
        for model in self.layers:
            Z = _hidden(model, Z)
            outputs.append(Z)
        return outputs

    def _input(self, X: Any) -> Any:
        # Unit rows spread one over thousands of terms: scaled up, so that squared errors are
        # of the order of one and the optimiser's usual step fits.
        cut = sp.csr_array(X[:, self.columns], dtype=np.float32)
        return cut * np.float32(np.sqrt(len(self.columns)))

    def _corrupted(self, Z: Any, rng: np.random.Generator) -> Any:
        keep = 1 - self.setting["noise"]
        if not sp.issparse(Z):
            return np.where(rng.random(Z.shape) < keep, Z, np.float32(0))
        Z = Z.copy()
        Z.data *= (rng.random(len(Z.data)) < keep).astype(np.float32)
        return Z


def _hidden(model: MLPRegressor, Z: Any) -> Array:
    return np.asarray(np.tanh(Z @ model.coefs_[0] + model.intercepts_[0]), dtype=np.float32)
