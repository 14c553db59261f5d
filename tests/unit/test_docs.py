"""The code in the documentation runs, its links lead somewhere, and no figure is there twice."""

from __future__ import annotations

import doctest
import json
import pkgutil
import re
import runpy
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.trust import campaign

from dcot.bench.profiles import PROFILES
from dcot.bench.report.writing import summary
from dcot.classifier.selection import INPUT_FROM_LABELS

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
    "labels": ["oil", "oil", "stocks", "stocks", None, None],
    "new_texts": ["opec"],
    "labelled_texts": ["crude oil", "opec output", "nasdaq fell", "stocks and shares"],
    "topics": ["oil", "oil", "stocks", "stocks"],
}


ROOT = DOCS.parent
COMING_FROM = [f"coming-from/{name}.md" for name in ("tfidf-svd", "gensim", "encoders")]
PAGES = sorted({*DOCS.rglob("*.md")} - {*(DOCS / "tables").glob("*.md")})
COMPARED = sorted((DOCS / "tables").glob("compare-*.md"))
TUTORIALS = sorted((DOCS / "tutorials").glob("*.py"))
WRITTEN_BY_THE_BUILD = {DOCS / "reference" / "command.md"} | {
    path.with_suffix(".md") for path in TUTORIALS
}


@pytest.mark.filterwarnings("ignore:dCoT .* does not beat TF-IDF")
@pytest.mark.filterwarnings("ignore:no document is certain enough")
@pytest.mark.filterwarnings("ignore::DeprecationWarning:gensim")
@pytest.mark.parametrize("page", ["classifier.md", "vectors.md", *COMING_FROM])
def test_code_runs(page, capsys):
    if page == "coming-from/gensim.md":
        pytest.importorskip("gensim")
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(), re.S)
    assert blocks
    namespace = dict(NAMES)
    for block in blocks:
        few = re.sub(r"\b300\b", "5", block)  # components; these texts have few words
        exec(compile(few, page, "exec"), namespace)


@pytest.mark.filterwarnings("ignore:dCoT .* does not beat TF-IDF")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_code_of_the_page_on_scaling_runs(tmp_path):
    pytest.importorskip("dask")
    (tmp_path / "texts.txt").write_text("\n".join(TEXTS) + "\n")
    names = {**NAMES, "paths": [tmp_path / "texts.txt"], "features": tmp_path / "z.npy"}
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / "scaling.md").read_text(), re.S)
    for block in blocks:
        exec(compile(block, "scaling.md", "exec"), names)
    assert names["features"].exists()


def test_the_navigation_has_every_page_once():
    navigation = re.findall(r"(?:: |- )(\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.M)
    pages = {page for page in PAGES if page.parent.name != "experiments"} | WRITTEN_BY_THE_BUILD
    assert sorted(navigation) == sorted(page.relative_to(DOCS).as_posix() for page in pages)


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", *PAGES, *TUTORIALS], ids=lambda path: str(path.relative_to(ROOT))
)
def test_links_lead_somewhere(page):
    text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(), flags=re.S)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists() or target in WRITTEN_BY_THE_BUILD, link
        if anchor and target.exists():
            assert anchor in anchors(target), link


def anchors(page: Path) -> set[str]:
    """Of the headings, as mkdocs makes them, with those of an included page."""
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.S)
    for included in re.findall(r"^\[.+\]\((experiments/.+)\)$", text, re.M):
        text += (DOCS / included).read_text()
    titles = re.findall(r"^#+ (.+)$", text, re.M)
    return {re.sub(r"[^\w]+", "-", title.lower()).strip("-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(DOCS)))
def test_code_names_its_language(page):
    """The site shows blocks without one as output."""
    fences = re.findall(r"^ *```(\w*)", page.read_text(), re.M)
    assert "" not in fences[::2]


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(DOCS)))
def test_code_fits_on_the_page(page):
    """As style.css has it on 1280 pixels; messages of errors may be longer."""
    for language, block in re.findall(r"^ *```(\w+)\n(.*?)^ *```", page.read_text(), re.S | re.M):
        if language not in ("math", "text"):
            code = re.sub(r"  # doctest: .+$|^(?:[\w.]+\.)?\w+Error: .*$", "", block, flags=re.M)
            assert [line for line in code.splitlines() if len(line) > 88] == []


