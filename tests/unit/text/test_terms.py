"""Sets of terms: sorted as Python sorts, found after growing, merged without loss."""

import pickle
import subprocess
import sys

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dcot.text.kernels_terms import hash_terms
from dcot.text.terms import SEED, Terms, TermTable

STRINGS = st.lists(
    st.text(st.sampled_from("ab\0é中😀z"), max_size=12) | st.text(max_size=3), unique=True
).map(lambda strings: [s for s in strings if not any(0xD800 <= ord(c) < 0xE000 for c in s)])


@settings(deadline=None)
@given(STRINGS)
def test_sorted_as_python_sorts(strings):
    terms = Terms.of(strings)
    assert terms.take(terms.sorted_order()).to_list() == sorted(strings)


@settings(deadline=None)
@given(STRINGS, STRINGS)
def test_new_terms_follow_the_known_ones_sorted(old, new):
    larger, numbers = Terms.of(old).extended(Terms.of(new))
    assert larger.to_list() == old + sorted(term for term in new if term not in old)
    assert [larger.to_list()[number] for number in numbers] == new


@settings(deadline=None)
@given(STRINGS)
def test_pickle_keeps_terms(strings):
    terms = Terms.of(strings)
    terms.lookup()
    assert pickle.loads(pickle.dumps(terms)).to_list() == strings


def test_a_table_grows_in_terms_and_in_bytes():
    many = [f"term {i:06d}" for i in range(20_000)] + ["x" * 200_000]
    table, ones = TermTable(), np.ones(len(many), dtype=np.int64)
    assert table.merge(Terms.of(many), ones, 2 * ones).tolist() == list(range(len(many)))
    backwards = Terms.of(many[::-1])
    assert table.merge(backwards, ones, ones).tolist() == list(range(len(many)))[::-1]
    terms, documents, totals = pickle.loads(pickle.dumps(table)).counted()
    assert terms.to_list() == many
    assert set(documents.tolist()) == {2}
    assert set(totals.tolist()) == {3}


def test_counting_in_one_document_survives_growth():
    words = [f"w{i % 9_000}" for i in range(27_000)]
    data = np.frombuffer(bytearray("".join(words).encode()), dtype=np.uint8)
    ends = np.cumsum([len(word) for word in words]).astype(np.int32)
    starts = (ends - [len(word) for word in words]).astype(np.int32)
    table = TermTable()
    bounds, terms, counts = table.count(data, starts, ends, np.array([0, 27_000]))
    assert bounds.tolist() == [0, 9_000]
    assert terms.tolist() == list(range(9_000))
    assert set(counts.tolist()) == {3}
    assert set(table.documents[:9_000].tolist()) == {1}
    assert set(table.totals[:9_000].tolist()) == {3}


def test_words_that_collide_for_one_seed_do_not_for_another():
    words = Terms.of([f"w{i}" for i in range(200_000)])
    bucket = np.uint64(1023)
    chosen = np.flatnonzero((hash_terms(words.data, words.bounds, np.uint64(1)) & bucket) == 0)
    assert len(chosen) > 100  # all of these would share one slot
    colliding = words.take(chosen)
    hashes = hash_terms(colliding.data, colliding.bounds, np.uint64(2))
    assert np.bincount((hashes & bucket).astype(np.int64)).max() < 10


def test_another_process_hashes_with_another_seed():
    code = "from dcot.text.terms import SEED; print(SEED)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(run.stdout) != int(SEED)
