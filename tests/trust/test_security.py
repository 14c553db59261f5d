"""Threats of SECURITY.md: that each has its test, and those that are tested nowhere else."""

from __future__ import annotations

import ast
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from dcot import DCoTClassifier, DCoTVectorizer, SearchIndex
from dcot.bench.report.tables import Table
from dcot.bench.report.writing import table

ROOT = Path(__file__).parents[2]
THREATS = [
    line for line in (ROOT / "SECURITY.md").read_text().splitlines() if "::" in line
]  # a row of the table each
NASTY = "<script>alert(1)</script><img src=x onerror=alert(1)>"


@pytest.mark.parametrize("row", THREATS, ids=lambda row: row.split("|")[1].strip()[:50])
def test_every_threat_has_its_tests(row):
    named = re.findall(r"`([\w/]+\.py)::(\w+)`", row)
    assert named
    for path, name in named:
        assert f"def {name}(" in (ROOT / path).read_text(), f"{path} has no {name}"


# -- no code from outside -----------------------------------------------------------------------

MODULES = {"marshal", "shelve", "dill", "cloudpickle", "joblib", "yaml", "code"}
CALLS = {"eval", "exec", "compile", "__import__"}
ATTRIBUTES = {
    "pickle": {"load", "loads", "Unpickler"},
    "os": {"system", "popen", "execv", "execvp", "spawnl", "spawnv"},
}


def _suspicious(tree: ast.AST) -> list[str]:
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.name for alias in node.names]
            modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else names
            found += [f"imports {name}" for name in modules if name.split(".")[0] in MODULES]
            if isinstance(node, ast.ImportFrom) and node.module in ATTRIBUTES:
                found += [f"imports {name}" for name in names if name in ATTRIBUTES[node.module]]
        if isinstance(node, ast.Call):
            called = node.func
            if isinstance(called, ast.Name) and called.id in CALLS:
                found.append(f"calls {called.id}")
            if isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name):
                if called.attr in ATTRIBUTES.get(called.value.id, ()):
                    found.append(f"calls {called.value.id}.{called.attr}")
                if called.value.id in ("np", "numpy") and called.attr == "load":
                    options = {key.arg: getattr(key.value, "value", None) for key in node.keywords}
                    if options.get("allow_pickle") is not False:
                        found.append("calls np.load without allow_pickle=False")
            shell = [key for key in node.keywords if key.arg == "shell"]
            found += ["runs a shell"] * bool(shell)
    return found


def test_nothing_unpickles_evaluates_or_calls_a_shell():
    files = sorted((ROOT / "src").rglob("*.py"))
    assert len(files) > 100
    found = {
        str(path.relative_to(ROOT)): suspicious
        for path in files
        if (suspicious := _suspicious(ast.parse(path.read_text(encoding="utf-8"))))
    }
    assert found == {}


def test_the_search_for_code_finds_some():
    text = (
        "import marshal, pickle, os, numpy as np\nfrom pickle import loads\npickle.loads(b'')\n"
        "eval('1')\nos.system('x')\nnp.load('x')\nnp.load('x', allow_pickle=False)\nf(shell=True)"
    )
    assert len(_suspicious(ast.parse(text))) == 7


# -- markup -------------------------------------------------------------------------------------


class _Tags(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: set[str] = set()
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.found |= {tag, *(name for name, _ in attrs if name.startswith("on"))}


def test_markup_is_inert_in_notebooks_and_reports():
    texts = [f"{NASTY} oil {n}" for n in range(3)] + ["wheat and corn", "corn"]
    words = {"token_pattern": r"\S+", "lowercase": False, "min_df": 1}
    labels = [NASTY, NASTY, None, "grain", None]
    model = DCoTClassifier(vectorizer=DCoTVectorizer(**words), selection="none").fit(texts, labels)
    index = SearchIndex(model.vectorizer_, store_texts=True)
    index.add(texts, ids=[f"{NASTY}{n}" for n in range(5)], metadata=[{NASTY: NASTY}] * 5)
    pages = [
        model.explain(texts[0])._repr_html_(),
        model.meaning(texts[0])._repr_html_(),
        model.similar_terms(texts[0].split()[0])._repr_html_(),
        index.search("oil")._repr_html_(),
        index.search([NASTY, "oil"])._repr_html_(),
        table(Table(NASTY, [NASTY, NASTY], [[NASTY, f"*{NASTY}"]])),
    ]
    for page in pages:
        assert "alert(1)" in page  # it is shown
        assert not _Tags(page).found & {"script", "img", "onerror"}
