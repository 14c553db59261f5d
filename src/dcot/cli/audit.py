"""``dcot audit``: possible problems in a corpus and its labels."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from dcot.cli import options as o
from dcot.cli.corpus import Batch, Corpus
from dcot.cli.files import check_output, writing
from dcot.cli.session import Session, counted, table

EXAMPLES = {
    "audit": (
        "dcot audit news.csv --text body --label topic",
        "dcot audit news.csv --text body --label topic --id number -o findings.csv",
    )
}

_TITLES = {
    "label": "Doubtful labels",
    "copy": "Exact copies",
    "near copy": "Near copies",
    "alone": "Documents unlike all others",
    "unknown": "Documents without any known word",
}
_COLUMNS = {  # of each kind on a terminal, between id and text
    "label": ("label", "suggested", "score"),
    "copy": ("of",),
    "near copy": ("of", "score"),
    "alone": ("score",),
    "unknown": (),
}

Finding = dict[str, Any]


def audit(
    corpus: o.Corpora,
    *,
    output: Annotated[
        Path | None,
        o.output(
            "Write all findings; ends in .parquet, .csv, .tsv, .jsonl or .npz.",
            show_default="standard output",
        ),
    ] = None,
    reading: o.Reading,
    label: o.Label = None,
    unlabelled_label: o.UnlabelledLabel = None,
    identifier: o.Identifier = None,
    k: o.K = 10,
    session: Session,
) -> None:
    """Find doubtful labels, copies, and documents unlike all others.

    Each labelled document is classified by a model that was not trained on it. Labels that this
    model contradicts are listed, the most doubtful first. Of more than 4,000 labels, only a random
    tenth is checked. Copies are listed with the original.
    """
    if output is not None:
        check_output(output, corpus)
    labels = o.Labels(label, unlabelled_label=unlabelled_label)
    source = Corpus(corpus, reading, labels, identifier)
    documents = source.whole()
    findings, accuracy = _findings(documents, session)
    counts = {kind: sum(one["kind"] == kind for one in findings) for kind in _TITLES}
    if output is not None:
        with writing(output) as writer:
            columns = ("kind", "id", "score", "of", "label", "suggested", "text")
            writer.write({name: [one[name] for one in findings] for name in columns})
        session.done(
            {"documents": len(documents), "findings": counts, "output": str(output)},
            f"Wrote {counted(len(findings), 'finding')} on "
            f"{counted(len(documents), 'document')} to {output}.",
        )
    elif session.json:
        for one in findings:
            session.emit(one)
    else:
        _show(session, findings, counts, len(documents), k, accuracy)


def _findings(documents: Batch, session: Session) -> tuple[list[Finding], float]:
    """All findings, by kind, the worst first, and the accuracy of the model behind the labels."""
    from dcot.classifier import audit as checks
    from dcot.text import TermCounter, TermWeighting
    from dcot.web.space import learn_space

    texts = documents.texts

    def finding(kind: str, row: int, score: float, **more: Any) -> Finding:
        found = {"kind": kind, "id": documents.ids[row], "score": round(float(score), 4)}
        others = {"of": None, "label": documents.labels[row], "suggested": None}
        return {**found, **others, **more, "text": " ".join(texts[row][:400].split())}

    issues, accuracy = _issues(documents, session)
    found = [finding("label", *issue) | more for issue, more in issues]
    exact = checks.exact_copies(texts)
    found += [finding("copy", one.row, 1.0, of=documents.ids[one.of]) for one in exact]
    space = learn_space(texts, session.seed)
    if space is None:
        return found + [finding("unknown", row, 0.0) for row in range(len(texts))], accuracy
    near = checks.neighbours(space.Z)
    # all words: the one that tells two texts apart may be in no other
    words = TermWeighting().fit_transform(TermCounter().fit_transform(texts))
    for one in checks.near_copies(words, near, [copy.row for copy in exact]):
        found.append(finding("near copy", one.row, one.similarity, of=documents.ids[one.of]))
    for row in checks.alone(near, space.known):
        found.append(finding("alone", int(row), near.cosines[row].mean()))
    unknown = [row for row, known in enumerate(space.known) if not known]
    return found + [finding("unknown", row, 0.0) for row in unknown], accuracy


def _issues(
    documents: Batch, session: Session
) -> tuple[list[tuple[tuple[int, float], Finding]], float]:
    """Row, probability and suggested class of each doubtful label; the model's accuracy."""
    from dcot import DCoTClassifier
    from dcot.classifier.learners import MAX_KERNEL_LABELS
    from dcot.classifier.ridge import MAX_HELD_OUT

    given = [label for label in documents.labels if label is not None]
    several = any(isinstance(label, list) for label in given)
    if several or len(set(given)) < 2:
        if given:
            reason = "documents have several" if several else f"all of them are {given[0]!r}"
            session.note(f"Note: the labels were not checked, because {reason}.")
        return [], 0.0
    model = DCoTClassifier(selection="none", random_state=session.seed)
    model.fit(documents.texts, documents.labels)
    if len(given) > MAX_KERNEL_LABELS and model.estimate_.n <= MAX_HELD_OUT:
        session.note(
            f"Note: {model.estimate_.n:,} of the {len(given):,} labels were checked: of copies "
            f"one, and of more than {MAX_KERNEL_LABELS:,} labels a random tenth, at most 1,000."
        )
    columns = ("document", "label_probability", "suggested")
    rows = model.label_issues().select(columns).iter_rows()
    issues = [((row, score), {"suggested": name}) for row, score, name in rows]
    return issues, model.estimate_.dcot.accuracy


def _show(
    session: Session,
    findings: list[Finding],
    counts: dict[str, int],
    n: int,
    k: int,
    accuracy: float,
) -> None:
    for kind, title in _TITLES.items():
        rows = [one for one in findings if one["kind"] == kind][:k]
        if not rows:
            continue
        names = ("id", *_COLUMNS[kind], "text")
        plain = [one | {"id": str(one["id"]), "of": str(one["of"])} for one in rows]
        shown = [[one[name] for name in names] for one in plain]
        more = counts[kind] - len(rows)
        session.show(f"{title}: {counts[kind]:,}" + (f" (the worst {len(rows)})" if more else ""))
        session.show(table(names, shown, cut="text"))
        if kind == "label":
            session.show(
                f"They contradict a model that is right for {100 * accuracy:.0f} % of the labels: "
                "the model may be wrong, too."
            )
    if not findings:
        session.show(f"No problems found in {counted(n, 'document')}.")
