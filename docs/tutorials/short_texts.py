"""# Short texts, with word vectors

Short texts share few words, so there is little to learn from. Word vectors that were
trained on other text already know what the words mean. dcot can use such vectors in
addition to its own features.
"""

# %%
# ## Few words
#
# We use 100 labels, and only the first sixteen words of each text. Often the topic is
# not clear from them yet:
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
# wordllama is a package of static vectors with 256 dimensions. It needs no network,
# no GPU and no PyTorch. Install it with the extra `embedding`, and pass its name. We
# compare the first 16 and the first 100 words of each text:
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
# Short texts gain most. The weight of the vectors is chosen by leave-one-out on the
# labelled texts. A weight of 0 would mean that they are not used.
print(model.best_params_["embedding"])

# %%
# ## Still readable
#
# A decision is still a sum that you can read. `encoder` is the part of the vectors.
print(model.explain("The goalkeeper blamed the wind"))

# %%
# Your own vectors and encoders work in the same way: see [Word vectors and
# encoders](../vectors.md). Next: [a million documents](million_documents.md).
