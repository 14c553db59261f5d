"""The public surface fits on one screen, and importing it is cheap."""

from __future__ import annotations

import subprocess
import sys

import dcot


def test_exported_members():
    classes = {"DCoT", "DCoTClassifier", "DCoTVectorizer", "SearchIndex"}
    assert set(dcot.__all__) == {*classes, *dcot.errors.__all__, "__version__", "load"}
    assert {"text", "datasets", "plots", "stream"} <= set(dir(dcot))
    for name in dcot.__all__:
        assert getattr(dcot, name) is not None
    assert set(dcot.__all__) <= set(dir(dcot))


def test_import_loads_nothing_heavy():
    code = (
        "import sys, dcot; heavy = {'numpy', 'scipy', 'sklearn', 'numba', 'polars'}; "
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_base_works_without_polars_and_says_what_needs_it(tmp_path):
    code = """
import sys

class WithoutPolars:
    def find_spec(self, name, path=None, target=None):
        if name == "polars":
            raise ImportError(name)

sys.meta_path.insert(0, WithoutPolars())
import numpy as np, pandas as pd, pyarrow as pa
import dcot
texts = ["crude oil", "opec oil output", "wheat harvest", "wheat and corn", "opec oil"]
kinds = [texts, np.array(texts), pd.Series(texts), pa.array(texts), iter(texts)]
models = [dcot.DCoTVectorizer().fit(kind) for kind in kinds]
assert all((model.encode(texts) == models[0].encode(texts)).all() for model in models)
model = dcot.DCoTClassifier().fit(texts, ["oil", "oil", "grain", "grain", None])
model.save(sys.argv[1] + "/model")
assert dcot.load(sys.argv[1] + "/model").predict(["opec"]) == ["oil"]
print(model.explain("opec oil"), dcot.SearchIndex().add(texts).search("opec"))
try:
    models[0].explain("opec").to_frame()
except dcot.MissingExtraError as error:
    print(error)
"""
    command = [sys.executable, "-W", "ignore", "-c", code, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert 'pip install "dcot[tables]"' in done.stdout


def test_every_error_is_a_dcot_error_and_a_usual_one():
    from dcot import errors as tree

    for name in tree.__all__:
        assert getattr(dcot, name) is getattr(tree, name)
        assert name in dcot.__all__
    for error in [getattr(tree, name) for name in tree.__all__ if name != "DcotError"]:
        assert issubclass(error, dcot.DcotError)
        usual = (ValueError, TypeError, AttributeError, MemoryError, ImportError, OSError)
        assert issubclass(error, usual)
        assert error.__name__ in tree.__doc__
