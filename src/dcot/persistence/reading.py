"""Reading a model folder: everything in it is untrusted, and nothing in it is run."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any

from dcot.errors import ModelFormatError
from dcot.persistence import tensors
from dcot.persistence.contents import DAMAGED, Contents, check_arrays
from dcot.persistence.files import check_memory, checksum, explained, plain_file, read_into
from dcot.persistence.manifest import FileEntry, Manifest, from_json, read_manifest
from dcot.persistence.writing import folder_of

# What save() writes: checked before it is parsed, because 64 MB of "[]" are gigabytes of lists.
_LIST_OF_STRINGS = re.compile(rb'\[\n(?: "(?:[^"\\\n]|\\[^\n])*+",?\n)*+\]\n')


def read_folder(path: Any, *, mmap: bool = False, verify: bool | None = None) -> Contents:
    """The contents of a model folder.

    Parameters
    ----------
    path : the folder
    mmap : leave the arrays on the disk, to be read when they are used; weights in 16 or 8 bits are
        widened, and so in memory, all the same
    verify : compute the checksum of the arrays. By default it is skipped with ``mmap``, because it
        reads every byte; damaged numbers are then not noticed. Sizes, header and all JSON are
        always checked.
    """
    folder = folder_of(path)
    verify = not mmap if verify is None else verify
    with explained("read the model in", folder):
        manifest = read_manifest(folder)
        while True:
            try:
                return _read(folder, manifest, mmap, verify)
            except FileNotFoundError as error:
                # a save may have finished in between, and cleared the old files away
                newer = read_manifest(folder)
                if newer == manifest:
                    name = Path(error.filename or "a file").name
                    raise ModelFormatError(f"{name} is missing from {folder}{DAMAGED}") from error
                manifest = newer


def _read(folder: Path, manifest: Manifest, mmap: bool, verify: bool) -> Contents:
    settings = _json(folder, manifest.files["settings"])
    if not isinstance(settings, dict):
        raise ModelFormatError(f"the settings in {folder} are not a JSON object{DAMAGED}")
    check_arrays(settings)
    vocabulary = None
    if "vocabulary" in manifest.files:
        vocabulary = _json(folder, manifest.files["vocabulary"], _LIST_OF_STRINGS)
    arrays = _arrays(folder, manifest.files["arrays"], mmap, verify)
    return Contents(manifest.kind, settings, arrays, vocabulary=vocabulary, mapped=mmap)


def _json(folder: Path, entry: FileEntry, form: re.Pattern[bytes] | None = None) -> Any:
    """A JSON file; ``form`` is what its text has to look like."""
    path = folder / entry.name
    with plain_file(path) as (file, size):
        _check_size(path, size, entry)
        data = bytes(read_into(file, size, lambda piece: None))
    _check_sum(path, checksum(data), entry)
    if form is not None and not form.fullmatch(data):
        raise ModelFormatError(f"{path} is not a list of terms, one a line{DAMAGED}")
    return from_json(data, str(path))


def _arrays(folder: Path, entry: FileEntry, mmap: bool, verify: bool) -> Any:
    path = folder / entry.name
    with plain_file(path) as (file, size):
        _check_size(path, size, entry)
        tensors.check_sound(path)
        if mmap:
            buffer = tensors.mapped(file)
            found = checksum(buffer) if verify else entry.sha256
        else:
            digest = hashlib.sha256()
            advice = "load it with mmap=True, which leaves it on the disk"
            check_memory(str(path), size, advice)
            buffer = read_into(file, size, digest.update if verify else lambda piece: None)
            found = digest.hexdigest() if verify else entry.sha256
    _check_sum(path, found, entry)
    return tensors.views(buffer, path)


def _check_size(path: Path, size: int, entry: FileEntry) -> None:
    if size != entry.size:
        raise ModelFormatError(f"{path} has {size:,} bytes, but {entry.size:,} were saved{DAMAGED}")


def _check_sum(path: Path, found: str, entry: FileEntry) -> None:
    if found != entry.sha256:
        raise ModelFormatError(f"{path} does not have the checksum it was saved with{DAMAGED}")
