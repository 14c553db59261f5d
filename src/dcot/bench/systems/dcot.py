"""dCoT: our defaults and their neighbours, the paper to the letter, and mSDA, its forerunner."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

import numpy as np

from dcot.bench.machines import Blocks
from dcot.bench.systems._base import (
    ROWS,
    Learned,
    Setting,
    Size,
    System,
    grid,
    groups,
    remembered,
    scaled,
)
from dcot.bench.tasks import Documents
from dcot.classifier.selection import LAYER_2_NOISE, read_grid, star
from dcot.core.representation import Representation
from dcot.estimator import DCoT

PAPER_NOISES: dict[Size, tuple[float, ...]] = {
    "full": (0.8, 0.5, 0.3, 0.7, 0.9, 0.95),
    "small": (0.8, 0.5),
}
PAPER_LAYERS: dict[Size, tuple[int, ...]] = {"full": (2, 1, 3, 4), "small": (2, 1)}
PAPER_PROTOTYPES: dict[Size, int] = {"full": 1000, "small": 300}


class OurDCoT(System):
    """The candidates of ``DCoTClassifier``: the defaults, and one thing changed at a time."""

    name = "dCoT"
    about = "dcot.DCoT on TF-IDF, the candidates of DCoTClassifier"
    prior = True

    def settings(self, size: Size) -> list[Setting]:
        few = {"noise": (0.9, 0.8), "shrinkage": (1.0,), "n_prototypes": (1000,)}
        chosen = read_grid(few if size == "small" else None)
        return [asdict(setting) for setting in star(chosen)]

    def learn(self, documents: Documents, settings: Sequence[Setting]) -> Iterator[Learned]:
        for (shrinkage, r), members in groups(settings, "shrinkage", "n_prototypes").items():
            noises = list(dict.fromkeys(setting["noise"] for setting in members))
            base = DCoT(r, shrinkage=(shrinkage, 0.0), tol=1e-3)
            models = base.noise_path(documents.tfidf, [(n, LAYER_2_NOISE) for n in noises])
            for noise, model in zip(noises, models, strict=True):
                outputs = remembered(partial(_both_layers, model))
                for setting in members:
                    if setting["noise"] == noise:
                        yield Learned(setting, _ours(setting["features"], outputs))


def _ours(form: str, outputs: Any) -> Any:
    names = {"both layers": ("layer 1", "layer 2"), "x and both layers": ("layer 1", "layer 2")}

    def features(documents: Documents) -> Blocks:
        found = outputs(documents)
        blocks = [found[name] for name in names.get(form, (form,))]
        return [documents.tfidf, *blocks] if form.startswith("x") else blocks

    return features


def _both_layers(model: DCoT, documents: Documents) -> dict[str, Any]:
    outputs = outputs_of(model, documents.tfidf, "unit")
    return {"layer 1": outputs[0], "layer 2": outputs[1]}


def _from_counts(model: DCoT, documents: Documents) -> list[Any]:
    return outputs_of(model, documents.counts, None)


def _from_some_terms(model: DCoT, columns: Any, documents: Documents) -> dict[str, list[Any]]:
    """Layers by the form of their rows: settings share them, for they are large."""
    layers = outputs_of(model, documents.tfidf[:, columns], None)
    return {rows: [scaled(Z, rows) for Z in layers] for rows in ROWS}


class PaperDCoT(System):
    """``DCoT.paper``: counts, tanh, no shrinkage, x kept, nothing scaled.

    Noise and layers by validation, as in the paper; it does not say how many prototypes it took.
    """

    name = "dCoT (paper)"
    about = "dcot.DCoT.paper on counts; noise and layers by validation"

    def settings(self, size: Size) -> list[Setting]:
        r = (PAPER_PROTOTYPES[size],)
        return grid(n_prototypes=r, noise=PAPER_NOISES[size], layers=PAPER_LAYERS[size])

    def learn(self, documents: Documents, settings: Sequence[Setting]) -> Iterator[Learned]:
        depth = max(setting["layers"] for setting in settings)
        for (r, noise), members in groups(settings, "n_prototypes", "noise").items():
            model = DCoT.paper(r, noise, depth).fit(documents.counts)
            outputs = remembered(partial(_from_counts, model))
            for setting in members:

                def features(
                    documents: Documents, setting: Setting = setting, outputs: Any = outputs
                ) -> Blocks:
                    return [documents.counts, *outputs(documents)[: setting["layers"]]]

                yield Learned(setting, features)


class Msda(System):
    """Marginalised SDA: the same closed form with every term as a target.

    d × d, so the vocabulary is cut to the terms in most documents. Layers and x side by side.
    """

    name = "mSDA"
    about = "the closed form with all terms as targets, on TF-IDF of a cut vocabulary"

    def settings(self, size: Size) -> list[Setting]:
        full = size == "full"
        return grid(
            terms=(3000 if full else 500,),
            noise=(0.8, 0.5, 0.9) if full else (0.8,),
            layers=(1, 2, 3) if full else (1, 2),
            rows=ROWS,
        )

    def learn(self, documents: Documents, settings: Sequence[Setting]) -> Iterator[Learned]:
        depth = max(setting["layers"] for setting in settings)
        seen = np.asarray((documents.counts > 0).sum(axis=0)).ravel()
        columns = np.sort(np.argsort(-seen, kind="stable")[: settings[0]["terms"]])
        X = documents.tfidf[:, columns]
        for (noise,), members in groups(settings, "noise").items():
            model = DCoT.paper(len(columns), noise, depth, solver="primal").fit(X)
            outputs = remembered(partial(_from_some_terms, model, columns))
            for setting in members:

                def features(
                    documents: Documents, setting: Setting = setting, outputs: Any = outputs
                ) -> Blocks:
                    layers = outputs(documents)[setting["rows"]]
                    return [documents.tfidf, *layers[: setting["layers"]]]

                yield Learned(setting, features)


def outputs_of(model: DCoT, X: Any, normalise: str | None) -> list[Any]:
    """The outputs of every layer, apart."""
    layers = model.layers_
    depths = range(1, len(layers) + 1)
    return [Representation(layers[:n], "last", normalise).transform(X) for n in depths]
