"""MTEBSearch: by the protocol, and in a task of MTEB where it is installed."""

from __future__ import annotations

import pytest

from dcot import DcotError, DCoTVectorizer, SearchIndex, datasets
from dcot.integrations import MTEBSearch

TEXTS = ["crude oil prices", "opec oil output", "wheat harvest", "wheat and corn prices"]


class Rows(list):
    """Rows of a table that also has columns, as a ``datasets.Dataset`` has."""

    def __getitem__(self, key):
        return [row[key] for row in self] if isinstance(key, str) else super().__getitem__(key)


CORPUS = Rows({"id": f"d{i}", "title": None, "text": text} for i, text in enumerate(TEXTS))
QUERIES = Rows([{"id": "q0", "text": "opec"}, {"id": "q1", "text": "corn"}])
TASK = {"task_metadata": None, "hf_split": "test", "hf_subset": "default", "encode_kwargs": {}}


def test_finds_what_the_index_finds():
    model = MTEBSearch(hybrid=0.7)
    with pytest.raises(DcotError, match="call index first"):
        model.search(QUERIES, top_k=2, **TASK)
    model.index(CORPUS, num_proc=None, **TASK)
    found = model.search(QUERIES, top_k=2, num_proc=None, **TASK)
    expected = SearchIndex(hybrid=0.7).add(TEXTS, ids=CORPUS["id"]).search(QUERIES["text"], 2)
    assert [list(scores) for scores in found.values()] == [hits.ids for hits in expected]
    among = {"q0": ["d0", "d2"], "q1": ["d2"]}
    found = model.search(QUERIES, top_k=2, top_ranked=among, **TASK)
    assert set(found["q0"]) <= {"d0", "d2"}
    assert set(found["q1"]) <= {"d2"}


@pytest.mark.filterwarnings("ignore")
def test_is_a_search_model_of_mteb():
    pytest.importorskip("mteb", reason='mteb is not installed: pip install "dcot[mteb]"')
    import mteb
    from mteb.mocks.mock_tasks import MockRerankingTask, MockRetrievalTask
    from mteb.models import SearchProtocol

    assert isinstance(MTEBSearch(), SearchProtocol)
    results = mteb.evaluate(MTEBSearch(), [MockRetrievalTask(), MockRerankingTask()], cache=None)
    assert len(results.task_results) == 2
    assert all(0 < result.get_score() <= 1 for result in results.task_results)


@pytest.mark.filterwarnings("ignore")
def test_the_recorded_run_can_be_repeated():
    pytest.importorskip("mteb", reason="make mteb installs it")
    from tests.integrations import mteb_run

    score = mteb_run.score(MTEBSearch(), mteb_run.same_topic())
    (line,) = [line for line in mteb_run.TABLE.read_text().splitlines() if "same topic" in line]
    assert f"{score:.1f}" == line.split("|")[-3].strip()


@pytest.mark.filterwarnings("ignore")
def test_the_encoder_of_the_page():
    pytest.importorskip("mteb", reason="make mteb installs it")
    from tests.integrations import mteb_run
    from tests.integrations.test_page import BLOCKS

    corpus = datasets.load("everyday")
    names = {"model": DCoTVectorizer(n_components=64, random_state=0).fit(corpus.texts)}
    exec(compile(BLOCKS["MTEB"], "integrations.md", "exec"), names)
    task = mteb_run.clustering("EverydayClustering", corpus.texts, corpus.labels.tolist())
    assert mteb_run.score(names["Encoder"](), task) > 40
