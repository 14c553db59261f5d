"""Files and folders that appear whole or not at all."""

from __future__ import annotations

import errno
import io
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dcot.errors import DcotError, OutputError
from dcot.runtime import files

OLD, NEW = b"old", b"new"


def names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


def make(target: Path, kind: str, data: bytes) -> None:
    if kind == "file":
        files.write_atomically(target, data)
    else:
        folder = files.temporary_name(target)
        (folder / "inside").mkdir(parents=True)
        (folder / "inside" / "data").write_bytes(data)
        files.move_into_place(folder, target)


def content(target: Path) -> bytes:
    return (target / "inside" / "data" if target.is_dir() else target).read_bytes()


both = pytest.mark.parametrize("kind", ["file", "folder"])


@both
def test_writes_and_replaces(tmp_path: Path, kind: str) -> None:
    make(tmp_path / "x", kind, OLD)
    make(tmp_path / "x", kind, NEW)
    assert content(tmp_path / "x") == NEW
    assert names(tmp_path) == ["x"]


def test_a_folder_replaces_a_file(tmp_path: Path) -> None:
    make(tmp_path / "x", "file", OLD)
    make(tmp_path / "x", "folder", NEW)
    assert content(tmp_path / "x") == NEW
    assert names(tmp_path) == ["x"]


def test_a_file_does_not_replace_a_folder(tmp_path: Path) -> None:
    make(tmp_path / "x", "folder", OLD)
    with pytest.raises(OutputError, match="it is a folder; name a file"):
        make(tmp_path / "x", "file", NEW)
    assert content(tmp_path / "x") == OLD
    assert names(tmp_path) == ["x"]


def test_a_path_that_cannot_be_is_explained(tmp_path: Path) -> None:
    make(tmp_path / "x", "file", OLD)
    for target in (tmp_path / "x" / "a" / "b", tmp_path / "x" / "a", tmp_path / ("y" * 300) / "b"):
        with pytest.raises(OutputError, match=r"cannot write .*check the folder"):
            make(target, "file", NEW)
        with (
            pytest.raises(OutputError, match=r"cannot write .*check the folder"),
            files.atomic_file(target),
        ):
            pass
    assert names(tmp_path) == ["x"]


