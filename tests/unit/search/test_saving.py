"""An index in a folder: bit for bit the same after loading, and nothing believed unchecked."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
from safetensors.numpy import load_file
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from tests.unit.persistence.conftest import contents_of, forge, part

import dcot
from dcot import DCoT, DcotError, DCoTVectorizer, SearchIndex
from dcot.errors import InvalidTypeError, ModelFormatError

TEXTS = [
    "crude oil prices rose as opec cut output",
    "opec ministers agreed on oil output",
    "the wheat harvest was poor, corn was worse",
    "wheat and corn prices fell",
    "öl prices fell, wheat rose",
    "corn corn corn",
    "",
]
QUERIES = ["opec oil", "wheat", "gold", "unknown", "corn prices öl"]


@pytest.fixture
def index():
    model = DCoTVectorizer(n_prototypes=6, n_layers=2).fit(TEXTS)
    entries = [{"n": i, "tags": ["ä", "b"]} if i % 2 else None for i in range(len(TEXTS))]
    index = SearchIndex(model, store_texts=True).add(TEXTS, metadata=entries)
    index.add(["gold and silver", "gold rose"], ids=["g", "\ud800 odd"])
    index.remove([5, "g"])
    return index


@pytest.fixture
def folder(index, tmp_path):
    index.save(tmp_path / "index")
    return tmp_path / "index"


@pytest.mark.parametrize("mmap", [False, True])
def test_to_the_last_bit(index, folder, mmap):
    again = dcot.load(folder, mmap=mmap)
    for hybrid in (True, False, 0, 0.3):
        for k in (2, 50):
            found = again.search(QUERIES, k=k, hybrid=hybrid)
            assert found == index.search(QUERIES, k=k, hybrid=hybrid)
    assert again.search("opec", where={"n": 1}) == index.search("opec", where={"n": 1})
    assert again.ids == index.ids
    assert repr(again) == repr(index)
    assert "\ud800 odd" in again


def test_the_same_bytes(index, folder, tmp_path):
    before = contents_of(folder)
    index.save(folder)
    assert contents_of(folder) == before
    dcot.load(folder, mmap=True).save(tmp_path / "again")
    assert contents_of(tmp_path / "again") == before
    assert "documents in the index | 7 texts" in before["README.md"].decode()


def test_going_on_after_loading(index, folder):
    for mmap in (False, True):
        again = dcot.load(folder, mmap=mmap).add(["zeppelin over rio"], ids=["z"])
        assert again.search("zeppelin", k=1).ids == ["z"]
        again.remove(0)
        assert 0 not in again
        assert again.add(["new"]).ids[-1] == 7  # a number is not used twice
        assert again.search("new", k=1, hybrid=0).ids == [7]
    assert dcot.load(folder).ids == index.ids


@pytest.mark.parametrize("precision", ["float16", "int8"])
def test_smaller(index, tmp_path, precision):
    index.save(tmp_path / "small", precision=precision)
    found = dcot.load(tmp_path / "small").search(QUERIES, k=9, hybrid=False)
    for ours, theirs in zip(index.search(QUERIES, k=9, hybrid=False), found, strict=True):
        scores = {hit.id: hit.score for hit in theirs}
        np.testing.assert_allclose([scores[hit.id] for hit in ours], ours.scores, atol=0.03)


def test_features_and_matrices(tmp_path):
    F = np.random.default_rng(0).random((9, 4))
    model = DCoT(3).fit(F)
    for index in (SearchIndex().add(F), SearchIndex(model).add(F)):
        index.save(tmp_path / "index")
        for mmap in (False, True):
            again = dcot.load(tmp_path / "index", mmap=mmap)
            assert again.search(F, k=4) == index.search(F, k=4)
            assert type(again.model_) is type(index.model_)


@pytest.mark.parametrize("model", [None, DCoTVectorizer(n_prototypes=2)])
def test_an_empty_index(tmp_path, model):
    fitted = None if model is None else model.fit(TEXTS)
    SearchIndex(fitted).save(tmp_path / "index")
    again = dcot.load(tmp_path / "index")
    assert len(again) == 0
    assert again.search("oil").ids == []
    assert again.add(TEXTS).search("opec", k=1).ids == [1]
    again.remove(again.ids)
    again.save(tmp_path / "index", precision="int8")
    again = dcot.load(tmp_path / "index", mmap=True)
    assert len(again) == 0
    assert again.add(["opec", "wheat"]).search("opec", k=1).ids == [7]


def test_a_model_that_cannot_be_saved(tmp_path):
    lsi = make_pipeline(TfidfVectorizer(), TruncatedSVD(2))
    index = SearchIndex(lsi).add(TEXTS)
    assert index.search("opec", k=1).ids in ([0], [1])
    with pytest.raises(InvalidTypeError, match=r"Pipeline cannot be saved.*add\(features\)"):
        index.save(tmp_path / "index")
    assert not (tmp_path / "index").exists()


def test_a_subclass_cannot_be_saved(tmp_path):
    class Mine(SearchIndex):
        pass

    with pytest.raises(DcotError, match="Mine cannot be saved"):
        Mine().save(tmp_path / "index")


# -- folders that were damaged, or made to do harm ------------------------------------------------


def arrays_of(folder):
    return load_file(part(folder, "arrays"))


def wrapped(array):
    """Offsets whose differences overflow, and so look right to ``np.diff``."""
    array[1:4] = [2**63 - 1, -(2**63), -1]


ARRAYS = {
    "counts wrap": lambda a: wrapped(a["counts.starts"]),
    "ids wrap": lambda a: wrapped(a["ids.cuts"]),
    "counts unsigned": lambda a: a.update({"counts.rows": a["counts.rows"].astype(np.uint8)}),
    "counts not finite": lambda a: a["counts.values"].__setitem__(0, np.nan),
    "lengths negative": lambda a: a["lengths"].__setitem__(0, -5.0),
    "an array too many": lambda a: a.update(more=a["lengths"]),
    "no vectors": lambda a: a.pop("vectors"),
    "vectors too few": lambda a: a.update(vectors=a["vectors"][:-1]),
    "vectors too narrow": lambda a: a.update(vectors=a["vectors"][:, :-1].copy()),
    "vectors in double": lambda a: a.update(vectors=a["vectors"].astype(np.float64)),
    "no ids": lambda a: a.pop("ids.bytes"),
    "ids cut off": lambda a: a.update({"ids.bytes": a["ids.bytes"][:-1]}),
    "ids out of order": lambda a: a["ids.cuts"].__setitem__(2, 10**9),
    "texts missing": lambda a: a.pop("texts.cuts"),
    "row too large": lambda a: a["counts.rows"].__setitem__(0, 10**9),
    "row negative": lambda a: a["counts.rows"].__setitem__(-1, -1),
    "postings out of order": lambda a: a["counts.starts"].__setitem__(1, 10**9),
    "postings negative": lambda a: a["counts.starts"].__setitem__(0, -1),
    "terms too few": lambda a: a.update({"counts.starts": a["counts.starts"][:-1]}),
    "counts of another type": lambda a: a.update(
        {"counts.values": a["counts.values"].astype(np.float64)}
    ),
    "lengths too few": lambda a: a.update(lengths=a["lengths"][:-1]),
    "a term twice": lambda a: a.update(
        {
            "terms.bytes": np.frombuffer(b'"oil""oil""oil"', np.uint8),
            "terms.cuts": np.array([0, 5, 10, 15]),
        }
    ),
    "a model's array missing": lambda a: a.pop("model.idf"),
}


@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize("harm", ARRAYS.values(), ids=ARRAYS.keys())
def test_forged_arrays(folder, harm, mmap):
    arrays = arrays_of(folder)
    harm(arrays)
    forge(folder, arrays=arrays)
    with pytest.raises(ModelFormatError):
        dcot.load(folder, mmap=mmap)


@pytest.mark.parametrize("text", [b'"a', b"\xff", b"[" * 10])
def test_forged_records(folder, text):
    """They are read when they are needed, and are an error then."""
    arrays = arrays_of(folder)
    content, cuts = arrays["ids.bytes"], arrays["ids.cuts"]
    arrays["ids.bytes"] = np.concatenate([np.frombuffer(text, np.uint8), content[cuts[1] :]])
    arrays["ids.cuts"] = np.concatenate([[0], cuts[1:] - cuts[1] + len(text)])
    forge(folder, arrays=arrays)
    index = dcot.load(folder)
    with pytest.raises(ModelFormatError):
        index.remove(1)
    with pytest.raises(ModelFormatError):
        index.add(["gold"])


@pytest.mark.parametrize("ids", [[1, 1], [None, 1], [{}, 1], [1.5, 1], [True, 2]])
def test_forged_ids(tmp_path, ids):
    SearchIndex().add(np.eye(2)).save(tmp_path / "index")
    arrays = arrays_of(tmp_path / "index")
    texts = [json.dumps(name).encode() for name in ids]
    arrays["ids.bytes"] = np.frombuffer(b"".join(texts), np.uint8)
    arrays["ids.cuts"] = np.cumsum([0, *map(len, texts)])
    forge(tmp_path / "index", arrays=arrays)
    with pytest.raises(ModelFormatError, match="ids of the index"):
        dcot.load(tmp_path / "index").remove(1)


SETTINGS = {
    "no parameters": lambda s: s.pop("parameters"),
    "a parameter of the future": lambda s: s["parameters"].update(magic=1),
    "an impossible share": lambda s: s["parameters"].update(hybrid=7),
    "no model": lambda s: s.update(model={"kind": None}),
    "another model": lambda s: s["model"].update(kind="os.system"),
    "a model of the wrong kind": lambda s: s["model"].update(kind="DCoT"),
    "a model without settings": lambda s: s["model"].pop("settings"),
    "more documents": lambda s: s.update(n_documents=8),
    "no width": lambda s: s.update(width=None),
    "a strange kind": lambda s: s.update(is_text="yes"),
    "no kind": lambda s: s.update(is_text=[]),
    "a negative number": lambda s: s.update(next_id=-1),
    "features of a vectorizer": lambda s: s.update(is_text=False),
    "a width that the model has not": lambda s: s.update(width=5),
    "not told": lambda s: s.update(is_text=None),
    "k1 that is text": lambda s: s["parameters"].update(k1="1"),
    "terms without end": lambda s: s.update(extra_terms=2**62),
}


@pytest.mark.parametrize("harm", SETTINGS.values(), ids=SETTINGS.keys())
def test_forged_settings(folder, harm):
    settings = json.loads(part(folder, "settings").read_bytes())
    harm(settings)
    forge(folder, settings=settings)
    with pytest.raises(ModelFormatError):
        dcot.load(folder)


def test_cut_off_or_mutated(folder, tmp_path):
    rng = np.random.default_rng(0)
    for trial in range(40):
        copy = tmp_path / f"copy{trial}"
        shutil.copytree(folder, copy)
        files = sorted(path for path in copy.iterdir() if path.name != "README.md")
        victim = files[trial % len(files)]
        data = bytearray(victim.read_bytes())
        if trial % 2:
            data = data[: rng.integers(0, len(data))]
        else:
            data[rng.integers(0, len(data))] ^= 1 << rng.integers(0, 8)
        victim.write_bytes(data)
        try:  # a change of spaces in the manifest is harmless
            assert len(dcot.load(copy)) == 7
        except DcotError:
            continue
        assert victim.name == "dcot.json"
