"""``dcot transform``: write features of documents to a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from dcot.cli import options as o
from dcot.cli.corpus import Corpus
from dcot.cli.errors import UserError
from dcot.cli.files import check_output, check_place, load_vectorizer, writing
from dcot.cli.session import Session
from dcot.runtime.progress import documents_done

if TYPE_CHECKING:
    from dcot import DCoTVectorizer

EXAMPLES = {
    "transform": (
        "dcot transform model news.txt -o features.npy",
        "dcot transform model news.csv --text body --id number -o features.parquet",
        "dcot transform model news.txt -o features",
    )
}


def transform(
    model: o.Model,
    corpus: o.Corpora,
    output: Annotated[
        Path,
        o.output(
            "Ends in .parquet, .csv, .tsv or .jsonl (features by name), .npz, or .npy (only the "
            "matrix). Without an ending, a folder of parquet files."
        ),
    ],
    *,
    overwrite: Annotated[bool, o.option("Start again instead of resuming.", "--overwrite")] = False,
    reading: o.Reading,
    identifier: o.Identifier = None,
    session: Session,
) -> None:
    """Turn documents into features.

    A classifier gives the features that it selected, without the vectors beside them. Documents are
    read, transformed and written in batches, but a parquet or npz file is kept in memory until the
    end. For a large corpus write .npy or a folder; after an interruption, the same command resumes.
    """
    folder = not output.suffix
    if folder:
        _check_folder(output, identifier, overwrite)
    else:
        check_output(output, [*corpus, str(model)])
    source = Corpus(corpus, reading, identifier=identifier)
    source.check()
    vectorizer = load_vectorizer(model)
    names = [str(name) for name in vectorizer.get_feature_names_out()]
    vectorizer.set_output(transform="default")
    sparse = vectorizer.dcot_.output == "concat" and vectorizer.dcot_.components_ is None
    if folder or (output.suffix == ".npy" and source.rereadable and not sparse):
        total = _resumable(session, vectorizer, source, output, resume=not overwrite)
    else:
        total = _at_once(session, vectorizer, source, output, names)
    facts: dict[str, Any] = {"documents": total, "features": len(names), "output": str(output)}
    session.done(facts, f"Wrote {len(names):,} features of {total:,} documents to {output}.")


def _check_folder(output: Path, identifier: str | None, overwrite: bool) -> None:
    from dcot.stream.writing import in_progress

    if identifier is not None:
        raise UserError(
            f"{output} will be a folder, and its files have numbers and no column for --id: name a "
            "file that ends in .parquet, or leave --id out"
        )
    ours = (output / "features.json").is_file()
    if output.exists() and not (ours and (overwrite or in_progress(output))):
        advice = "replace it with --overwrite, or " if ours else ""
        raise UserError(
            f"{output} exists: {advice}name another folder, or a file that ends in "
            ".parquet, .csv, .tsv, .jsonl, .npz or .npy"
        )
    check_place(output)


def _at_once(
    session: Session, vectorizer: DCoTVectorizer, source: Corpus, output: Path, names: list[str]
) -> int:
    progress, done = session.progress, 0
    with writing(output, names) as writer:
        for batch in source.batches():
            writer.write({"id": batch.ids}, vectorizer.transform(batch.texts))
            done += len(batch)
            documents_done(progress, "transform", done)
    progress("transform", 1.0)
    return done


def _resumable(
    session: Session, vectorizer: DCoTVectorizer, source: Corpus, output: Path, *, resume: bool
) -> int:
    """Write features so that the same command can resume after an error or Ctrl-C.

    An older output stays until the new one is complete.
    """
    from dcot.stream import Once, Repeatable

    texts: Any
    if source.rereadable:
        texts = source.files() or Repeatable(lambda: (batch.texts for batch in source.batches()))
    else:
        texts = Once(batch.texts for batch in source.batches())
    try:
        total: int = vectorizer.transform_to(
            texts, output, overwrite=True, resume=resume, progress=session.progress
        )
    except KeyboardInterrupt:
        without = "" if resume else " without --overwrite"
        session.note(f"{output} is not complete: the same command{without} resumes it")
        raise
    return total
