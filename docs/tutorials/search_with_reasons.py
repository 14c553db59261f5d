"""# Search, with reasons

Find documents by what they mean and by the words they contain, and see why each was
found.
"""

# %%
# ## An index
#
# The first `add` learns the words of your documents. `RETRIEVAL` are the settings
# for search; here they are given by hand, to leave out English stop words.
# `SearchIndex(store_texts=True)` alone would do.
from dcot import DCoTVectorizer, SearchIndex, datasets
from dcot.search import RETRIEVAL

corpus = datasets.load("everyday")
index = SearchIndex(DCoTVectorizer(stop_words="english", **RETRIEVAL), store_texts=True)
index.add(corpus.texts, metadata=[{"topic": str(topic)} for topic in corpus.labels])
print(index.search("courtroom lawyer", k=5))

# %%
# ## Why was it found?
#
# Every hit has two reasons: `BM25`, the words it shares with the query, and
# `cosine`, what both mean. A hit with a BM25 of zero shares no word with the query.
hits = index.search("courtroom lawyer", k=100)
by_meaning = [hit for hit in hits if hit.bm25 == 0][:2]
for hit in by_meaning:
    print(f"{hit.metadata['topic']}, cosine {hit.similarity:.2f}: {hit.text}")

# %%
# What both mean is the link. Ask the model of the index.
explain = index.model_.explain
query = dict(explain("courtroom lawyer").layer(1).top(40))
for hit in by_meaning:
    found = dict(explain(hit.text).layer(1).top(40))
    shared = sorted(
        query.keys() & found.keys(), key=lambda word: -query[word] * found[word]
    )
    print(f"{hit.text[:45]}… through {', '.join(shared[:5])}")

# %%
# ## Words or meaning?
#
# `hybrid` is the share of meaning in the score: 0 is BM25 alone, 1 meaning alone,
# and 0.5 the default. BM25 finds only documents with the words of the query.
for share in (0, 0.5, 1.0):
    hits = index.search("courtroom lawyer", k=20, hybrid=share)
    about = [hit.metadata["topic"] for hit in hits].count("law")
    print(f"hybrid={share}: {len(hits)} found, {about} about law")

# %%
# ## Filters and neighbours
print(index.search("water", k=3, where={"topic": "cooking"}))
print(index.similar(0, k=3))

# %%
# More, and how good it is beside BM25: [Search](../search.md).
