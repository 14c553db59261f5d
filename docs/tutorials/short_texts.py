"""# Short texts, with word vectors beside

Titles and messages say little about each other: too few words occur twice. Vectors
that were trained on other text know the words already. dcot takes them beside its own
features.
"""

# %%
# ## Few words
#
# The first sixteen words of each text of the embedded corpus, where the topic is
# often not yet clear, and 100 labels.
import numpy as np

from dcot import DCoTClassifier, DCoTVectorizer, datasets

corpus = datasets.load("everyday")
labels = np.full(len(corpus.train), None)
rows = np.random.default_rng(0).choice(len(labels), 100, replace=False)
labels[rows] = corpus.train_labels[rows]


def beginnings(texts, words):
    return [" ".join(text.split()[:words]) for text in texts]


print(beginnings(corpus.train_texts, 16)[2])

# %%
# ## Without and with vectors
#
# `"wordllama"` are static vectors of 256 numbers that come inside a package: no
# network, no GPU, no PyTorch. `pip install "dcot[embedding]"` installs it.
for words in (16, 100):
    train, test = (
        beginnings(t, words) for t in (corpus.train_texts, corpus.test_texts)
    )
    for embedding in (None, "wordllama"):
        vectorizer = DCoTVectorizer(stop_words="english")
        model = DCoTClassifier(vectorizer=vectorizer, embedding=embedding)
        model.fit(train, labels)
        score = model.score(test, corpus.test_labels)
        print(f"{words:3} words, vectors: {embedding!s:9}  {score:.1%}")

# %%
# The vectors help short texts most. How much they count was chosen by leave-one-out
# on the labelled texts; 0 would leave them out.
print(model.best_params_["embedding"])

# %%
# ## Still readable
#
# A decision is still a sum over words; `encoder` is the part of the vectors.
print(model.explain("The goalkeeper blamed the wind"))

# %%
# Your own vectors, or an encoder, work in the same way: [Word vectors and
# encoders](../classifier.md#word-vectors-and-encoders). Next: [a million
# documents](million_documents.md).
