"""Model folders that older versions wrote still load, and give the answers they gave then.

``python -m tests.trust.test_versions`` writes ``tests/fixtures/format-N`` for the format of today.
Until the first release a change of the format replaces them; after it they are never changed.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from tests.unit.persistence.conftest import TEXTS
from tests.unit.persistence.mutating import MATRIX, originals

import dcot
from dcot import DCoTClassifier, DCoTVectorizer, SearchIndex
from dcot.persistence.manifest import FORMAT_VERSION

FIXTURES = Path(__file__).parents[1] / "fixtures"
FOLDERS = sorted(FIXTURES.glob("format-*/*"))


def answers(model) -> dict[str, list]:
    """What a model says about known documents."""
    if isinstance(model, SearchIndex):
        queries = MATRIX[:2] if model.model_ is None else ["opec oil", "wheat"]
        hits = model.search(queries, k=3)
        return {
            "ids": [[str(hit.id) for hit in one] for one in hits],
            "scores": [[float(hit.score) for hit in one] for one in hits],
        }
    texts = isinstance(model, DCoTVectorizer) or getattr(model, "vectorizer_", None) is not None
    documents = TEXTS if texts else MATRIX
    found = {"features": np.round(model.transform(documents).astype(float), 6).tolist()}
    if isinstance(model, DCoTClassifier):
        found["probabilities"] = model.predict_proba(documents).tolist()
        found["classes"] = model.classes_.tolist()
    return found


def test_there_are_folders_of_todays_format():
    assert any(path.parent.name == f"format-{FORMAT_VERSION}" for path in FOLDERS)


@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_old_folders_give_their_answers(folder, mmap):
    expected = json.loads((folder / "answers.json").read_text())
    found = answers(dcot.load(folder, mmap=mmap))
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        if name in ("ids", "classes"):
            assert found[name] == values
        else:
            np.testing.assert_allclose(found[name], values, rtol=1e-4, atol=1e-5)


def main() -> None:
    place = FIXTURES / f"format-{FORMAT_VERSION}"
    shutil.rmtree(place, ignore_errors=True)
    for name, model in originals().items():
        model.save(place / name, keep_moments=name == "moments")
        answered = json.dumps(answers(dcot.load(place / name)), indent=None)
        (place / name / "answers.json").write_text(answered + "\n")
    print(f"wrote {place}")


if __name__ == "__main__":
    main()
