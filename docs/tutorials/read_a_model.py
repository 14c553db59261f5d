"""# Read what a model has learned

dCoT has no hidden units. Every weight goes from a word to a word, so a model can be
read.
"""

# %%
# ## What does a word mean?
#
# Fit a vectorizer: no labels, a few seconds. Then ask for a word. The answer is the
# frequent words (*prototypes*) that a document with this one word is rebuilt into.
from dcot import DCoTVectorizer, datasets, plots

texts = datasets.load("everyday").texts
model = DCoTVectorizer(stop_words="english").fit(texts)
print(model.explain("parsley", k=6))

# %%
# The second layer reads the output of the first. It reaches words that never occur
# together.
#
# Several words side by side. The first column is the empty text: what the model
# expects before it has read a word.
words = ["", "asteroid", "mortgage", "stalemate", "parsley", "verdict"]
plots.word_columns([model.explain(word) for word in words])

# %%
# ## Which words are alike?
print(model.similar_terms("striker", 5))
print(model.cohort("court", 5))

# %%
# `similar_terms` compares meanings. `cohort` asks the other way round: which rare
# words are translated into *court*?
#
# As a map: near means alike.
plots.term_map(
    model,
    ["parsley", "striker", "asteroid", "mortgage", "verdict", "keel"],
    neighbours=5,
)

# %%
# ## What does a document mean?
#
# Each value is divided among the words it comes from, and the shares add up.
text = "The chef scattered parsley over the mushrooms"
print(model.explain(text, k=4))

# %%
plots.document_layers(model.explain(text))

# %%
# ## What does it not know?
#
# An unknown word is an error that lists near spellings. In a longer text unknown
# words are listed, and left out.
print(model.explain("parsley and zeitgeist").unknown)

# %%
# Everything here also works for a matrix and for a classifier: [Read a
# model](../reading.md). Next, use the meanings to [search](search_with_reasons.md).
