"""# Label a corpus from nothing

You have documents but no labels. dcot suggests documents that are worth labelling,
learns from your labels, and points out labels that look wrong. On this page the
labels come from the corpus; in practice they come from you.
"""

# %%
# ## The first batch
#
# Without any labels, `suggest` chooses documents that are spread out over the corpus.
import numpy as np

from dcot import DCoTClassifier, datasets, plots

corpus = datasets.load("everyday")
texts, answers = np.array(corpus.train_texts), corpus.train_labels

labels = np.full(len(texts), None)
first = DCoTClassifier().suggest(texts, 34)
labels[first] = answers[first]  # here you would read the texts and label them
for row in first[:3]:
    print(f"{labels[row]:>10}  {texts[row][:70]}")

# %%
# How many of the 17 topics do these documents cover?
print(len(set(labels[first])), "topics in", len(first), "labels")

# %%
# ## Label, refit, repeat
#
# `fit` learns from all the texts and takes seconds. From then on only the labels
# change, so we call `refit`, which keeps the features and is much faster. `suggest`
# now returns the documents whose labels would help most.
model = DCoTClassifier().fit(texts, labels)
suggested = {34: [model.score(corpus.test_texts, corpus.test_labels)]}
while (count := sum(label is not None for label in labels)) < 154:
    unlabelled = np.flatnonzero([label is None for label in labels])
    chosen = unlabelled[model.suggest(texts[unlabelled], 40)]
    labels[chosen] = answers[chosen]
    model.refit(texts, labels)
    suggested[count + 40] = [model.score(corpus.test_texts, corpus.test_labels)]

# %%
# For comparison, we draw the same numbers of labels at random, three times:
random: dict[int, list[float]] = {count: [] for count in suggested}
for seed in range(3):
    order = np.random.default_rng(seed).permutation(len(texts))
    for count in suggested:
        some = np.full(len(texts), None)
        some[order[:count]] = answers[order[:count]]
        model.refit(texts, some)
        random[count].append(model.score(corpus.test_texts, corpus.test_labels))
plots.label_curves({"at random": random, "suggested": suggested})

# %%
# ## Which labels look wrong?
#
# Everyone mislabels a document now and then. Here we give three documents a wrong
# topic. `label_issues` compares each label with the prediction of a model that has
# not seen it, and lists the most doubtful ones first. The others in the list are hard
# to predict, but right: read a text before you change its label.
wrong = first[:3]
labels[wrong] = ["chess", "sailing", "weather"]
model.refit(texts, labels)
issues = model.label_issues()
for row in issues.head(8).iter_rows(named=True):
    planted = "planted" if row["document"] in wrong else ""
    print(f"{row['label']:>10} → {row['suggested']:<10} {planted}")

# %%
# ## The same in the browser
#
# `dcot label news.csv --text body -o labels.csv` opens a page that does all of this
# with one key press per label: see [Label in the browser](../label.md). Next: [read
# what a model has learned](read_a_model.md).
