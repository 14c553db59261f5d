"""The code in the documentation runs."""

from __future__ import annotations

import json
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
    "labelled_texts": ["crude oil", "opec output", "nasdaq fell", "stocks and shares"],
    "topics": ["oil", "oil", "stocks", "stocks"],
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


def test_accuracies_of_systems_are_printed_on_one_page_only():
    """All tables of accuracies are written by dcot bench into docs/experiments."""
    names = {"bag of words", "TF-IDF", "LSI", "PCA", "LDA", "NMF", "SDA", "mSDA", "dCoT", "BM25"}
    pages = [*DOCS.glob("*.md"), *(DOCS / "tables").glob("*.md"), DOCS.parent / "README.md"]
    for page in pages:
        for line in page.read_text().splitlines():
            cells = [cell.strip(" *") for cell in line.strip().strip("|").split("|")]
            if line.startswith("|") and cells[0] in names:
                figures = [cell for cell in cells[1:] if re.fullmatch(r"\d\d\.\d+( ± .*)?", cell)]
                assert not figures, f"{page.name}: {line}"


def test_figures_for_programs_agree_with_the_page():
    """Where the page was written with figures for programs, they say the same."""
    folder = DOCS / "experiments"
    if not (folder / "figures.json").exists():
        pytest.skip("results of an earlier run, without figures for programs")
    page = (folder / "results.md").read_text()
    identity = ("corpus", "system", "classifier", "learned", "labels", "metric")
    seen = set()
    for figure in json.loads((folder / "figures.json").read_text())["figures"]:
        key = tuple(str(figure[name]) for name in identity)
        assert key not in seen
        seen.add(key)
        assert f"{figure['mean']:.1f}" in page
