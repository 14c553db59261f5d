"""Any byte of any file changed, any part of a model replaced: an error of ours, or it works."""

from __future__ import annotations

import json
import os
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.persistence.conftest import TEXTS, contents_of, same
from tests.unit.persistence.mutating import attempt, originals, use

import dcot

N_MUTATIONS = int(os.environ.get("DCOT_FUZZ", "60"))  # of each model
MODELS = ["DCoT", "moments", "DCoTVectorizer", "characters", "DCoTClassifier", "matrix"]
MODELS += ["words", "encoder", "SearchIndex", "features", "index with words", "index with encoder"]


@pytest.fixture(scope="module")
def models():
    return originals()


@pytest.mark.parametrize("kind", MODELS)
def test_mutated_models(models, kind, tmp_path, tally):
    """Checksums are right again: what an attacker would do. See ``mutating`` for longer runs."""
    folder = tmp_path / "model"
    models[kind].save(folder, keep_moments=kind == "moments")
    whole = contents_of(folder)
    found = [attempt(kind, whole, seed, folder) for seed in range(N_MUTATIONS)]
    wrong = [report for report in found if report]
    tally(f"changed folders: {kind}", len(found), len(wrong))
    assert wrong == []


def test_the_models_can_be_used(models, tmp_path):
    """Without a mutation every step of the use works, so that the test above says something."""
    for kind, model in models.items():
        model.save(tmp_path / kind, keep_moments=kind == "moments")
        with np.errstate(all="ignore"):
            for step in use(dcot.load(tmp_path / kind), tmp_path):
                with suppress(UserWarning):
                    step()


@pytest.fixture(scope="module")
def saved(vectorizer, tmp_path_factory):
    folder = tmp_path_factory.mktemp("fuzz") / "model"
    vectorizer.save(folder)
    return folder, contents_of(folder), vectorizer.transform(TEXTS)


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_mutated_files(saved, data):
    folder, whole, expected = saved
    name = data.draw(st.sampled_from(sorted(whole)))
    before = whole[name]
    position = data.draw(st.integers(0, len(before) - 1))
    kind = data.draw(st.sampled_from(["flip", "cut", "insert", "zero"]))
    if kind == "flip":
        flipped = before[position] ^ data.draw(st.integers(1, 255))
        after = before[:position] + bytes([flipped]) + before[position + 1 :]
    elif kind == "cut":
        after = before[:position]
    elif kind == "insert":
        after = before[:position] + data.draw(st.binary(min_size=1, max_size=9)) + before[position:]
    else:
        length = data.draw(st.integers(1, 50))
        after = before[:position] + b"\0" * min(length, len(before) - position)
        after += before[len(after) :]
    (folder / name).write_bytes(after)
    try:
        try:
            assert same(dcot.load(folder).transform(TEXTS), expected)
        except dcot.DcotError:
            assert name != "README.md"
        else:
            # spaces between the tokens of the manifest mean nothing
            plain = [json.dumps(json.loads(x)) for x in (before, after)] if ".json" in name else []
            assert after == before or name == "README.md" or plain[0] == plain[1]
        if name.startswith("arrays"):
            with suppress(dcot.DcotError):  # without checksums: another model, but never a crash
                dcot.load(folder, mmap=True)
    finally:
        (folder / name).write_bytes(before)
