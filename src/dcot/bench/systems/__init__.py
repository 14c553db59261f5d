"""The systems compared, one class each, a few lines over a real library."""

from __future__ import annotations

from dcot.bench.systems._base import Learned, Setting, Size, System
from dcot.bench.systems.bag import BagOfWords
from dcot.bench.systems.dcot import Msda, OurDCoT, PaperDCoT
from dcot.bench.systems.encoder import Encoder, StaticEmbeddings
from dcot.bench.systems.factors import Lsi, Nmf, Pca, Plsi
from dcot.bench.systems.lda import Lda
from dcot.bench.systems.sda import Sda
from dcot.bench.systems.tfidf import Tfidf

__all__ = [
    "OURS",
    "PAPER",
    "PRETRAINED",
    "SYSTEMS",
    "Encoder",
    "Learned",
    "Setting",
    "Size",
    "StaticEmbeddings",
    "System",
]

_ALL = (BagOfWords, Tfidf, Lsi, Pca, Plsi, Lda, Nmf, Sda, Msda, PaperDCoT, OurDCoT)
# In the order of tables: baselines, the paper to the letter, our defaults.
SYSTEMS: dict[str, System] = {kind.name: kind() for kind in _ALL}
PAPER, OURS = PaperDCoT.name, OurDCoT.name
# They have read other text than the corpus, and are compared apart.
PRETRAINED: dict[str, type[System]] = {kind.name: kind for kind in (Encoder, StaticEmbeddings)}
