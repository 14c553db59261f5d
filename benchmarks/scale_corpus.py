"""A generated corpus of texts on disk: Zipf words, topics, about fifty words per document."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

TERMS = 30_000
WORDS = 50
TOPICS = 100
PER_FILE = 50_000

_SYLLABLES = [c + v for c in "bcdfghklmnprstvz" for v in "aeiou"]


def lexicon(n_terms: int = TERMS) -> np.ndarray:
    """Made-up words, frequent ones short, as real ones are."""
    words, length = [], 1
    rng = np.random.default_rng(7)
    while len(words) < n_terms:
        length += 1
        most = len(_SYLLABLES) ** length
        count = min(n_terms - len(words), max(1, min(most // 4, 4000 * 3 ** (length - 2))))
        codes = rng.choice(most, count, replace=False) if most < 10**7 else None
        if codes is None:
            codes = np.unique(rng.integers(0, most, 2 * count))[:count]
        for code in codes.tolist():
            parts = []
            for _ in range(length):
                code, place = divmod(code, len(_SYLLABLES))
                parts.append(_SYLLABLES[place])
            words.append("".join(parts))
    return np.array(words, dtype=object)


def write_corpus(folder: Path, n: int, n_terms: int = TERMS) -> list[Path]:
    """Files of one text a line; the first m documents are the same for every n."""
    words = lexicon(n_terms)
    zipf = 1.0 / np.arange(1, n_terms + 1) ** 1.05
    common = np.cumsum(zipf / zipf.sum())
    shuffles = np.random.default_rng(1)
    favourites = np.stack([shuffles.permutation(n_terms) for _ in range(TOPICS)])
    paths = []
    for number, start in enumerate(range(0, n, PER_FILE)):
        path = folder / f"texts-{n_terms}-{number:04d}.txt"
        paths.append(path)
        count = min(PER_FILE, n - start)
        if path.exists() and count == PER_FILE:
            continue
        rng = np.random.default_rng((2, number))
        lengths = rng.poisson(WORDS - 1, PER_FILE) + 1
        topic = np.repeat(rng.integers(0, TOPICS, PER_FILE), lengths)
        rank = np.searchsorted(common, rng.random(len(topic)))
        rank = np.minimum(rank, n_terms - 1)
        topical = rng.random(len(topic)) < 0.4
        chosen = words[np.where(topical, favourites[topic, rank], rank)]
        cuts = np.cumsum(lengths)[:-1]
        lines = [" ".join(part) for part in np.split(chosen, cuts)]
        target = path if count == PER_FILE else path.with_suffix(f".{count}.txt")
        paths[-1] = target
        target.write_text("\n".join(lines[:count]) + "\n")
    return paths


def default_folder() -> Path:
    folder = Path(tempfile.gettempdir()) / "dcot-scale"
    folder.mkdir(exist_ok=True)
    return folder
