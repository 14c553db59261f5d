"""The public surface fits on one screen, and importing it is cheap."""

from __future__ import annotations

import subprocess
import sys

import dcot


def test_exported_members():
    classes = ["DCoT", "DCoTClassifier", "DCoTVectorizer", "DcotError", "SearchIndex"]
    expected = [*classes, "__version__", "load"]
    assert dcot.__all__ == expected
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
    from dcot import _exceptions, estimator

    names = [name for name in _exceptions.__all__ if name != "DcotError"]
    errors = [getattr(_exceptions, name) for name in names] + [estimator.ModelNotFittedError]
    for error in errors:
        assert issubclass(error, dcot.DcotError)
        usual = (ValueError, TypeError, AttributeError, MemoryError, ImportError, OSError)
        assert issubclass(error, usual)
        assert error.__name__ in _exceptions.__doc__
