"""Whatever happens while a model is saved, there is the old one or the new one, whole."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from tests.unit.persistence.conftest import contents_of
from tests.unit.persistence.crashing import contents

from dcot import DcotError
from dcot.errors import ModelFolderError
from dcot.persistence import read_folder, write_folder

posix = pytest.mark.skipif(os.name != "posix", reason="forks and limits are those of POSIX")
FILES = 5


def number_in(folder: Path) -> int | None:
    """Which model is there; None if there is none. Fails if it is not whole."""
    try:
        found = read_folder(folder)
    except DcotError as error:
        if "no dcot.json" in str(error) or "no model folder" in str(error):
            return None
        raise
    number = found.settings["number"]
    assert found.vocabulary == [str(number)]
    assert all((array == number).all() for array in found.arrays.values())
    return int(number)


@posix
def test_killed_at_every_step(tmp_path):
    script = Path(__file__).with_name("crashing.py")
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    counts = dict(zip(("first", "again"), map(int, done.stdout.split()), strict=True))
    for name, before in (("first", None), ("again", 1)):
        assert counts[name] > 20
        found = []
        for step in range(counts[name]):
            folder = tmp_path / f"{name}-{step}"
            found.append(number_in(folder))
            write_folder(folder, contents(3))  # the remains are in nobody's way
            assert number_in(folder) == 3
            assert len(contents_of(folder)) == FILES
        # the old model up to a step, from there on the new one
        assert set(found) == {before, 2}
        assert found == sorted(found, key=lambda number: number == 2)


@pytest.mark.parametrize("call", ["open", "fsync", "replace", "mkdir", "listdir"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS])
def test_a_failing_disk(tmp_path, monkeypatch, call, code):
    write_folder(tmp_path / "old", contents(1))
    before = contents_of(tmp_path / "old")
    for failing in range(40):
        left, original = failing, getattr(os, call)

        def fail(*args, original=original, **options):
            nonlocal left
            left -= 1
            if left == -1:
                raise OSError(code, os.strerror(code), str(args[0]))
            return original(*args, **options)

        with monkeypatch.context() as patch:
            patch.setattr(os, call, fail)
            caught = []
            for name in ("old", "new"):
                try:
                    write_folder(tmp_path / name, contents(2))
                except ModelFolderError as error:
                    caught.append(error)
        if not caught:
            break
        (error,) = caught
        assert error.errno == code
        assert os.strerror(code) in str(error)
        if number_in(tmp_path / "old") == 1:
            assert contents_of(tmp_path / "old") == before
        write_folder(tmp_path / "old", contents(1))
        write_folder(tmp_path / "new", contents(1))
        assert contents_of(tmp_path / "old") == contents_of(tmp_path / "new") == before
        _remove(tmp_path / "new")
    assert 0 < failing < 39


def _remove(folder: Path) -> None:
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()


FULL_DISK = """
import resource, sys
from tests.unit.persistence.crashing import contents
from dcot import DcotError
from dcot.persistence import write_folder
resource.setrlimit(resource.RLIMIT_FSIZE, (8000, 8000))
for name in ("old", "new"):
    try:
        write_folder(f"{sys.argv[1]}/{name}", contents(2))
    except DcotError as error:
        print(error)
"""


@posix
def test_a_disk_that_is_really_full(tmp_path):
    write_folder(tmp_path / "old", contents(1))
    before = contents_of(tmp_path / "old")
    command = [sys.executable, "-c", FULL_DISK, str(tmp_path)]
    root = Path(__file__).parents[3]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=root)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("too large") == 2
    assert contents_of(tmp_path / "old") == before
    assert not (tmp_path / "new").exists()


def test_an_interrupted_save(tmp_path, monkeypatch):
    write_folder(tmp_path / "old", contents(1))
    before = contents_of(tmp_path / "old")

    def interrupt(*args):
        raise KeyboardInterrupt

    for name in ("old", "new"):
        with monkeypatch.context() as patch:
            patch.setattr(os, "replace", interrupt)
            with pytest.raises(KeyboardInterrupt):
                write_folder(tmp_path / name, contents(2))
    assert contents_of(tmp_path / "old") == before
    assert not (tmp_path / "new").exists()


def test_an_interrupt_after_the_swap_does_not_lose_the_new_model(tmp_path, monkeypatch):
    write_folder(tmp_path, contents(1))

    def replace(source, target, original=os.replace):
        original(source, target)
        if Path(target).name == "dcot.json":
            raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(KeyboardInterrupt):
        write_folder(tmp_path, contents(2))
    assert number_in(tmp_path) == 2


def test_readers_and_writers_at_once(tmp_path):
    write_folder(tmp_path, contents(0))
    errors: list[BaseException] = []
    seen: set[int | None] = set()
    stop = threading.Event()

    def write(numbers: range) -> None:
        try:
            for number in numbers:
                write_folder(tmp_path, contents(number))
        except BaseException as error:
            errors.append(error)

    def read() -> None:
        try:
            while not stop.is_set():
                seen.add(number_in(tmp_path))
        except BaseException as error:
            errors.append(error)

    writers = [threading.Thread(target=write, args=(range(k, 30, 2),)) for k in (1, 2)]
    reader = threading.Thread(target=read)
    for thread in (reader, *writers):
        thread.start()
    for thread in writers:
        thread.join()
    stop.set()
    reader.join()
    assert not errors
    assert None not in seen
    assert number_in(tmp_path) in (28, 29)
    assert len(contents_of(tmp_path)) == FILES


def test_a_long_save_in_pieces_is_what_a_short_one_is(tmp_path, monkeypatch):
    monkeypatch.setattr("dcot.persistence.files.BYTES_PER_STEP", 100)
    write_folder(tmp_path, contents(1))
    assert number_in(tmp_path) == 1
    found = read_folder(tmp_path, mmap=True, verify=True).arrays["y"]
    np.testing.assert_array_equal(found, np.ones(10, dtype=np.float32))
