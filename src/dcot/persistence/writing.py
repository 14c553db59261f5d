"""Saving: new files beside the old ones, then one atomic step, then the old ones go.

A crash before that step leaves the old model, a crash after it the new one; what else it leaves
behind is cleared away by the next save.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from dcot.errors import (
    InvalidInputError,
    InvalidParameterError,
    InvalidTypeError,
    ModelFolderError,
    ModelFormatError,
)
from dcot.persistence import card, tensors
from dcot.persistence.contents import Contents
from dcot.persistence.files import (
    explained,
    locked,
    partial_name,
    sync_folder,
    write_synced,
)
from dcot.persistence.manifest import (
    CARD,
    LARGEST,
    MANIFEST,
    FileEntry,
    Manifest,
    is_ours,
    read_manifest,
    to_json,
)
from dcot.persistence.precision import check_precision, pack

_OUR_PARTIAL = re.compile(r"\.(arrays|settings|vocabulary|manifest|card)-[0-9a-f]{16}\.partial")


def write_folder(path: Any, contents: Contents, precision: str | None = None) -> None:
    """Save a model; what was at ``path`` before is replaced only if it is a model too.

    Parameters
    ----------
    path : the folder, created if need be
    contents : the model
    precision : ``"float16"`` or ``"int8"`` for its weights, or None to keep them as they are
    """
    check_precision(precision)
    folder = folder_of(path)
    payload = _payload(contents, precision)
    with explained("save the model to", folder):
        check_target(folder)
        is_new = not folder.exists()
        if is_new:
            folder.mkdir(parents=True, exist_ok=True)
            sync_folder(folder.parent)
        try:
            with locked(folder):
                check_target(folder)  # another process may have been here
                _save(folder, contents, payload, precision)
        except BaseException:
            if is_new:
                with suppress(OSError):  # not empty: somebody else's files are in it by now
                    folder.rmdir()
            raise


def folder_of(path: Any) -> Path:
    """A path, or an error for what is none."""
    try:
        found = os.fsdecode(path)
    except TypeError:
        raise InvalidTypeError(
            f"path must be a string or a pathlib.Path, got {type(path).__name__}"
        ) from None
    if not found or "\0" in found:
        raise InvalidParameterError(f"path must name a folder, got {found!r}")
    return Path(found)


def _payload(contents: Contents, precision: str | None) -> dict[str, Iterable[Any]]:
    """The bytes of each file; everything that can be refused is refused here."""
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
        if len(data) > LARGEST[role]:
            raise InvalidInputError(
                f"the {role} take {len(data):,} bytes as JSON, more than the {LARGEST[role]:,} "
                "that a model folder may have: use fewer terms (min_df, max_features) or words"
            )
        payload[role] = [data]
    arrays = {**contents.arrays, **pack(contents.weights, precision)}
    return {"arrays": tensors.pieces(arrays), **payload}


def check_target(folder: Path) -> None:
    """Refuse to write over what is not a model of ours."""
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
    """Whether a save that crashed may have left this file."""
    return is_ours(name) or _OUR_PARTIAL.fullmatch(name) is not None


def _save(
    folder: Path, contents: Contents, payload: dict[str, Iterable[Any]], precision: str | None
) -> None:
    try:
        files = {role: _put(folder, role, pieces) for role, pieces in payload.items()}
        sizes = {role: entry.size for role, entry in files.items()}
        text = card.render(contents.kind, contents.facts, precision, sizes)
        card_file = _partial(folder, "card", text.encode("utf-8", "replace"))
        manifest_file = _partial(folder, "manifest", Manifest(contents.kind, files).to_bytes())
        sync_folder(folder)
        os.replace(manifest_file, folder / MANIFEST)  # from here on, the new model
        sync_folder(folder)
        with suppress(OSError):  # the model is saved; its card is for people
            os.replace(card_file, folder / CARD)
    finally:
        _clear(folder)


def _put(folder: Path, role: str, pieces: Iterable[Any]) -> FileEntry:
    """Write a file of the model, under a name that tells its content."""
    partial = folder / partial_name(role)
    entry = FileEntry(role, *write_synced(partial, pieces))
    os.replace(partial, folder / entry.name)
    return entry


def _partial(folder: Path, role: str, data: bytes) -> Path:
    path = folder / partial_name(role)
    write_synced(path, [data])
    return path


def _clear(folder: Path) -> None:
    """Remove files of ours that the manifest, as it is now, does not name."""
    try:
        keep = read_manifest(folder).names
    except ModelFormatError:
        if os.path.lexists(folder / MANIFEST):
            return  # what cannot be read may be needed
        keep = set()
    for name in os.listdir(folder):
        if _is_leftover(name) and name not in keep:
            with suppress(OSError):  # in use on Windows: the next save tries again
                os.unlink(folder / name)
