"""TF-IDF: counts discounted by how many documents have the term."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sklearn.feature_extraction.text import TfidfTransformer

from dcot.bench.machines import Blocks
from dcot.bench.systems._base import ROWS, Learned, Setting, Size, System, grid
from dcot.bench.tasks import Documents


class Tfidf(System):
    """scikit-learn's TfidfTransformer; IDF from the documents learned from."""

    name = "TF-IDF"
    about = "sklearn TfidfTransformer on counts"

    def settings(self, size: Size) -> list[Setting]:
        return grid(tf=("sublinear", "raw"), rows=ROWS)

    def learn(self, documents: Documents, settings: Sequence[Setting]) -> Iterator[Learned]:
        for setting in settings:
            norm = "l2" if setting["rows"] == "unit" else None
            sublinear = setting["tf"] == "sublinear"
            model = TfidfTransformer(norm=norm, sublinear_tf=sublinear).fit(documents.counts)

            def features(documents: Documents, model: TfidfTransformer = model) -> Blocks:
                return [model.transform(documents.counts)]

            yield Learned(setting, features)
