"""Every section of docs/integrations.md runs against the real package, and its result is right."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest
from sklearn.metrics import adjusted_mutual_info_score

from dcot import DCoTClassifier, DcotError, SearchIndex, datasets

PAGE = (Path(__file__).parents[2] / "docs" / "integrations.md").read_text(encoding="utf-8")
BLOCKS = {
    section.partition("\n")[0].lstrip("# "): "\n".join(
        re.findall(r"```python\n(.*?)```", section, re.S)
    )
    for section in re.split(r"\n(?=## )", PAGE)
}
pytestmark = pytest.mark.filterwarnings("ignore")  # theirs are not ours to mend


@pytest.fixture(scope="module")
def names():
    found: dict[str, object] = {}
    exec(compile(BLOCKS["Other tools"], "integrations.md", "exec"), found)
    return found


@pytest.fixture
def run(request):
    def run(section: str, package: str) -> dict[str, object]:
        target = "make mteb" if package == "txtai" else "make test-integrations"
        pytest.importorskip(package, reason=f"{package} is not installed: {target} installs it")
        found = dict(request.getfixturevalue("names"))
        exec(compile(BLOCKS[section], "integrations.md", "exec"), found)
        return found

    return run


def cooking(texts: list[str]) -> int:
    """How many of the texts are about cooking."""
    corpus = datasets.load("everyday")
    label = dict(zip(corpus.texts, corpus.labels, strict=True))
    return sum(label[text] == "cooking" for text in texts)


def test_columns_of_texts(run):
    found = run("Columns of texts", "datasets")
    rows = found["rows"]
    assert (found["model"].encode(rows["text"]) == found["vectors"]).all()
    # a column, a slice of rows, and Arrow's chunks below them
    assert (
        found["model"].encode(rows[3:9]["text"]) == found["model"].encode(found["texts"][3:9])
    ).all()
    labels = datasets.load("everyday").labels
    assert DCoTClassifier().fit(rows["text"], labels).predict(rows["text"]).shape == (len(rows),)
    assert len(SearchIndex().add(rows["text"]).search(rows["text"][:2])) == 2
    with pytest.raises(DcotError, match="expected one column of texts"):
        found["model"].encode(rows)


def test_bertopic(run):
    found = run("BERTopic", "bertopic")
    assert adjusted_mutual_info_score(datasets.load("everyday").labels, found["topics"]) > 0.35
    assert len(found["topic_model"].get_topics()) == 17
    # the pipeline embeds new texts
    (topic,), _ = found["topic_model"].transform(["simmer the sauce with garlic and thyme"])
    assert topic in found["topics"]


def test_keybert(run):
    keywords = [word for word, _ in run("KeyBERT", "keybert")["keywords"]]
    assert {"sauce", "garlic"} <= set(keywords)


def test_langchain(run):
    found = run("LangChain", "langchain_core")
    assert cooking([document.page_content for document in found["documents"]]) >= 2
    from langchain_core.embeddings import Embeddings

    embeddings = found["store"].embeddings
    assert isinstance(embeddings, Embeddings)
    assert embeddings.embed_documents(["tea"]) == [embeddings.embed_query("tea")]


def test_llama_index(run):
    found = run("LlamaIndex", "llama_index.core")
    assert cooking([node.text for node in found["nodes"]]) >= 2


def test_haystack(run):
    found = run("Haystack", "haystack")
    assert cooking([document.content for document in found["retrieved"]]) >= 2


def test_exported_models(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = run("ONNX", "onnxruntime")
    assert found["classifier"].classes_[found["probabilities"].argmax()] == "cooking"
    run("NumPy alone", "numpy")
    assert {path.name for path in (tmp_path / "deploy").iterdir()} == {"scorer.py", "weights.npz"}
    scorer = runpy.run_path(str(tmp_path / "deploy" / "scorer.py"))["Scorer"]
    assert scorer().predict(["chop the parsley and simmer the sauce"]) == ["cooking"]


def test_chroma(run):
    found = run("Chroma", "chromadb")
    assert cooking(found["answer"]["documents"][0]) >= 2


def test_txtai(run):
    found = run("txtai", "txtai")
    assert cooking([row["text"] for row in found["results"]]) >= 2
    assert (found["embeddings"].transform("tea") == found["model"].encode("tea")).all()
