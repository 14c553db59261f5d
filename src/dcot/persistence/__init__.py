"""Save models to folders and load them: arrays and JSON, versioned and checked, without pickle.

::

    model/
        dcot.json                               manifest: format, versions, sizes, checksums
        arrays-<checksum>.safetensors           numbers
        settings-<checksum>.json                settings
        vocabulary-<checksum>.json              terms, one for each column, if known
        README.md                               a model card for people; dcot does not read it

The name of a file contains its checksum, so a new model does not change the files of the old one.
Replacing ``dcot.json``, one atomic step, switches to the new model.
"""

from __future__ import annotations

from dcot.persistence.contents import Contents, decode, encode
from dcot.persistence.folder import read_folder, write_folder
from dcot.persistence.manifest import FORMAT_VERSION

__all__ = ["FORMAT_VERSION", "Contents", "decode", "encode", "read_folder", "write_folder"]
