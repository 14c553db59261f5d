"""# A pipeline with GridSearchCV

`DCoTVectorizer` is a scikit-learn transformer. Put it in front of any classifier, and
tune its parameters with scikit-learn's own tools.
"""

# %%
# ## A pipeline
#
# Start with the default parameters:
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline

from dcot import DCoTVectorizer, datasets

corpus = datasets.load("everyday")
pipeline = Pipeline([("dcot", DCoTVectorizer()), ("classifier", RidgeClassifier())])
pipeline.fit(corpus.train_texts, corpus.train_labels)
print(
    f"{pipeline.score(corpus.test_texts, corpus.test_labels):.1%} of the test documents"
)

# %%
# ## A grid
#
# You can search the parameters of all its steps: counting (`min_df`, `stop_words`,
# …), weighting (`sublinear_tf`, …) and dCoT (`noise`, `n_prototypes`, …).
grid = {
    "dcot__noise": [0.5, 0.9],
    "dcot__n_prototypes": [300, 1000],
    "dcot__stop_words": [None, "english"],
}
search = GridSearchCV(pipeline, grid, cv=3).fit(corpus.train_texts, corpus.train_labels)
names = [name.removeprefix("dcot__") for name in grid]
print("  ".join(f"{name:>12}" for name in names), "  accuracy")
for row in search.cv_results_["rank_test_score"].argsort():
    values = [str(search.cv_results_[f"param_{name}"][row]) for name in grid]
    mean = search.cv_results_["mean_test_score"][row]
    print("  ".join(f"{value:>12}" for value in values), f"  {mean:8.1%}")

# %%
# Now evaluate the best pipeline on documents that the search has not seen:
print(search.best_params_)
print(
    f"{search.score(corpus.test_texts, corpus.test_labels):.1%} of the test documents"
)

# %%
# ## Is it worth it?
#
# With many labels, a search like this can gain a little. With few labels, the
# differences are smaller than the noise of the estimates. A pipeline like this also
# learns from labelled documents only. [`DCoTClassifier`](../classifier.md) learns
# from all documents, labelled or not, and chooses its features by leave-one-out.
#
# Next: [short texts, with word vectors](short_texts.md).
