"""Write and read model folders.

Saving writes new files next to the old ones, switches to them in one atomic step, and removes the
old files. A crash before that step leaves the old model; a crash after it leaves the new one. The
next save removes files that a crash left. When reading, the content is untrusted, and no code in
the folder is run.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from dcot._version import __version__
from dcot.errors import (
    InvalidInputError,
    ModelFolderError,
    ModelFormatError,
)
from dcot.persistence import tensors
from dcot.persistence.contents import DAMAGED, Contents, check_arrays, check_precision, pack
from dcot.persistence.files import (
    check_memory,
    checksum,
    explained,
    locked,
    plain_file,
    read_into,
    write_synced,
)
from dcot.persistence.manifest import (
    CARD,
    LARGEST,
    MANIFEST,
    FileEntry,
    Manifest,
    from_json,
    is_ours,
    read_manifest,
    to_json,
)
from dcot.runtime.files import as_path, sync_folder, temporary_name
from dcot.runtime.resources import format_bytes

_OUR_PARTIAL = re.compile(r"\.(arrays|settings|vocabulary|manifest|card)-[0-9a-f]{16}\.partial")


def write_folder(path: Any, contents: Contents, precision: str | None = None) -> None:
    """Save a model; an existing folder is replaced only if it is empty or a model.

    Parameters
    ----------
    path : the folder, created if needed
    contents : the model
    precision : ``"float16"`` or ``"int8"`` for its weights, or None to keep their precision
    """
    check_precision(precision)
    folder = as_path(path)
    payload = _payload(contents, precision)
    with explained("save the model to", folder):
        check_target(folder)
        is_new = not folder.exists()
        if is_new:
            folder.mkdir(parents=True, exist_ok=True)
            sync_folder(folder.parent)
        try:
            with locked(folder):
                check_target(folder)  # another process may have changed it
                _save(folder, contents, payload, precision)
        except BaseException:
            if is_new:
                with suppress(OSError):  # not empty: another process wrote files to it
                    folder.rmdir()
            raise


def _payload(contents: Contents, precision: str | None) -> dict[str, Iterable[Any]]:
    """Return the bytes of each file; raise all errors about the contents."""
    documents = {"settings": contents.settings, "vocabulary": contents.vocabulary}
    payload: dict[str, Iterable[Any]] = {}
    for role, document in documents.items():
        if document is None:
            continue
        try:
            data = to_json(document)
        except UnicodeEncodeError as error:
            raise InvalidInputError(
                f"the {role} cannot be written as UTF-8 ({error}): remove the broken characters"
            ) from error
        except ValueError as error:
            raise InvalidInputError(
                f"the {role} cannot be written as JSON ({error}): the model has numbers that are "
                "not finite; fit it again"
            ) from error
        if len(data) > LARGEST[role]:
            raise InvalidInputError(
                f"the {role} take {len(data):,} bytes as JSON, more than the {LARGEST[role]:,} "
                "that a model folder may have: use fewer terms (min_df, max_features) or words"
            )
        payload[role] = [data]
    arrays = {**contents.arrays, **pack(contents.weights, precision)}
    return {"arrays": tensors.pieces(arrays), **payload}


def check_target(folder: Path) -> None:
    """Raise an error unless the folder is new, empty or a dcot model."""
    if not folder.exists():
        if folder.is_symlink():
            raise ModelFolderError(f"{folder} is a link to nowhere: remove it or use another path")
        return
    if not folder.is_dir():
        raise ModelFolderError(
            f"{folder} is a file, and is not overwritten: name a folder, new or of a dcot model"
        )
    if os.path.lexists(folder / MANIFEST):
        try:
            read_manifest(folder)
        except ModelFormatError as error:
            raise ModelFolderError(
                f"{folder} is not overwritten, because what is there is not known to be a model "
                f"of this format: {error}. Remove it yourself, or use another path"
            ) from error
        return
    others = sorted(name for name in os.listdir(folder) if not _is_leftover(name))
    if others:
        raise ModelFolderError(
            f"{folder} holds other files ({', '.join(others[:3])}) and no dcot model, and is not "
            "written to: name a folder that is new, empty or a dcot model"
        )


def _is_leftover(name: str) -> bool:
    """Whether this file may have been left by a save that crashed."""
    return is_ours(name) or _OUR_PARTIAL.fullmatch(name) is not None


def _save(
    folder: Path, contents: Contents, payload: dict[str, Iterable[Any]], precision: str | None
) -> None:
    try:
        files = {role: _put(folder, role, pieces) for role, pieces in payload.items()}
        sizes = {role: entry.size for role, entry in files.items()}
        text = card(contents.kind, contents.facts, precision, sizes)
        card_file = _partial(folder, "card", text.encode("utf-8", "replace"))
        manifest_file = _partial(folder, "manifest", Manifest(contents.kind, files).to_bytes())
        sync_folder(folder)
        os.replace(manifest_file, folder / MANIFEST)  # the switch to the new model
        sync_folder(folder)
        with suppress(OSError):  # the model is saved, even without its card
            os.replace(card_file, folder / CARD)
    finally:
        _clear(folder)


def _put(folder: Path, role: str, pieces: Iterable[Any]) -> FileEntry:
    """Write a file of the model with its checksum in the name."""
    partial = temporary_name(folder / role)
    entry = FileEntry(role, *write_synced(partial, pieces))
    os.replace(partial, folder / entry.name)
    return entry


def _partial(folder: Path, role: str, data: bytes) -> Path:
    path = temporary_name(folder / role)
    write_synced(path, [data])
    return path


def _clear(folder: Path) -> None:
    """Remove our files that the current manifest does not name."""
    try:
        keep = read_manifest(folder).names
    except ModelFormatError:
        if os.path.lexists(folder / MANIFEST):
            return  # if it cannot be read, its files may be needed
        keep = set()
    for name in os.listdir(folder):
        if _is_leftover(name) and name not in keep:
            with suppress(OSError):  # in use on Windows; the next save tries again
                os.unlink(folder / name)


# -- the model card -----------------------------------------------------------------------------


def card(
    kind: str, facts: Sequence[tuple[str, str]], precision: str | None, sizes: Mapping[str, int]
) -> str:
    """Return the model card as Markdown, without a date, so that equal models have equal cards.

    >>> print(card("DCoT", [("terms", "20,000")], None, {"arrays": 4_000_000}).splitlines()[0])
    # A DCoT model
    """
    saved = "as learned" if precision is None else f"{precision}, float32 after loading"
    total = format_bytes(float(sum(sizes.values())))
    rows = [*facts, ("weights", saved), ("size", total), ("saved by", f"dcot {__version__}")]
    table = [f"| {_cell(label)} | {_cell(value)} |" for label, value in rows]
    lines = [
        f"# A {kind} model",
        "",
        "Text features learned without labels: Dense Cohort of Terms.",
        "",
        "| | |",
        "|---|---|",
        *table,
        "",
        "```python",
        "import dcot",
        "",
        'model = dcot.load("path/to/this/folder")',
        "```",
        "",
        "The folder holds numbers and text (safetensors and JSON). Loading it runs no code.",
    ]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    """Escape text for a table cell, so that words of a corpus are neither Markdown nor HTML.

    >>> print(_cell("![x](http://example.org) <b> a|b www.x.org"))
    !\\[x\\](http&#58;//example.org) &lt;b> a\\|b www&#46;x.org
    """
    plain = " ".join(text.split())
    plain = plain if len(plain) <= 500 else plain[:499] + "…"
    plain = re.sub(r"([\\`*_\[\]|~$])", r"\\\1", plain.replace("&", "&amp;"))
    plain = plain.replace("<", "&lt;").replace("@", "&#64;")
    # bare addresses become links in many renderers
    address = r"(?i)\b(https?|ftp|mailto|www)([:.])"
    return re.sub(address, lambda found: f"{found[1]}&#{ord(found[2])};", plain)


# -- reading ------------------------------------------------------------------------------------


# The form that save() writes, checked before parsing, because 64 MB of "[]" are gigabytes of lists.
_LIST_OF_STRINGS = re.compile(rb'\[\n(?: "(?:[^"\\\n]|\\[^\n])*+",?\n)*+\]\n')


def read_folder(path: Any, *, mmap: bool = False, verify: bool | None = None) -> Contents:
    """Return the contents of a model folder.

    Parameters
    ----------
    path : the folder
    mmap : map the arrays from disk, so that they are read when they are used; weights in 16 or 8
        bits are converted to float32 in memory
    verify : verify the checksum of the arrays. By default this is skipped with ``mmap``, because it
        reads every byte; damaged numbers are then not noticed. Sizes, header and all JSON are
        always checked.
    """
    folder = as_path(path)
    verify = not mmap if verify is None else verify
    with explained("read the model in", folder):
        manifest = read_manifest(folder)
        while True:
            try:
                return _read(folder, manifest, mmap, verify)
            except FileNotFoundError as error:
                # a save may have finished in between and removed the old files
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
    """Read a JSON file, whose text must match ``form`` if given."""
    path = folder / entry.name
    with plain_file(path) as (file, size):
        _check_size(path, size, entry)
        data = bytes(read_into(file, size, lambda piece: None))
    _check_sum(path, checksum(data), entry)
    if form is not None and not form.fullmatch(data):
        raise ModelFormatError(f"{path} is not a list of terms, one per line{DAMAGED}")
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
