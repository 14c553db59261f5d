"""Pretrained rivals: a sentence-transformers model, the same fine-tuned, static embeddings."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from dcot.bench.features import Block, Blocks
from dcot.bench.systems.base import SEED, Array, Learned, Setting, Size, Supervised, System
from dcot.bench.tasks import Documents
from dcot.embedding.vectors import WORDLLAMA, as_encoder
from dcot.errors import DatasetError, InvalidInputError
from dcot.runtime.extras import require

_MODEL_FILES = (".json", ".txt", ".safetensors", ".bin", ".model")


class Encoder(System):
    """A sentence-transformers model in a folder; nothing is downloaded or trained.

    It was trained on far more text than the corpus, so it is compared separately.
    """

    name = "pretrained encoder"
    about = "sentence-transformers model from a folder, not trained here"
    slow = True
    needs_text = True
    seconds = 5.0

    def __init__(self, folder: str | Path) -> None:
        self.folder = _checked(folder)

    def settings(self, size: Size) -> list[Setting]:
        return [{"model": self.folder.name, "files": _digest(self.folder)}]

    def learn(self, documents: Documents, settings: Sequence[Setting]) -> Iterator[Learned]:
        yield from _fixed(settings, self.encode)

    def encode(self, texts: list[str]) -> Array:
        """Vectors of texts, of unit length."""
        library = require("sentence_transformers", "encoder")
        model = library.SentenceTransformer(str(self.folder), device="cpu")
        return np.asarray(model.encode(texts, normalize_embeddings=True))


class SetFit(Supervised):
    """The same model, fine-tuned by SetFit on pairs of labelled texts, with SetFit's defaults."""

    name = "SetFit"
    about = "setfit.Trainer with its defaults, from the same sentence-transformers model"
    seconds = 30.0

    def __init__(self, folder: str | Path) -> None:
        self.folder = _checked(folder)

    def parameters(self, size: Size) -> Setting:
        return {"model": self.folder.name, "files": _digest(self.folder)}

    def learn(self, documents: Documents) -> None:
        """Nothing: SetFit does not use unlabelled documents."""

    def predict(
        self,
        representation: None,
        learned: Documents,
        labels: Sequence[Any],
        test: Documents,
        vectors: tuple[Array, Array] | None = None,
    ) -> tuple[Array, Setting]:
        setfit, data = require("setfit", "setfit"), require("datasets", "setfit")
        pairs = [p for p in zip(texts_of(learned), labels, strict=True) if p[1] is not None]
        names = sorted({str(label) for _, label in pairs})
        numbers = [names.index(str(label)) for _, label in pairs]
        train = data.Dataset.from_dict({"text": [text for text, _ in pairs], "label": numbers})
        model = setfit.SetFitModel.from_pretrained(str(self.folder), labels=names)
        with tempfile.TemporaryDirectory() as folder:
            options = setfit.TrainingArguments(
                output_dir=folder, report_to="none", show_progress_bar=False, seed=SEED
            )
            setfit.Trainer(model, options, train_dataset=train).train()
        return np.asarray(model.predict(texts_of(test))), {}


class StaticEmbeddings(System):
    """The static embeddings of the package ``wordllama``: averages of word vectors."""

    name = "static embeddings"
    about = "wordllama's built-in vectors, not trained here"
    slow = True
    needs_text = True

    def settings(self, size: Size) -> list[Setting]:
        return [{"model": "wordllama"}]

    def learn(self, documents: Documents, settings: Sequence[Setting]) -> Iterator[Learned]:
        yield from _fixed(settings, as_encoder(WORDLLAMA))


def _checked(folder: str | Path) -> Path:
    path = Path(folder).expanduser()
    if not path.is_dir():
        raise DatasetError(f"{path} is not a folder: expected a sentence-transformers model")
    return path


@cache
def _digest(folder: Path) -> str:
    """A hash of a model's files, because different models may have folders of the same name."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.suffix in _MODEL_FILES:
            digest.update(f"{path.relative_to(folder).as_posix()} {path.stat().st_size} ".encode())
            with path.open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()[:12]


def _fixed(settings: Sequence[Setting], encode: Any) -> Iterator[Learned]:
    """The vectors of texts; they have one setting."""

    def features(documents: Documents) -> Blocks:
        vectors = np.asarray(encode(texts_of(documents)), dtype=np.float32)
        return [Block.of(np.nan_to_num(vectors), "unit")]  # an empty text may have none

    yield Learned(settings[0], features)


def texts_of(documents: Documents) -> list[str]:
    """The texts of documents; an error if there are none."""
    if documents.texts is None:
        raise InvalidInputError("this corpus has counts but no texts, which an encoder needs")
    return documents.texts
