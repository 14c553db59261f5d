"""What is no path is refused in the same words by everything that reads or writes files."""

from __future__ import annotations

import pytest

import dcot
from dcot import DcotError, DCoTVectorizer, datasets, export
from dcot.stream.sources import NpzFiles

TEXTS = ["crude oil", "opec oil output", "wheat harvest", "corn and wheat"]


@pytest.fixture(scope="module")
def model():
    return DCoTVectorizer().fit(TEXTS)


@pytest.mark.parametrize("path", [5, None, "", "a\0b"])
@pytest.mark.parametrize(
    "use",
    [
        lambda model, path: model.save(path),
        lambda model, path: model.transform_to(TEXTS, path),
        lambda model, path: export.to_numpy(model, path),
        lambda model, path: export.to_onnx(model, path),
        lambda model, path: dcot.load(path),
        lambda model, path: datasets.load_folder(path),
        lambda model, path: datasets.load_table(path, text="text"),
        lambda model, path: datasets.load_beir(path),
        lambda model, path: NpzFiles([path]),
    ],
    ids=["save", "transform_to", "numpy", "onnx", "load", "folder", "table", "beir", "npz"],
)
def test_what_is_no_path(model, use, path):
    with pytest.raises(DcotError, match="path must"):
        use(model, path)