def test_tables_come_from_the_benchmarks():
    tables = re.findall(r"^\[.+\]\((tables/.+)\)$", (DOCS / "defaults.md").read_text(), re.M)
    assert len(tables) > 5
    for table in tables:
        found = (DOCS / table).read_text()
        # one table, or one of accuracy and one of macro-F1 under their titles
        assert re.match(r"\| change \||\*\*[a-z-]+: change in accuracy.*\n\n\| change \|", found)


def test_accuracies_of_systems_are_printed_on_one_page_only():
    """Tables of accuracies are written by dcot bench: into docs/experiments, or to compare-*."""
    names = {"bag of words", "TF-IDF", "LSI", "PCA", "LDA", "NMF", "SDA", "mSDA", "dCoT", "BM25"}
    tables = {*(DOCS / "tables").glob("*.md")} - {*COMPARED}
    for page in [*DOCS.glob("*.md"), *tables, ROOT / "README.md"]:
        for line in page.read_text().splitlines():
            cells = [cell.strip(" *") for cell in line.strip().strip("|").split("|")]
            if line.startswith("|") and cells[0] in names:
                figures = [cell for cell in cells[1:] if re.fullmatch(r"\d\d\.\d+( ± .*)?", cell)]
                assert not figures, f"{page.name}: {line}"


@pytest.mark.parametrize("page", COMING_FROM)
def test_the_pages_for_users_of_other_tools_have_the_measured_figures(page):
    """Accuracy and seconds of a row are those of the tables that dcot bench and a script wrote."""
    accuracy = {path.stem.removeprefix("compare-"): path.read_text() for path in COMPARED}
    seconds = (DOCS / "tables" / "coming-from-time.md").read_text()
    pattern = r"^\| .+ \| ([\d.]+) % \| ([\d.]+) % \| ([\d.]+) \| ([\d.]+) \|$"
    rows = re.findall(pattern, (DOCS / page).read_text(), re.M)
    assert len(rows) >= 2
    for everyday, r8, *times in rows:
        assert re.search(rf"\| \**{everyday} ± ", accuracy["everyday"])
        assert re.search(rf"\| \**{r8} ± ", accuracy["r8"])
        first, second = times
        assert re.search(rf"\| {first}(?: \(.+?\))? \| {second}(?: \(.+?\))? \|", seconds)


def test_figures_for_programs_agree_with_the_page():
    """Every accuracy and macro-F1 of the tables by number of labels is in figures.json."""
    folder = DOCS / "experiments"
    identity = ("corpus", "system", "classifier", "learned", "labels", "metric")
    most, known = {}, {}
    for figure in json.loads((folder / "figures.json").read_text())["figures"]:
        key = tuple(figure[name] for name in identity)
        assert key not in known
        known[key] = figure["mean"]
        if figure["labels"] == "all":
            most[figure["corpus"]] = figure["learned"]  # all training documents
    title = r"\*\*(Accuracy|Macro-F1) \(%\), (\S+); (ridge|linear SVM).*\*\*\n\n((?:\|.*\n)+)"
    compared = 0
    for metric, corpus, classifier, table in re.findall(title, (folder / "results.md").read_text()):
        rows = [[cell.strip(" *") for cell in row.split("|")[1:-1]] for row in table.splitlines()]
        for system, *cells in rows[2:]:
            for labels, cell in zip(rows[0][1:], cells, strict=True):
                if " against " not in system:
                    key = (corpus, system, {"ridge": "ridge"}.get(classifier, "SVM"), most[corpus])
                    budget = labels if labels == "all" else int(labels)
                    mean = known[(*key, budget, {"Accuracy": "accuracy"}.get(metric, "macro_f1"))]
                    assert abs(float(cell.split(" ±")[0]) - mean) < 0.0501, (system, cell)
                    compared += 1
    assert compared > 500


