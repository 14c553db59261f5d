"""The reference has every public name, and its examples run."""

from __future__ import annotations

import doctest
import re
from importlib import import_module
from pathlib import Path

import pytest

import dcot

PAGES = sorted((Path(__file__).parents[2] / "docs" / "reference").glob("*.md"))
MODULES = (
    "dcot",
    "dcot.text",
    "dcot.search",
    "dcot.plots",
    "dcot.distributed",
    "dcot.datasets",
    "dcot.export",
    "dcot.integrations",
)
# for those who write sources and sums of their own; the guides have what others need
STREAM = ("Source", "Blocks", "NpzFiles", "Repeatable", "Once", "watched")
EXPLAIN = ("Meaning", "LayerMeaning", "RankedTerms")


def test_every_public_name_is_there_once():
    listed = re.findall(r"^::: (\S+)$", "\n".join(page.read_text() for page in PAGES), re.M)
    public = {
        f"{module}.{name}"
        for module in MODULES
        for name in import_module(module).__all__
        if name != "__version__"
        and (module == "dcot" or name not in dcot.__all__ or name == "load")
    }
    public |= {f"dcot.stream.{name}" for name in STREAM}
    public |= {f"dcot.explain.{name}" for name in EXPLAIN}
    public |= {f"dcot.search.metrics.{m}" for m in ("ndcg", "average_precision", "paired_p_value")}
    assert sorted(listed) == sorted(public)


# most examples are in docstrings
@pytest.mark.parametrize(
    "page", [page for page in PAGES if ">>> " in page.read_text()], ids=lambda p: p.stem
)
def test_examples_run(page):
    results = doctest.testfile(
        str(page), module_relative=False, encoding="utf-8", optionflags=doctest.ELLIPSIS
    )
    assert results.attempted
    assert results.failed == 0
