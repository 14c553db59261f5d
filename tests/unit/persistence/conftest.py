"""A few texts, and models small enough to be saved a thousand times."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from dcot import DCoT, DCoTVectorizer
from dcot.persistence import tensors
from dcot.persistence.files import write_synced
from dcot.persistence.manifest import ENDINGS, MANIFEST, FileEntry, Manifest, to_json

TEXTS = [
    "Crude oil prices rose as OPEC cut output",
    "OPEC ministers agreed on oil output",
    "The wheat harvest was poor, corn was worse",
    "Wheat and corn prices fell",
    "Öl prices fell, wheat rose",
    "corn corn corn",
    "",
]


@pytest.fixture(scope="session")
def texts() -> list[str]:
    return TEXTS


@pytest.fixture(scope="session")
def vectorizer() -> DCoTVectorizer:
    return DCoTVectorizer(n_prototypes=4).fit(TEXTS)


@pytest.fixture(scope="session")
def X() -> np.ndarray:
    return np.random.default_rng(0).poisson(0.4, (30, 12)).astype(np.float32)


@pytest.fixture(scope="session")
def model(X: np.ndarray) -> DCoT:
    return DCoT(5).fit(X)


def forge(folder: Path, **parts: object) -> None:
    """Replace parts of a model so that every checksum is right: what an attacker would do.

    A part is raw bytes, arrays for ``arrays``, JSON for the others, or None to leave it out.
    """
    manifest = json.loads((folder / MANIFEST).read_bytes())
    files = {
        role: FileEntry(role, entry["size"], entry["sha256"])
        for role, entry in manifest["files"].items()
    }
    for role, part in parts.items():
        if part is None:
            del files[role]
            continue
        if isinstance(part, bytes):
            pieces = [part]
        else:
            pieces = tensors.pieces(part) if role == "arrays" else [to_json(part)]
        partial = folder / "forged"
        if role in files:
            (folder / files[role].name).unlink(missing_ok=True)
        files[role] = FileEntry(role, *write_synced(partial, pieces))
        partial.replace(folder / files[role].name)
    (folder / MANIFEST).write_bytes(Manifest(manifest["kind"], files).to_bytes())


def part(folder: Path, role: str) -> Path:
    """The file of a role."""
    (found,) = folder.glob(f"{role}-*.{ENDINGS[role]}")
    return found


def same(left: object, right: object) -> bool:
    """Equal to the last bit, sparse or dense."""
    dense = [m.toarray() if hasattr(m, "toarray") else np.asarray(m) for m in (left, right)]
    return dense[0].dtype == dense[1].dtype and np.array_equal(dense[0], dense[1], equal_nan=True)


def contents_of(folder: Path) -> dict[str, bytes]:
    """All files and their bytes."""
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
