"""# A million documents

A fit is a few sums over documents, so the documents need not be in memory. They are
read from files, batch by batch.

The texts on this page are made up, from words of the embedded corpus. To keep the
page quick there are few of them; raise `DOCUMENTS` to try your own machine.
"""

# %%
DOCUMENTS = 20_000

# %%
# ## Some files
#
# Each text takes words from two documents of one topic.
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
# `memory_limit` bounds what the fit may use. The plan says what is kept, and what
# it is expected to cost.
source = TextSource(paths, column="text")
model = DCoTVectorizer(n_prototypes=500, n_layers=1, memory_limit="1GB").fit(source)
plan = model.dcot_.plan_
print(
    f"kept: {plan.storage}, solved by {plan.method}, at most {plan.memory / 1e6:.0f} MB"
)
print(f"{len(model.vocabulary_):,} terms of {model.dcot_.n_documents_:,.0f} documents")

# %%
# The model is that of a fit in memory, to the accuracy of the solver. The cosine
# between the two:
in_memory = DCoTVectorizer(n_prototypes=500, n_layers=1).fit(list(source.files))
text = ["parsley and garlic in the pan"]
print(f"{(model.encode(text) @ in_memory.encode(text).T).item():.5f}")

# %%
# ## Features to a file
#
# `transform_to` writes as it goes. After a crash or a full disk, the same call goes
# on where it stopped.
model.transform_to(source, folder / "features.npy")
features = np.load(folder / "features.npy", mmap_mode="r")
print(features.shape, features.dtype)

# %%
# ## More machines
#
# The same fit on a Dask cluster, what a billion documents would cost, and
# measurements up to a million: [Larger than memory](../scaling.md). Next: [deploy a
# model](deploy.md).
