"""Model folders: arrays and JSON to a folder and back, versioned, checked, never pickle.

::

    model/
        dcot.json                               manifest: format, versions, sizes, checksums
        arrays-<checksum>.safetensors           numbers
        settings-<checksum>.json                settings
        vocabulary-<checksum>.json              terms, one for each column, where they are known
        README.md                               a card for people; dcot never reads it

A file's name holds its checksum, so a new model never touches the files of the old one; replacing
``dcot.json``, one atomic step, is what makes the new model the model.
"""

from __future__ import annotations

from dcot.persistence.contents import Contents, decode, encode
from dcot.persistence.folder import read_folder, write_folder
from dcot.persistence.manifest import FORMAT_VERSION

__all__ = ["FORMAT_VERSION", "Contents", "decode", "encode", "read_folder", "write_folder"]
