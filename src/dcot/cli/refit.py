"""``dcot refit``: a trained classifier learns from other labels."""

from __future__ import annotations

import time
from typing import Any

from dcot.cli import options as o
from dcot.cli.session import Session

EXAMPLES = ("dcot refit model news.csv --text body --label topic -o model",)


def refit(
    model: o.Model,
    corpus: o.Corpora,
    output: o.ModelOut,
    *,
    precision: o.Precision = None,
    reading: o.Reading,
    labels: o.Labels,
    session: Session,
) -> None:
    """Train the classifier of a model again, with more or other labels.

    The features stay as they are, so this takes seconds. The corpus has all labelled documents,
    not only the new ones; unlabelled rows are skipped. The output may be the model itself.
    """
    from dcot.cli.corpus import Corpus
    from dcot.cli.models import check_target, load_model, save_model
    from dcot.cli.train import checked_labels, facts_of, note_doubtful_labels, show

    check_target(output, "DCoTClassifier")
    source = Corpus(corpus, reading, labels, part="train")
    source.check()
    classifier: Any = load_model(model, "DCoTClassifier", hint="make one with dcot train")
    documents = source.whole()
    given = checked_labels(documents.labels, source)
    note_doubtful_labels(session, given, labels.label)
    start = time.perf_counter()
    classifier.refit(documents.texts, given)
    seconds = time.perf_counter() - start
    size = save_model(classifier, output, precision)
    facts = facts_of(classifier)
    facts |= {"model": str(output), "seconds": round(seconds, 3), "bytes": size}
    if session.json:
        session.emit(facts)
    elif not session.quiet:
        show(session, classifier, facts)
