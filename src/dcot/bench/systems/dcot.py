"""dCoT in three forms: the classifier as a user calls it, its features, the paper's method."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator

from dcot.bench.features import Block, Blocks
from dcot.bench.systems.base import (
    Array,
    Learned,
    Setting,
    Size,
    Supervised,
    System,
    grid,
    groups,
    share,
)
from dcot.bench.tasks import Documents
from dcot.classifier import DCoTClassifier
from dcot.core.representation import Representation
from dcot.estimator import DCoT
from dcot.vectorizer import DCoTVectorizer

PAPER_NOISES: dict[Size, tuple[float, ...]] = {
    "full": (0.8, 0.5, 0.3, 0.7, 0.9),
    "small": (0.8, 0.5),
}
PAPER_LAYERS: dict[Size, tuple[int, ...]] = {"full": (2, 1, 3, 4), "small": (2, 1)}
PAPER_PROTOTYPES: dict[Size, int] = {"full": 1000, "small": 300}


def inputs_of(documents: Documents) -> Any:
    """What a user passes to dCoT: texts, or TF-IDF if the corpus has only counts."""
    return documents.tfidf if documents.texts is None else documents.texts


def model_for(documents: Documents) -> type[DCoT] | type[DCoTVectorizer]:
    """The class that reads `inputs_of` these documents."""
    return DCoT if documents.texts is None else DCoTVectorizer


class Classifier(Supervised):
    """``DCoTClassifier().fit(texts, labels)`` with its defaults, its own selection and ridge.

    With a pretrained system ``beside`` it, ``fit(texts, labels, vectors=...)`` gets its vectors.
    The representation does not depend on labels, so it is learned once for all sets of labels.
    """

    name = "dCoT"
    about = "dcot.DCoTClassifier with its defaults, on texts (on TF-IDF if there are only counts)"
    seconds = 0.8  # for 1000 documents, with any number of labels

    def __init__(self, beside: System | None = None) -> None:
        self.beside = beside
        if beside is not None:
            self.name = name_with(beside.name)

    def parameters(self, size: Size) -> Setting:
        """The defaults, and the setting of the system beside it."""
        found = {name: repr(value) for name, value in DCoTClassifier().get_params(False).items()}
        return found if self.beside is None else {**found, "beside": self.beside.settings(size)[0]}

    def learn(self, documents: Documents) -> FrozenEstimator:
        """The representation that ``fit`` would learn from these documents."""
        return FrozenEstimator(model_for(documents)().fit(inputs_of(documents)))

    def predict(
        self,
        representation: FrozenEstimator,
        learned: Documents,
        labels: Sequence[Any],
        test: Documents,
        vectors: tuple[Array, Array] | None = None,
    ) -> tuple[Array, Setting]:
        known, new = vectors or (None, None)
        model = DCoTClassifier(vectorizer=representation, random_state=0)
        model.fit(inputs_of(learned), list(labels), vectors=known)
        predicted = model.predict(inputs_of(test), vectors=new)
        return np.asarray(predicted), {"chosen": str(model.best_params_)}


def name_with(system: str) -> str:
    """The name of dCoT with the vectors of another system."""
    return f"{Classifier.name} with {system}"


class Features(System):
    """``DCoTVectorizer().fit_transform(texts)``, for an SVM instead of the classifier's ridge."""

    name = "dCoT features"
    about = "dcot.DCoTVectorizer with its defaults (dcot.DCoT on TF-IDF if there are only counts)"
    seconds = 1.0

    def settings(self, size: Size) -> list[Setting]:
        return [{"n_prototypes": 2000 if size == "full" else 600}]

    def learn(self, documents: Documents, settings: Sequence[Setting]) -> Iterator[Learned]:
        for setting in settings:
            model = model_for(documents)(**setting).fit(inputs_of(documents))

            def features(documents: Documents, model: DCoT | DCoTVectorizer = model) -> Blocks:
                return [Block.of(model.transform(inputs_of(documents)))]

            yield Learned(setting, features)


class Paper(System):
    """``DCoT.paper``: counts, tanh, no shrinkage, x kept, nothing scaled.

    Noise and layers are searched; the paper does not state its number of prototypes.
    """

    name = "dCoT (paper)"
    about = "dcot.DCoT.paper on counts"
    seconds = 0.2

    def settings(self, size: Size) -> list[Setting]:
        r = (PAPER_PROTOTYPES[size],)
        return grid(n_prototypes=r, noise=PAPER_NOISES[size], layers=PAPER_LAYERS[size])

    def learn(self, documents: Documents, settings: Sequence[Setting]) -> Iterator[Learned]:
        depth = max(setting["layers"] for setting in settings)
        for (r, noise), members in groups(settings, "n_prototypes", "noise").items():
            model = DCoT.paper(r, noise, depth).fit(documents.counts)

            def outputs(documents: Documents, model: DCoT = model) -> list[Any]:
                return outputs_of(model, documents.counts, None)

            yield from share(members, outputs, self._blocks)

    def _blocks(self, layers: list[Any], setting: Setting, documents: Documents) -> Blocks:
        return [Block.of(F) for F in (documents.counts, *layers[: setting["layers"]])]


def outputs_of(model: DCoT, X: Any, normalize: str | None) -> list[Any]:
    """The outputs of every layer."""
    layers = model.layers_
    depths = range(1, len(layers) + 1)
    return [Representation(layers[:n], "last", normalize).transform(X) for n in depths]
