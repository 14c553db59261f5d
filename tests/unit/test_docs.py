"""The code in the documentation runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
TEXTS = [
    "crude oil prices rose",
    "opec cut oil output",
    "nasdaq stocks fell",
    "stocks and shares on the nasdaq",
    "oil exports",
    "shares rose",
]
NAMES = {
    "texts": TEXTS,
    "labelled": [0, 2],
    "y": ["oil", "stocks"],
    "labels": ["oil", None, "stocks", None, None, None],
    "new_texts": ["opec"],
}


@pytest.mark.parametrize("page", ["index.md", "classifier.md"])
@pytest.mark.filterwarnings("ignore:dCoT .* does not beat TF-IDF")
def test_code_blocks_run(page, capsys):
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(), re.S)
    assert blocks
    namespace = dict(NAMES)
    for block in blocks:
        exec(compile(block, page, "exec"), namespace)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_code_of_the_page_on_scaling_runs(tmp_path):
    pytest.importorskip("dask")
    (tmp_path / "texts.txt").write_text("\n".join(TEXTS) + "\n")
    names = {**NAMES, "paths": [tmp_path / "texts.txt"], "features": tmp_path / "z.npy"}
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / "scaling.md").read_text(), re.S)
    for block in blocks:
        exec(compile(block, "scaling.md", "exec"), names)
    assert names["features"].exists()


def test_pages_of_the_navigation_exist():
    navigation = (DOCS.parent / "mkdocs.yml").read_text()
    for page in re.findall(r": (\w+\.md)$", navigation, re.M):
        assert (DOCS / page).exists(), page


def test_tables_come_from_the_benchmarks():
    for table in re.findall(r'--8<-- "(.+?)"', (DOCS / "defaults.md").read_text()):
        assert (DOCS / table).read_text().startswith("| change |")
