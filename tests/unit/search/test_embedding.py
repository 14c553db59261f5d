"""An index with vectors beside dCoT: from an encoder or from word vectors; saved and checked."""

from __future__ import annotations

import numpy as np
import pytest

import dcot
from dcot import DcotError, DCoTVectorizer, SearchIndex
from dcot.cli import main

TEXTS = ["crude oil prices", "opec oil output", "wheat harvest", "wheat and corn prices", "tin"]
TABLE = {
    "oil": [1.0, 0.0, 0.1],
    "opec": [0.9, 0.1, 0.0],
    "petroleum": [1.0, 0.1, 0.0],
    "wheat": [0.0, 1.0, 0.2],
    "corn": [0.1, 1.0, 0.0],
    "harvest": [0.0, 0.9, 0.1],
}


class Encoder:
    """The sum of the vectors of the words; it counts the texts that it has read."""

    def __init__(self):
        self.read = 0

    def encode(self, texts):
        self.read += len(texts)
        vectors = [[TABLE.get(word, [0, 0, 1]) for word in text.split()] for text in texts]
        return np.array([np.sum(words, axis=0) for words in vectors])


@pytest.fixture
def index():
    return SearchIndex(store_texts=True, embedding=Encoder()).add(TEXTS)


def cosines(rows, others):
    unit = [each / np.linalg.norm(each, axis=1, keepdims=True) for each in (rows, others)]
    return unit[0] @ unit[1].T


@pytest.mark.parametrize("embedding", [Encoder(), TABLE])
def test_the_cosine_is_the_weighted_mean_of_both(embedding):
    model = DCoTVectorizer(n_layers=1, min_df=1).fit(TEXTS)
    query = ["opec and wheat"]
    found = SearchIndex(model, embedding=embedding).add(TEXTS).search(query, hybrid=False)[0]
    alone = SearchIndex(model).add(TEXTS).search(query, hybrid=False)[0]
    if embedding is TABLE:
        words = np.array([TABLE.get(term, [0, 0, 0]) for term in model.counter_.vocabulary_])
        vectors, asked = model.weigh(TEXTS) @ words, model.weigh(query) @ words
    else:
        vectors, asked = embedding.encode(TEXTS), embedding.encode(query)
    mean = vectors[vectors.any(axis=1)].mean(axis=0)
    own = {hit.id: hit.similarity for hit in alone}
    for hit in found:
        if not vectors[hit.id].any():  # "tin" has no word vector: a length of its own
            continue
        theirs = cosines(asked - mean, vectors[[hit.id]] - mean)[0, 0]
        assert hit.similarity == pytest.approx((own[hit.id] + 0.5 * theirs) / 1.5, abs=1e-5)


def test_a_word_that_only_the_encoder_knows_finds_documents(index):
    assert not SearchIndex().add(TEXTS).search("petroleum").known
    assert set(index.search("petroleum", k=2).ids) == {0, 1}


def test_documents_are_encoded_once(index):
    encoder = index.embedding
    probes = 3
    assert encoder.read == len(TEXTS) + probes
    index.add(["opec meeting"])
    assert encoder.read == len(TEXTS) + probes + 1
    index.search("opec", hybrid=0.0)  # by words alone
    assert encoder.read == len(TEXTS) + probes + 1


def test_later_documents_have_the_same_vectors(index):
    copies = index.add(TEXTS)
    for row in range(len(TEXTS)):
        assert copies.similar(row, k=1).ids == [row + len(TEXTS)]
        assert copies.similar(row, k=1)[0].score == pytest.approx(1, abs=1e-6)


def test_blank_texts(index):
    index.add(["", "   "])
    assert not index.search("").known
    assert not SearchIndex(embedding=Encoder()).add(TEXTS).search("  ").known


def test_saved_and_loaded(index, tmp_path):
    index.save(tmp_path / "index", precision=None)
    again = dcot.load(tmp_path / "index")
    assert "Encoder" in repr(again)
    with pytest.raises(DcotError, match=r"Encoder.*dcot\.load\(folder, embedding=encoder\)"):
        again.search("petroleum")
    assert again.search("opec", hybrid=0.0).ids  # words need no encoder
    again = dcot.load(tmp_path / "index", embedding=Encoder())
    for query in ("petroleum", "opec and corn"):
        one, other = index.search(query), again.search(query)
        assert one.ids == other.ids
        assert [hit.score for hit in one] == [hit.score for hit in other]
    assert len(again.add(["opec meeting"])) == len(TEXTS) + 1
    with pytest.raises(DcotError, match="the same encoder"):
        dcot.load(tmp_path / "index", embedding=lambda texts: -Encoder().encode(texts))


def test_word_vectors_are_in_the_folder(tmp_path):
    index = SearchIndex(embedding=TABLE).add(TEXTS)
    index.save(tmp_path / "index", precision=None)
    again = dcot.load(tmp_path / "index")
    found, expected = again.search("opec and corn"), index.search("opec and corn")
    assert [hit.score for hit in found] == [hit.score for hit in expected]
    with pytest.raises(DcotError, match="fitted without an encoder"):
        dcot.load(tmp_path / "index", embedding=Encoder())


def test_an_index_without_embedding_refuses_one(tmp_path):
    SearchIndex().add(TEXTS).save(tmp_path / "index")
    with pytest.raises(DcotError, match="fitted without an encoder"):
        dcot.load(tmp_path / "index", embedding=Encoder())


def test_bad_input(tmp_path):
    with pytest.raises(DcotError, match="embedding is a int"):
        SearchIndex(embedding=3)
    with pytest.raises(DcotError, match="neither a file of word vectors"):
        SearchIndex(embedding=str(tmp_path / "missing.txt"))
    with pytest.raises(DcotError, match="an embedding needs texts"):
        SearchIndex(embedding=Encoder()).add(np.eye(3))
    with pytest.raises(DcotError, match="has none of the 10 words of the documents"):
        SearchIndex(embedding={"unknown": [1.0, 2.0]}).add(TEXTS)
    with pytest.raises(DcotError, match="empty index with an embedding cannot be saved"):
        SearchIndex(embedding=Encoder()).save(tmp_path / "index")
    index = SearchIndex(embedding=lambda texts: np.ones((min(len(texts), 5), 2))).add(TEXTS)
    with pytest.raises(DcotError, match="10 documents, but 5 vectors"):
        index.add(TEXTS * 2)
    assert len(index) == 5


def test_on_the_command_line(tmp_path, capsys):
    corpus, vectors = tmp_path / "news.txt", tmp_path / "vectors.txt"
    corpus.write_text("\n".join(TEXTS))
    lines = [f"{word} {' '.join(map(str, values))}" for word, values in TABLE.items()]
    vectors.write_text("\n".join(lines))
    options = ["--embedding", str(vectors), "-o", str(tmp_path / "index")]
    assert main(["index", "new", str(corpus), *options]) == 0
    assert main(["search", str(tmp_path / "index"), "opec", "-k", "2"]) == 0
    assert "crude oil prices" in capsys.readouterr().out
    assert dcot.load(tmp_path / "index")._snapshot.embedding.name == "vectors.txt"
