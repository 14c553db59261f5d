"""# Short texts, with word vectors

Short texts have few words in common, so there is little to learn from. Word vectors
that were trained on other text already know the words. dcot can use them in addition
to its own features.
"""

# %%
# ## Few words
#
# We use 100 labels and the first sixteen words of each text, in which the topic is
# often not clear yet.
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
# `"wordllama"` is a package of static vectors with 256 dimensions. It needs no network,
# no GPU and no PyTorch. The extra `embedding` installs it.
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
# Short texts gain most. Leave-one-out on the labelled texts chose the weight of the
# vectors; 0 would leave them out.
print(model.best_params_["embedding"])

# %%
# ## Still readable
#
# A decision is still a sum. `encoder` is the share of the vectors.
print(model.explain("The goalkeeper blamed the wind"))

# %%
# Your own vectors and encoders work in the same way: [Word vectors and
# encoders](../vectors.md). Next: [a million
# documents](million_documents.md).
