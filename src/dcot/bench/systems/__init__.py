"""The systems that are compared: one class each, thin wrappers of libraries."""

from __future__ import annotations

from dcot.bench.systems.autoencoders import Msda, Sda
from dcot.bench.systems.base import Learned, SelfTrained, Setting, Size, Supervised, System
from dcot.bench.systems.dcot import Classifier, Features, Paper, name_with
from dcot.bench.systems.factors import BagOfWords, Lda, Lsi, Nmf, Pca, Plsi, Tfidf
from dcot.bench.systems.pretrained import Encoder, SetFit, StaticEmbeddings

__all__ = [
    "FEATURES",
    "NAMES",
    "OURS",
    "PAPER",
    "PRETRAINED",
    "SELF_TRAINED",
    "SYSTEMS",
    "WITH",
    "Classifier",
    "Encoder",
    "Learned",
    "SetFit",
    "Setting",
    "Size",
    "StaticEmbeddings",
    "Supervised",
    "System",
    "name_with",
]

_TFIDF, _LSI = Tfidf(), Lsi()
_ALL: tuple[System, ...] = (
    BagOfWords(),
    _TFIDF,
    SelfTrained(_TFIDF),
    _LSI,
    SelfTrained(_LSI),
    Pca(),
    Plsi(),
    Lda(),
    Nmf(),
    Sda(),
    Msda(),
    Paper(),
    Features(),
)
# In the order of tables: baselines, the paper's method, our features.
SYSTEMS: dict[str, System] = {system.name: system for system in _ALL}
SELF_TRAINED = tuple(name for name, system in SYSTEMS.items() if system.self_trained)
PAPER, FEATURES, OURS = Paper.name, Features.name, Classifier.name
NAMES = (*SYSTEMS, OURS)
# These were trained on other text than the corpus, and are compared separately.
PRETRAINED: dict[str, type[System] | type[Supervised]] = {
    kind.name: kind for kind in (Encoder, SetFit, StaticEmbeddings)
}
WITH = tuple(map(name_with, PRETRAINED))