@both
def test_works_without_an_exchange_of_names(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_exchange", lambda one, other: False)
    make(tmp_path / "x", kind, OLD)
    make(tmp_path / "x", kind, NEW)
    assert content(tmp_path / "x") == NEW
    assert names(tmp_path) == ["x"]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_an_error_keeps_the_old_and_leaves_nothing(
    tmp_path: Path, error: type[BaseException]
) -> None:
    make(tmp_path / "x", "file", OLD)
    with pytest.raises(error), files.atomic_file(tmp_path / "x"):
        raise error
    assert content(tmp_path / "x") == OLD
    assert names(tmp_path) == ["x"]


def test_files_of_others_and_links_stay(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_bytes(OLD)
    for ending in (".partial", ".new", ".tmp"):
        (tmp_path / f"x{ending}").symlink_to(precious)
    (tmp_path / "x").symlink_to(precious)
    make(tmp_path / "x", "file", NEW)
    assert precious.read_bytes() == OLD
    assert content(tmp_path / "x") == NEW
    assert not (tmp_path / "x").is_symlink()


def test_a_name_that_is_taken_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planted = tmp_path / ".x-planted.partial"
    planted.symlink_to(tmp_path / "elsewhere")
    monkeypatch.setattr(files, "temporary_name", lambda path: planted)
    with pytest.raises(OutputError, match="cannot write"):
        make(tmp_path / "x", "file", NEW)
    assert not (tmp_path / "elsewhere").exists()


def test_a_link_is_not_reopened(tmp_path: Path) -> None:
    (tmp_path / "precious").write_bytes(OLD)
    (tmp_path / "link").symlink_to(tmp_path / "precious")
    with pytest.raises(OSError, match="link"):
        files.reopen(tmp_path / "link")
    with files.reopen(tmp_path / "precious") as file:
        assert file.read() == OLD


def test_writing_is_told_from_reading(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="the source") as caught, files.atomic_file(tmp_path / "x"):
        raise OSError("the source")
    assert not isinstance(caught.value, OutputError)
    nowhere = tmp_path / "nowhere" / "x"
    with (
        pytest.raises(OutputError, match=r"No such file or .*check the folder") as missing,
        files.atomic_file(nowhere),
    ):
        pass
    assert missing.value.errno == errno.ENOENT


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "create", lambda path: io.FileIO("/dev/full", "wb"))
    make(tmp_path / "y", "folder", OLD)
    with pytest.raises(OutputError, match="No space left on device; free some space") as caught:
        make(tmp_path / "x", "file", NEW)
    assert caught.value.errno == errno.ENOSPC
    assert names(tmp_path) == ["y"]


KILLED = """
import os, signal, sys
from pathlib import Path
from dcot.runtime import files
with files.atomic_file(sys.argv[1]) as made:
    made.write(b"half"); made.flush()
    if len(sys.argv) > 2:
        print("writing", flush=True)
        sys.stdin.read()
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs locks")
def test_what_a_killed_write_left_is_removed_by_the_next(tmp_path: Path) -> None:
    make(tmp_path / "x", "file", OLD)
    subprocess.run([sys.executable, "-c", KILLED, tmp_path / "x"], check=False)
    assert content(tmp_path / "x") == OLD
    (left,) = set(names(tmp_path)) - {"x"}
    make(tmp_path / "x", "file", NEW)
    assert left in names(tmp_path)  # it is too young to be sure
    os.utime(tmp_path / left, (time.time() - 3600,) * 2)
    make(tmp_path / "x", "file", NEW)
    assert names(tmp_path) == ["x"]


@pytest.mark.skipif(sys.platform == "win32", reason="needs locks")
def test_what_another_process_writes_is_left_alone(tmp_path: Path) -> None:
    other = subprocess.Popen(
        [sys.executable, "-c", KILLED, tmp_path / "x", "wait"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert other.stdout is not None
    assert other.stdin is not None
    other.stdout.readline()
    (theirs,) = names(tmp_path)
    os.utime(tmp_path / theirs, (time.time() - 3600,) * 2)
    make(tmp_path / "x", "file", NEW)
    assert theirs in names(tmp_path)
    other.stdin.close()
    other.stdout.close()
    other.wait()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="renameat2 is Linux")
def test_a_folder_is_replaced_in_one_step(tmp_path: Path) -> None:
    """Somebody who looks all the time sees the old folder or the new one, never none."""
    make(tmp_path / "x", "folder", OLD)
    (tmp_path / "go").touch()
    looking = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import os, sys\n"
            "print('looking', flush=True)\n"
            "while os.path.exists(sys.argv[2]):\n"
            "    if not os.path.isdir(sys.argv[1]): sys.exit(1)\n",
            tmp_path / "x",
            tmp_path / "go",
        ],
        stdout=subprocess.PIPE,
    )
    assert looking.stdout is not None
    looking.stdout.readline()
    for _ in range(50):
        make(tmp_path / "x", "folder", NEW)
    (tmp_path / "go").unlink()
    looking.communicate()
    assert looking.returncode == 0


def test_without_an_exchange_nothing_else_is_in_the_way(tmp_path, monkeypatch):
    """As on macOS and Windows, or on a network file system."""
    monkeypatch.setattr(files, "_exchange", lambda one, other: False)
    make(tmp_path / "x.old", "folder", OLD)  # somebody's, or what a crash has left
    make(tmp_path / "x", "folder", OLD)
    make(tmp_path / "x.partial", "folder", NEW)
    files.move_into_place(tmp_path / "x.partial", tmp_path / "x")
    assert content(tmp_path / "x") == NEW
    assert content(tmp_path / "x.old") == OLD
    assert names(tmp_path) == ["x", "x.old"]


def test_without_an_exchange_an_error_brings_the_old_folder_back(tmp_path, monkeypatch):
    make(tmp_path / "x", "folder", OLD)
    make(tmp_path / "x.partial", "folder", NEW)
    rename = Path.rename

    def refused(self: Path, target: Path) -> Path:
        if self.name == "x.partial":
            raise PermissionError(errno.EACCES, "a file in it is open")
        return rename(self, target)

    monkeypatch.setattr(files, "_exchange", lambda one, other: False)
    monkeypatch.setattr(Path, "rename", refused)
    with pytest.raises(PermissionError):
        files.move_into_place(tmp_path / "x.partial", tmp_path / "x")
    assert content(tmp_path / "x") == OLD
    assert names(tmp_path) == ["x", "x.partial"]


def test_two_writers_have_two_temporary_names(tmp_path):
    names = {files.temporary_name(tmp_path / "part-000001.parquet") for _ in range(10)}
    assert len(names) == 10


@pytest.mark.parametrize("path", [5, None, "", "a\0b"])
def test_what_is_no_path_is_refused(path):
    with pytest.raises(DcotError, match="path must"), files.atomic_file(path):
        pass
