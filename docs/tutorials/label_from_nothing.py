"""# Label a corpus from nothing

You have documents and no labels. dcot chooses the documents that are worth your time,
learns from each answer, and tells you which answers look wrong. Here the corpus knows
the answers and stands in for you.
"""

# %%
# ## The first batch
#
# Before there is any label, `suggest` spreads its choice over the corpus.
import numpy as np

from dcot import DCoTClassifier, datasets, plots

corpus = datasets.load("everyday")
texts, answers = np.array(corpus.train_texts), corpus.train_labels

labels = np.full(len(texts), None)
first = DCoTClassifier().suggest(texts, 34)
labels[first] = answers[first]  # this is where you would read and answer
for row in first[:3]:
    print(f"{labels[row]:>10}  {texts[row][:70]}")

# %%
# Thirty-four answers are enough to meet almost every topic.
print(len(set(labels[first])), "topics in", len(first), "labels")

# %%
# ## Learn, ask, answer
#
# `fit` learns from all the texts, and takes seconds. After that only the labels
# change: `refit` keeps the features and takes a moment. `suggest` names the
# documents that would teach the model most.
model = DCoTClassifier().fit(texts, labels)
suggested = {34: [model.score(corpus.test_texts, corpus.test_labels)]}
while (count := sum(label is not None for label in labels)) < 154:
    unlabelled = np.flatnonzero([label is None for label in labels])
    chosen = unlabelled[model.suggest(texts[unlabelled], 40)]
    labels[chosen] = answers[chosen]
    model.refit(texts, labels)
    suggested[count + 40] = [model.score(corpus.test_texts, corpus.test_labels)]

# %%
# For comparison, as many labels drawn at random, three times.
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
# ## Which answers look wrong?
#
# Everybody mislabels now and then. Let us give three documents a wrong topic. Each
# label is judged by a model that has not seen it, and those that the other labels
# contradict are listed, the worst first.
wrong = first[:3]
labels[wrong] = ["chess", "sailing", "weather"]
model.refit(texts, labels)
issues = model.label_issues()
for row in issues.head(5).iter_rows(named=True):
    planted = "planted" if row["document"] in wrong else ""
    print(f"{row['label']:>10} → {row['suggested']:<10} {planted}")

# %%
# ## The same with the mouse and the keyboard
#
# `dcot label news.csv --text body -o labels.csv` opens a page that does all of
# this, one key per label: [Label in the browser](../label.md). What the model makes
# of words is the [next page](read_a_model.md).
