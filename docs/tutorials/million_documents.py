"""# A million documents

To fit a model, dcot needs only sums over the documents. It can therefore read them
from files, batch by batch, and they never have to fit in memory.

The texts on this page are generated from the corpus that comes with dcot. There are
only 20,000 of them, so that the page builds quickly. To try a million on your
machine, change `DOCUMENTS`.
"""

# %%
DOCUMENTS = 20_000

# %%
# ## Some files
#
# We write four files. Each text in them mixes words from two documents of the same
# topic.
import json
import tempfile
from pathlib import Path

import numpy as np

from dcot import DCoTVectorizer, datasets
from dcot.text import TextSource

corpus = datasets.load("everyday")
folder = Path(tempfile.mkdtemp())
random = np.random.default_rng(0)
topics = [np.flatnonzero(corpus.labels == topic) for topic in corpus.target_names]
words = [np.array(text.split()) for text in corpus.texts]
paths = [folder / f"part-{number}.jsonl" for number in range(4)]
for path in paths:
    with path.open("w") as file:
        for topic in random.integers(len(topics), size=DOCUMENTS // len(paths)):
            both = np.concatenate(
                [words[row] for row in random.choice(topics[topic], 2)]
            )
            file.write(
                json.dumps({"text": " ".join(random.permutation(both)[:30])}) + "\n"
            )
print(f"{DOCUMENTS:,} texts, {sum(path.stat().st_size for path in paths) / 1e6:.1f} MB")

# %%
# ## Fit from files
#
# `memory_limit` is the most memory that the fit may use. The plan shows what is kept
# in memory, and how much memory the fit is expected to take.
source = TextSource(paths, column="text")
model = DCoTVectorizer(n_prototypes=500, n_layers=1, memory_limit="1GB").fit(source)
plan = model.dcot_.plan_
print(
    f"kept: {plan.storage}, solved by {plan.method}, at most {plan.memory / 1e6:.0f} MB"
)
print(f"{len(model.vocabulary_):,} terms of {model.dcot_.n_documents_:,.0f} documents")

# %%
# A fit in memory gives the same model, up to the accuracy of the solver. To check, we
# encode a text with both models and compute the cosine:
in_memory = DCoTVectorizer(n_prototypes=500, n_layers=1).fit(list(source.files))
text = ["parsley and garlic in the pan"]
print(f"{(model.encode(text) @ in_memory.encode(text).T).item():.5f}")

# %%
# ## Features to a file
#
# `transform_to` writes the features batch by batch. If it is interrupted, for example
# by a crash or a full disk, the same call continues where it stopped.
model.transform_to(source, folder / "features.npy")
features = np.load(folder / "features.npy", mmap_mode="r")
print(features.shape, features.dtype)

# %%
# ## More machines
#
# [Larger than memory](../scaling.md) shows the same fit on a Dask cluster, how to
# train a classifier on the result, and measurements with up to a million documents.
# Next: [deploy a model](deploy.md).
