"""# Read what a model has learned

dCoT has no hidden units. Every weight connects two words, so you can read a model.
"""

# %%
# ## What does a word mean?
#
# Fit a vectorizer; it needs no labels. Then ask for a word. The answer is the frequent
# words (*prototypes*) that the model reconstructs from a document with this one word.
from dcot import DCoTVectorizer, datasets, plots

texts = datasets.load("everyday").texts
model = DCoTVectorizer(stop_words="english").fit(texts)
print(model.explain("parsley", k=6))

# %%
# The second layer reads the output of the first. It connects words that never occur
# together.
#
# Here are several words side by side. The first column is the empty text: what the
# model expects before it has read a word.
words = ["", "asteroid", "mortgage", "stalemate", "parsley", "verdict"]
plots.word_columns([model.explain(word) for word in words])

# %%
# ## Which words are similar?
#
# `similar_terms` compares meanings. `cohort` asks the opposite question: which rare
# words are translated into *court*?
print(model.similar_terms("striker", 5))
print(model.cohort("court", 5))

# %%
# On a map, similar words are close together:
plots.term_map(
    model,
    ["parsley", "striker", "asteroid", "mortgage", "verdict", "keel"],
    neighbours=5,
)

# %%
# ## What does a document mean?
#
# Each value is divided among the words it comes from. The shares add up to it.
text = "The chef scattered parsley over the mushrooms"
print(model.explain(text, k=4))

# %%
plots.document_layers(model.explain(text))

# %%
# ## What does it not know?
#
# A single unknown word is an error that lists similar spellings. In a longer text,
# unknown words are skipped and listed:
print(model.explain("parsley and zeitgeist").unknown)

# %%
# All of this also works for matrices and classifiers: [Read a model](../reading.md).
# Next: [search, with reasons](search_with_reasons.md).
