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
