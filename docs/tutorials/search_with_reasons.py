"""# Search, with reasons

Find documents by meaning and by words, and see why each one was found.
"""

# %%
# ## An index
#
# `SearchIndex(store_texts=True)` is all you need: the first `add` fits a model on
# your documents. Here we pass our own vectorizer, to leave out English stop words.
# `RETRIEVAL` contains the settings that suit search.
import textwrap

from dcot import DCoTVectorizer, SearchIndex, datasets
from dcot.search import RETRIEVAL

corpus = datasets.load("everyday")
index = SearchIndex(DCoTVectorizer(stop_words="english", **RETRIEVAL), store_texts=True)
index.add(corpus.texts, metadata=[{"topic": str(topic)} for topic in corpus.labels])
print(index.search("courtroom lawyer", k=5))

# %%
# ## Why was it found?
#
# A hit has two scores: `BM25` measures the words that it shares with the query, and
# `cosine` compares their meanings. The first hit above is about a film. It contains
# the rare word *courtroom*, but its cosine shows that it is about something else.
# Hits with a BM25 of zero share no word with the query:
hits = index.search("courtroom lawyer", k=100)
by_meaning = [hit for hit in hits if hit.bm25 == 0][:2]
for hit in by_meaning:
    score = f"{hit.metadata['topic']}, cosine {hit.similarity:.2f}"
    print(textwrap.fill(f"{score}: {hit.text}", 88))

# %%
# To see what connects these hits with the query, compare their prototypes:
explain = index.model_.explain
query = dict(explain("courtroom lawyer").layer(1).top(40))
for hit in by_meaning:
    found = dict(explain(hit.text).layer(1).top(40))
    shared = sorted(
        query.keys() & found.keys(), key=lambda word: -query[word] * found[word]
    )
    print(f"{hit.text[:40]}… through {', '.join(shared[:4])}")

# %%
# ## Words or meaning?
#
# `hybrid` is the share of meaning in the score: 0 is BM25 alone, 1 is meaning alone.
# By default dcot chooses the share for each query. BM25 alone finds only documents
# that contain a word of the query:
for share in (0, 0.5, 1):
    hits = index.search("courtroom lawyer", k=20, hybrid=share)
    about = [hit.metadata["topic"] for hit in hits].count("law")
    print(f"hybrid={share}: {len(hits)} found, {about} about law")

# %%
# ## Filters and neighbours
#
# `where` restricts the search to some of the documents. `similar` finds the nearest
# neighbours of a document in the index.
print(index.search("water", k=3, where={"topic": "cooking"}))
print(index.similar(0, k=3))

# %%
# The guide to [search](../search.md) has more, including a comparison with BM25.
# Next: [a pipeline with GridSearchCV](grid_search.md).
