"""A change to an index happens whole or not at all, for other threads and after an interrupt."""

from __future__ import annotations

import copy
import pickle
import signal
import sys
import threading

import numpy as np
import pytest

import dcot
from dcot import DCoTVectorizer, SearchIndex
from dcot.search.postings import Postings
from dcot.search.records import Records
from dcot.search.snapshot import Vectors

RNG = np.random.default_rng(0)
WORDS = [f"word{i}" for i in range(60)]
TEXTS = [" ".join(RNG.choice(WORDS, 12)) for _ in range(60)]
GROUP = 7  # documents that are always added and removed together


@pytest.fixture(scope="module")
def model():
    return DCoTVectorizer(n_prototypes=20, n_layers=1).fit(TEXTS)


def group(number):
    texts = [f"{TEXTS[(number * GROUP + i) % 60]} new{number} all" for i in range(GROUP)]
    names = [f"{number}-{i}" for i in range(GROUP)]
    return texts, names, [{"group": number}] * GROUP


def test_searching_while_others_change_it(model, tmp_path):
    """Every search sees whole groups, and the records that belong to the rows it found."""
    index = SearchIndex(model, store_texts=True).add(*group(0))
    failures, done = [], threading.Event()

    def change():
        try:
            for number in range(1, 40):
                index.add(*group(number))
                if number % 2:
                    index.remove(group(number // 2)[1])
                if number % 8 == 0:
                    index.save(tmp_path / "index")
                    assert len(dcot.load(tmp_path / "index")) % GROUP == 0
        finally:
            done.set()

    def read():
        while not done.is_set():
            hits = index.search("all word3 word7", k=1000)
            groups = [hit.metadata["group"] for hit in hits]
            assert {groups.count(number) for number in set(groups)} == {GROUP}
            assert all(hit.id.startswith(f"{hit.metadata['group']}-") for hit in hits)
            assert all(f"new{hit.metadata['group']} " in hit.text for hit in hits)
            assert len(index) % GROUP == 0
            assert len(index.ids) % GROUP == 0
            if "0-0" in index:
                near = index.search("word1", where=lambda entry: entry["group"] >= 0)
                assert len(near) == 10 or len(near) % GROUP == 0

    def guarded(work):
        try:
            work()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(work,)) for work in (change, read, read)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(index) == GROUP * 20


def state(index):
    return index.ids, index.metadata, index.search(["all", "word3 word4"], k=100)


STEPS = [
    (Vectors, "added"),
    (Postings, "added"),
    (Postings, "kept"),
    (Records, "added"),
    (Records, "removed"),
    (Records, "kept"),
]


@pytest.mark.parametrize("failure", [KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize(("part", "step"), STEPS)
@pytest.mark.parametrize("after", [False, True])
def test_a_change_that_fails_leaves_the_index_as_it_was(
    model, monkeypatch, part, step, failure, after
):
    index = SearchIndex(model, store_texts=True).add(*group(0)).add(*group(1))
    before, original = state(index), getattr(part, step)

    def change(index):
        if step == "added":
            return index.add(*group(2))
        index.remove([*group(0)[1], "1-0"])  # more than half: the rest is compacted
        return index

    def fail(*given):
        if after:
            original(*given)
        raise failure

    with monkeypatch.context() as patch:
        patch.setattr(part, step, fail)
        with pytest.raises(failure):
            change(index)
    assert state(index) == before
    change(index)
    again = change(SearchIndex(model, store_texts=True).add(*group(0)).add(*group(1)))
    assert state(index) == state(again)


@pytest.mark.skipif(sys.platform == "win32", reason="signals of a timer")
def test_interrupts_at_any_time(model):
    """Ctrl-C at some moment of a change: the index is the one before or the one after."""

    class Interrupt(BaseException):
        pass

    def stop(*_):
        raise Interrupt

    index = SearchIndex(model, store_texts=True).add(*group(0))
    previous = signal.signal(signal.SIGALRM, stop)
    interrupted = 0
    try:
        for number in range(1, 120):
            signal.setitimer(signal.ITIMER_REAL, float(RNG.uniform(1e-5, 8e-3)))
            try:
                index.add(*group(number))
                if number > 3:
                    index.remove([name for name in index.ids if name.startswith(f"{number - 3}-")])
            except Interrupt:
                interrupted += 1
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
            hits = index.search("all", k=1000)
            groups = [hit.metadata["group"] for hit in hits]
            assert sorted(hits.ids) == sorted(index.ids)
            assert {groups.count(one) for one in set(groups)} == {GROUP}
    except Interrupt:  # between the end of a change and the switch of the timer
        pass
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    assert interrupted
    fresh = SearchIndex(model, store_texts=True)
    for number in dict.fromkeys(entry["group"] for entry in index.metadata):
        fresh.add(*group(number))
    for ours, theirs in zip(index.search(TEXTS[:9]), fresh.search(TEXTS[:9]), strict=True):
        np.testing.assert_allclose(ours.scores, theirs.scores, atol=1e-5)


def test_copies_do_not_share_changes(model):
    index = SearchIndex(model).add(*group(0)).add(*group(1))
    copies = [copy.copy(index), copy.deepcopy(index), pickle.loads(pickle.dumps(index))]
    for number, one in enumerate([index, *copies]):
        one.add(*group(2 + number))
    for number, one in enumerate([index, *copies]):
        assert one.ids == [name for place in (0, 1, 2 + number) for name in group(place)[1]]
        assert one.search(f"new{2 + number}", k=1, hybrid=0)[0].metadata == {"group": 2 + number}
