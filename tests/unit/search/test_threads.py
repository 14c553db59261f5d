"""A change to an index happens whole or not at all, for other threads and after an interrupt."""

from __future__ import annotations

import copy
import pickle
import sys
import threading
from functools import partial

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
    return index.ids, index.metadata, index.search("word3 all", k=100)


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


class Interrupt(BaseException):
    """What Ctrl-C raises, at a line of our choice."""


def interrupted_at(line, change):
    """Whether ``change`` was interrupted at the n-th line that it runs in dcot.search."""
    passed = 0

    def trace(frame, event, _):
        nonlocal passed
        if "dcot/search/" not in frame.f_code.co_filename.replace("\\", "/"):
            return None
        if event == "line":
            passed += 1
            if passed == line:
                raise Interrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        change()
    except Interrupt:
        return True
    finally:
        sys.settrace(before)
    return False


@pytest.mark.parametrize("what", ["add", "remove"])
def test_interrupts_at_every_line(model, what):
    def change(index):
        if what == "add":
            return index.add(*group(2))
        index.remove([*group(0)[1], "1-0"])
        return index

    index = SearchIndex(model, store_texts=True).add(*group(0)).add(*group(1))
    before, after = state(index), state(change(copy.copy(index)))
    line, interrupted = 1, True
    while interrupted:
        interrupted = interrupted_at(line, partial(change, index))
        now = state(index)
        assert now == before or (now == after and line > 20)
        if now == after:
            index = SearchIndex(model, store_texts=True).add(*group(0)).add(*group(1))
        line += 1
    assert now == after
    assert line > 40


def test_copies_do_not_share_changes(model):
    index = SearchIndex(model).add(*group(0)).add(*group(1))
    copies = [copy.copy(index), copy.deepcopy(index), pickle.loads(pickle.dumps(index))]
    for number, one in enumerate([index, *copies]):
        one.add(*group(2 + number))
    for number, one in enumerate([index, *copies]):
        assert one.ids == [name for place in (0, 1, 2 + number) for name in group(place)[1]]
        assert one.search(f"new{2 + number}", k=1, hybrid=0)[0].metadata == {"group": 2 + number}
