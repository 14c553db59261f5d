"""# Read what a model has learned

dCoT has no hidden units. Every weight connects two words, so you can read a model.
"""

# %%
# ## What does a word mean?
#
# Fit a vectorizer (it needs no labels), and ask it to explain a word. The answer
# lists the words (*prototypes*) that the model reconstructs from a document that
# contains only this word. This corpus has about 2,000 different words. We reconstruct
# half of them; the others are only read.
from dcot import DCoTVectorizer, datasets, plots

texts = datasets.load("everyday").texts
model = DCoTVectorizer(stop_words="english", n_prototypes=1000).fit(texts)
print(model.explain("parsley", k=6))

# %%
# Layer 2 takes the output of layer 1 as its input. This is how it connects words that
# never occur together.
#
# The next figure shows several words side by side. The first column is the empty
# text: what the model expects before it has read a single word.
words = ["", "asteroid", "mortgage", "stalemate", "parsley", "verdict"]
plots.word_columns([model.explain(word) for word in words])

# %%
# ## Which words are similar?
#
# `similar_terms` compares meanings. `cohort` asks the opposite question: which of the
# words that are only read does the model translate into *sauce*?
print(model.similar_terms("striker", 5))
print(model.cohort("sauce", 5))

# %%
# `term_map` draws similar words close together:
plots.term_map(
    model,
    ["parsley", "striker", "asteroid", "mortgage", "verdict", "keel"],
    neighbours=5,
)

# %%
# ## What does a document mean?
#
# Each value is divided among the words of the document that it comes from. The shares
# add up to the value.
text = "Fry the mushrooms in butter with parsley"
print(model.explain(text, k=4))

# %%
plots.document_layers(model.explain(text))

# %%
# ## What does it not know?
#
# Explaining a single unknown word raises an error that lists similar spellings. In a
# longer text, unknown words are skipped and listed in `unknown`:
print(model.explain("parsley and zeitgeist").unknown)

# %%
# All of this also works for matrices and classifiers: see [Read a
# model](../reading.md). Next: [search, with reasons](search_with_reasons.md).
