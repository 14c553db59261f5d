"""The manifest, ``dcot.json``: the files of a model, with their sizes and checksums."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dcot._version import __version__
from dcot.errors import ModelFolderError, ModelFormatError
from dcot.persistence.contents import DAMAGED
from dcot.persistence.files import plain_file

MANIFEST = "dcot.json"
CARD = "README.md"
FORMAT = "dcot-model"
FORMAT_VERSION = 2
ENDINGS = {"arrays": "safetensors", "settings": "json", "vocabulary": "json"}
OPTIONAL = {"vocabulary"}

# Largest JSON files in bytes. JSON takes many times its size in memory.
LARGEST = {"manifest": 1 << 20, "settings": 1 << 22, "vocabulary": 1 << 26}
MAX_NESTING = 50  # of JSON; models need five

_OUR_FILE = re.compile(r"(arrays|settings|vocabulary)-[0-9a-f]{16}\.(safetensors|json)")
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class FileEntry:
    """A file of the model: its role, size in bytes and SHA-256."""

    role: str
    size: int
    sha256: str

    @property
    def name(self) -> str:
        """The file name, not read from the manifest, so that it cannot point outside the folder.

        >>> FileEntry("settings", 2, "ab" * 32).name
        'settings-abababababababab.json'
        """
        return f"{self.role}-{self.sha256[:16]}.{ENDINGS[self.role]}"


@dataclass(frozen=True)
class Manifest:
    """The content of ``dcot.json``."""

    kind: str
    files: dict[str, FileEntry]
    dcot_version: str = __version__

    @property
    def names(self) -> set[str]:
        return {entry.name for entry in self.files.values()}

    def to_bytes(self) -> bytes:
        entries = {
            role: {"name": entry.name, "size": entry.size, "sha256": entry.sha256}
            for role, entry in self.files.items()
        }
        document = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "dcot_version": self.dcot_version,
            "kind": self.kind,
            "files": entries,
        }
        return to_json({**document, "checksum": _checksum(document)})


def is_ours(name: str) -> bool:
    """Whether this is the name of a data file of a model.

    >>> is_ours("arrays-0123456789abcdef.safetensors"), is_ours("thesis.tex")
    (True, False)
    """
    return _OUR_FILE.fullmatch(name) is not None


def to_json(value: Any) -> bytes:
    """Return indented JSON; the same value gives the same bytes."""
    text = json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return (text + "\n").encode()


def from_json(data: bytes, what: str) -> Any:
    """Parse untrusted JSON; raise ModelFormatError if it is not valid."""
    try:
        found = json.loads(data.decode("utf-8"), parse_constant=_refuse_constant)
        _check_nesting(found)
    except (ValueError, RecursionError, MemoryError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise ModelFormatError(f"{what} is not JSON that can be read ({reason}){DAMAGED}") from None
    return found


def _check_nesting(value: Any) -> None:
    """Refuse what functions that call themselves may not be able to follow, in any Python."""
    level = [value]
    for _ in range(MAX_NESTING):
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
    if level:
        raise ValueError(f"nested more than {MAX_NESTING} deep")


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number")


def _checksum(document: dict[str, Any]) -> str:
    """Return a checksum of the values, so that other spaces or line ends do not matter."""
    plain = json.dumps(document, sort_keys=True)
    return hashlib.sha256(plain.encode()).hexdigest()


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of a model folder; raise an error if it is not one."""
    path = folder / MANIFEST
    try:
        with plain_file(path) as (file, size):
            if size > LARGEST["manifest"]:
                raise ModelFormatError(f"{path} has {size:,} bytes: too many for a manifest")
            data = file.read()
    except FileNotFoundError:
        if not folder.exists():
            hint = "check the path"
            raise ModelFolderError(f"there is no model folder at {folder}: {hint}") from None
        raise ModelFormatError(
            f"{folder} is not a dcot model folder: it has no {MANIFEST}; expected a folder that "
            "save() wrote"
        ) from None
    try:
        return parse_manifest(from_json(data, str(path)), path)
    except RecursionError:
        raise ModelFormatError(f"{path} is nested too deeply{DAMAGED}") from None


def parse_manifest(document: Any, path: Path) -> Manifest:
    """Check the JSON of a manifest, and return the manifest."""
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ModelFormatError(
            f"{path} does not belong to a dcot model: expected a folder that save() wrote"
        )
    _check_version(document, path)
    claimed = document.pop("checksum", None)
    if claimed != _checksum(document):
        raise ModelFormatError(f"{path} does not have the checksum it states{DAMAGED}")
    version, kind, files = (document.get(key) for key in ("dcot_version", "kind", "files"))
    if not (isinstance(version, str) and isinstance(kind, str) and isinstance(files, dict)):
        raise ModelFormatError(f"{path} lacks its version, kind or files{DAMAGED}")
    roles = set(files)
    if not set(ENDINGS) - OPTIONAL <= roles <= set(ENDINGS):
        raise ModelFormatError(
            f"{path} names the files {sorted(map(str, roles))[:5]}, expected arrays, settings and "
            f"at most a vocabulary{DAMAGED}"
        )
    return Manifest(kind, {role: _entry(role, files[role], path) for role in files}, version)


def _check_version(document: dict[str, Any], path: Path) -> None:
    version, writer = document.get("format_version"), document.get("dcot_version")
    if type(version) is not int:
        raise ModelFormatError(f"{path} states no format version{DAMAGED}")
    if version > FORMAT_VERSION:
        raise ModelFormatError(
            f"{path.parent} has format {version}, written by dcot {writer!s:.40}; this is dcot "
            f"{__version__}, which reads formats up to {FORMAT_VERSION}: upgrade dcot"
        )
    if version < FORMAT_VERSION:
        raise ModelFormatError(
            f"{path.parent} has format {version}, written by dcot {writer!s:.40}; this is dcot "
            f"{__version__}, which reads format {FORMAT_VERSION} only: learn the model again and "
            "save it, or use the dcot that wrote it"
        )


def _entry(role: str, found: Any, path: Path) -> FileEntry:
    known = found if isinstance(found, dict) else {}
    size, sha256 = known.get("size", -1), known.get("sha256", "")
    fine = type(size) is int and isinstance(sha256, str) and _SHA256.fullmatch(sha256)
    if not fine or size < 0 or size > LARGEST.get(role, size):
        raise ModelFormatError(
            f"{path} gives the {role} an impossible size or checksum: {found!r:.100}{DAMAGED}"
        )
    entry = FileEntry(role, size, sha256)
    if known.get("name") != entry.name:
        raise ModelFormatError(
            f"{path} names {known.get('name')!r:.100} as its {role}, but only {entry.name} in the "
            "same folder can be: somebody changed the manifest; do not use this model"
        )
    return entry