def test_what_vectors_change_comes_from_the_figures():
    known = json.loads((DOCS / "experiments" / "figures.json").read_text())["figures"]
    whole = {figure["corpus"]: figure["learned"] for figure in known if figure["labels"] == "all"}
    accuracy = {
        (figure["corpus"], figure["system"], figure["labels"]): figure["mean"]
        for figure in known
        if (figure["metric"], figure["classifier"]) == ("accuracy", "ridge")
        and figure["learned"] == whole[figure["corpus"]]
    }

    def gains(corpus: str, vectors: str) -> list[float]:
        pairs = [key for key in accuracy if key[:2] == (corpus, f"dCoT with {vectors}")]
        found = sorted(accuracy[key] - accuracy[(corpus, "dCoT", key[2])] for key in pairs)
        assert len(found) == 6
        return found

    page = (DOCS / "vectors.md").read_text()
    for corpus, title in (("dmoz", "Dmoz"), ("20newsgroups", "20 Newsgroups"), ("r52", "R52")):
        (row,) = re.findall(rf"^\| .+ \({title}\) \| (.+) \| (.+) \|$", page, re.M)
        for cell, vectors in zip(row, ("pretrained encoder", "static embeddings"), strict=True):
            least, *_, most = gains(corpus, vectors)
            shown = {float(number) for number in re.findall(r"\d+\.\d", cell)}
            rounded = {round(abs(least), 1), round(most, 1)}
            assert shown <= rounded, cell
            assert round(abs(least) if "worse" in cell else most, 1) in shown, cell


def test_published_figures_can_be_drawn_again():
    redraw = runpy.run_path(str(DOCS / "redraw.py"))
    results = redraw["published"](DOCS / "experiments")
    known = json.loads((DOCS / "experiments" / "figures.json").read_text())["figures"]
    found = {
        tuple(figure.values())
        for figure in (dict(each, draws=None) for each in summary(results))
        if figure["sd"]
    }
    assert found == {tuple(dict(each, draws=None).values()) for each in known if each["sd"]}
    names = {name for _, name, _, _ in redraw["figures"](results)}
    drawn = [path.stem for path in (DOCS / "experiments").glob("few-labels-*.svg")]
    assert names == {*drawn, "unlabelled"}


def test_the_page_on_stress_tests_has_the_counts_of_the_last_run():
    written = campaign.page(*campaign._kept())
    here, there = (text.split("<details")[0] for text in (written, campaign.PAGE.read_text()))
    assert here == there
    rows = [campaign.Row("load", "Many threads, processes and calls", 5, 0, "today", 1.0)]
    rows += [campaign.Row("load", "threads", 1000, failed, "today", 0.0) for failed in (0, 3)]
    assert "| Many threads, processes and calls | 2,000 | 3 |" in campaign.page(rows, {"load": 1})


def test_functions_named_beside_formulas_exist():
    named = set()
    for page in (DOCS / "understanding").glob("*.md"):
        named |= set(re.findall(r"`(dcot\.[\w.]+)`", page.read_text()))
    assert len(named) > 10
    for name in named:
        pkgutil.resolve_name(name)


def test_the_method_in_ten_lines_is_the_method():
    page = DOCS / "understanding" / "index.md"
    results = doctest.testfile(str(page), module_relative=False, encoding="utf-8")
    assert results.attempted > 10
    assert results.failed == 0


def test_the_page_of_the_command_has_the_help_of_every_command():
    hooks = runpy.run_path(str(DOCS / "hooks.py"))
    page = hooks["command_help"]()
    for title in ("dcot train", "dcot search", "dcot bench paper"):
        assert f"# {title}\n\n```text\nUsage: {title}" in page


def test_links_to_tables_become_tables_and_prompts_are_marked():
    hooks = runpy.run_path(str(DOCS / "hooks.py"))
    page = SimpleNamespace(file=SimpleNamespace(src_uri="coming-from/index.md"))
    code = "```python\n>>> 1  # doctest: +SKIP\n1\n\n```\n"
    source = f"Text.\n\n[A table](../tables/install.md)\n\n{code}"
    shown = hooks["on_page_markdown"](source, page=page)
    assert (DOCS / "tables" / "install.md").read_text() in shown
    assert "](../tables" not in shown
    assert "```pycon\n>>> 1\n1" in shown


def test_a_number_and_its_unit_stay_on_one_line_in_tables():
    hooks = runpy.run_path(str(DOCS / "hooks.py"))
    page = SimpleNamespace(file=SimpleNamespace(src_uri="speed.md"))
    source = "It takes 2 s.\n\n| a 3 seconds | 1.5 s | 31 / 30 MB | 51 % |\n"
    shown = hooks["on_page_markdown"](source, page=page)
    assert shown == source.replace("1.5 s", "1.5\u00a0s").replace("0 MB", "0\u00a0MB").replace(
        "51 %", "51\u00a0%"
    )


def test_phones_show_panels_one_by_one_and_narrow_pictures():
    shown = runpy.run_path(str(DOCS / "hooks.py"))["on_page_content"]
    source = "../experiments/few-labels-ridge-accuracy.svg"
    curves = shown(f'<p><img alt="Curves" src="{source}" /></p>')
    assert re.findall(r'alt="(.*?)" src="(.+?)"', curves) == [
        ("Curves", source),  # on wide screens
        ("Curves", f"{source}#panel-1"),
        *(("", f"{source}#panel-{number}") for number in (2, 3, 4)),
    ]
    picture = shown('<p><img alt="dcot" src="images/dcot.png" /></p>')
    assert '<source media="(max-width: 44em)" srcset="images/dcot-narrow.png"><img' in picture
    assert "(max-width: 44em)" in (DOCS / "style.css").read_text()
    for other in ("../images/label.png", "../experiments/noise.svg"):  # as they are
        image = f'<p><img alt="A picture" src="{other}" /></p>'
        assert shown(image) == image


def test_cells_of_a_tutorial():
    cells = runpy.run_path(str(DOCS / "hooks.py"))["cells"]
    found = list(cells('"""# Title"""\n\n# %%\n# Why.\nx = 1\n\n# %%\ny = 2\n'))
    assert found == [("# Title", ""), ("Why.", "x = 1"), ("", "y = 2")]


def test_the_number_of_labels_from_which_x_is_a_candidate():
    pages = {
        name: " ".join((DOCS / name).read_text().split())
        for name in ("understanding/classifier.md", "defaults.md")
    }
    learning = pages["understanding/classifier.md"]
    assert f"With {INPUT_FROM_LABELS:,} labels or more, they also decide" in learning
    assert f"With {INPUT_FROM_LABELS:,} labels or more it is a candidate" in pages["defaults.md"]


def test_no_cell_is_printed_by_two_pages():
    """Titles of tables name their cells; corpora of other tables are not in the experiments."""
    titles: Counter[str] = Counter()
    for page in [ROOT / "README.md", *DOCS.rglob("*.md")]:
        titles.update(re.findall(r"^\*\*(.+ \(%\).*)\*\*$", page.read_text(), re.M))
    assert len(titles) > 10
    assert set(titles.values()) == {1}, titles.most_common(3)
    compared = {path.stem.removeprefix("compare-") for path in COMPARED}
    assert compared
    mteb = (DOCS / "tables" / "mteb.md").read_text().lower()
    assert "retrieval: same topic" in mteb
    for profile in PROFILES.values():
        assert not compared & set(profile.few_labels)
        assert not any(f"retrieval: {name}" in mteb for name in profile.collections)


QUALITY = re.compile(r"accura|ndcg|\bf1\b", re.I)


@pytest.mark.parametrize("path", sorted((ROOT / "benchmarks").glob("*.py")), ids=lambda p: p.stem)
def test_benchmarks_measure_no_accuracy(path):
    """They have speed, memory, scale and search speed; dcot bench has the rest."""
    assert not QUALITY.search(path.read_text())


@pytest.mark.parametrize("page", [ROOT / "README.md", *PAGES], ids=lambda path: path.name)
def test_no_page_has_an_accuracy_from_the_benchmarks(page):
    """A section that names one of them has no such figure."""
    for section in re.split(r"^#+ ", page.read_text(), flags=re.M):
        assert "python -m benchmarks" not in section or not QUALITY.search(section)


def test_the_reference_shows_short_descriptions(monkeypatch):
    monkeypatch.setitem(sys.modules, "griffe", SimpleNamespace(Extension=object, Object=object))
    spread = runpy.run_path(str(DOCS / "compact.py"))["spread"]
    kept = "Parameters\n----------\nx : int\n    A number.\n\nRaises\n------\nError\n    If not."
    assert spread(kept) == kept
    kinds = "Parameters\n----------\nx : {'a', 'b'}, list or None, default='a'\n    An X."
    assert "x : 'a' or 'b' or list or None, default='a'\n" in spread(kinds)
    short = "Parameters\n----------\nk, n : how many, at\n    most\n\nReturns\n-------\nThe sum."
    long = "    how many, at\n    most"
    expected = f"k\n{long}\nn\n{long}\n\nReturns\n-------\n:\n    The sum."
    assert spread(short).removeprefix("Parameters\n----------\n") == expected
