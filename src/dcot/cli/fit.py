"""``dcot fit`` and ``dcot transform``: learn features, and write those of documents to a file."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from dcot.cli import options as o
from dcot.cli.corpus import Corpus
from dcot.cli.errors import UserError
from dcot.cli.files import (
    check_output,
    check_place,
    check_target,
    load_model,
    save_model,
    writing,
)
from dcot.cli.session import Session, counted
from dcot.runtime.extras import require
from dcot.runtime.progress import documents_done
from dcot.runtime.resources import format_bytes

if TYPE_CHECKING:
    from dcot import DCoTClassifier, DCoTVectorizer
    from dcot.text import TextFiles

EXAMPLES = {
    "fit": (
        "dcot fit news.txt -o model",
        "dcot fit news.csv --text body --n-prototypes 1000 --noise 0.9,0.8 -o model",
        "zcat news.jsonl.gz | dcot fit - --text body -o model --precision int8",
        "dcot fit news.txt --dask threads -o model",
    ),
    "transform": (
        "dcot transform model news.txt -o features.npy",
        "dcot transform model news.csv --text body --id number -o features.parquet",
        "dcot transform model news.txt -o features",
    ),
}
_dcot = partial(o.option, panel="dCoT")


@dataclass(frozen=True)
class DcotOptions:
    """Parameters of ``DCoT``, where ``features`` is called ``output``."""

    n_prototypes: Annotated[int, _dcot("Number of terms to reconstruct.", min=1)] = 2000
    prototypes: Annotated[
        Any,
        _dcot(
            "Terms to reconstruct: those that vary most, those in most documents, the most "
            "frequent, or a list with commas.",
            parser=o.words,
            metavar="variance|document_frequency|frequent|WORDS",
        ),
    ] = "variance"
    noise: Annotated[
        Any,
        _dcot(
            "Probability of removing a term, in [0, 1); with commas, by layer.",
            parser=o.by_layer(low=0, below=1),
            metavar="NUMBERS",
        ),
    ] = "0.9,0.8"
    n_layers: Annotated[int, _dcot("Number of layers.", min=1)] = 2
    squash: Annotated[
        Literal["identity", "tanh"],
        _dcot("Function applied to reconstructed values; the paper uses tanh."),
    ] = "identity"
    shrinkage: Annotated[
        Any,
        _dcot(
            "Strength of the shrinkage; 0 is the paper; with commas, by layer.",
            parser=o.by_layer(low=0),
            metavar="NUMBERS",
        ),
    ] = "1.0,0.0"
    features: Annotated[
        Literal["layers", "concat", "last", "lsi", "all"],
        _dcot(
            "All layers, the weighted terms and all layers, the last layer, LSI and all layers, or "
            "the weighted terms, LSI and all layers."
        ),
    ] = "layers"
    normalize: Annotated[
        Literal["shared", "unit", "center", "none"],
        _dcot(
            "Centre the layers and divide each document by the length of its first layer, scale "
            "every layer to length one, only centre, or do nothing."
        ),
    ] = "shared"
    n_components: Annotated[
        int | None, _dcot("Compress the features to this many dimensions.", min=1)
    ] = None
    ridge: Annotated[float, _dcot("Constant added to the diagonal of the system.", min=0)] = 0.0
    solver: Annotated[
        Literal["auto", "primal", "dual", "cg"], _dcot("Solver of the first layer.")
    ] = "auto"
    tol: Annotated[float, _dcot("Relative residual at which cg stops.")] = 0.01
    max_iter: Annotated[int, _dcot("At most this many iterations of cg.", min=1)] = 1000
    memory_limit: Annotated[
        str | None,
        _dcot("Memory limit of the fit, such as 4GB.", metavar="SIZE", show_default="free memory"),
    ] = None


def fit(
    corpus: o.Corpora,
    output: o.ModelOut,
    *,
    precision: o.Precision = None,
    dask: Annotated[
        str | None,
        o.option(
            "Fit with Dask: on a cluster such as tcp://10.0.0.1:8786, on a new local cluster, or "
            "on threads. Workers must be able to read the files.",
            metavar="ADDRESS|local|threads",
        ),
    ] = None,
    reading: o.Reading,
    dcot: DcotOptions,
    counting: o.Counting,
    weighting: o.Weighting,
    session: Session,
) -> None:
    """Learn features from documents, without labels.

    More documents give better features. The model turns texts into features (dcot transform), shows
    what words mean (explain, similar) and serves a search index (index).
    """
    check_target(output, "DCoTVectorizer")
    if dask is not None:
        for module in ("dask", "distributed"):
            require(module, "dask")
    documents = Corpus(corpus, reading).texts()
    model = vectorizer(counting, weighting, dcot, session)
    start = time.perf_counter()
    if dask is None:
        model.fit(documents)
    else:
        _fit_with_dask(dask, model, documents)
    seconds = time.perf_counter() - start
    size = save_model(model, output, precision)
    facts = {
        "model": str(output),
        "kind": "DCoTVectorizer",
        "documents": int(model.dcot_.n_documents_),
        "terms": int(model.dcot_.n_features_in_),
        "prototypes": len(model.prototypes_),
        "layers": len(model.layers_),
        "features": int(model.dcot_._n_features_out),
        "solver": model.dcot_.solver_,
        "loss": [float(value) for value in model.loss_],
        "seconds": round(seconds, 3),
        "bytes": size,
    }
    session.done(facts, _summary(facts))


def vectorizer(
    counting: o.Counting, weighting: o.Weighting, dcot: DcotOptions, session: Session
) -> DCoTVectorizer:
    """Make an unfitted vectorizer from options."""
    from dcot import DCoTVectorizer

    chosen = o.parameters_of(counting, weighting, dcot)
    chosen["output"] = chosen.pop("features")
    return DCoTVectorizer(**chosen, random_state=session.seed, verbose=session.verbose)


def _fit_with_dask(cluster: str, model: DCoTVectorizer, documents: TextFiles | list[str]) -> None:
    from dcot import distributed

    if isinstance(documents, list):
        raise UserError(
            "--dask needs files that workers can read, not standard input or a known corpus: save "
            "the documents to files first"
        )
    distributed.fit(model, documents, cluster=None if cluster == "local" else cluster)


def _summary(facts: dict[str, Any]) -> str:
    sizes = [counted(facts[f"{one}s"], one) for one in ("term", "prototype", "layer", "feature")]
    return (
        f"Learned from {counted(facts['documents'], 'document')} in {facts['seconds']:.1f} s: "
        f"{', '.join(sizes)}.\n"
        f"Saved to {facts['model']} ({format_bytes(facts['bytes'])})."
    )


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

    A classifier gives the features that it selected, and the columns of its word vectors. Documents
    are read, transformed and written in batches, but a parquet or npz file is kept in memory until
    the end. For a large corpus write .npy or a folder; after an interruption, the same command
    resumes.
    """
    folder = not output.suffix
    if folder:
        _check_folder(output, identifier, overwrite)
    else:
        check_output(output, [*corpus, str(model)], array=True)
    source = Corpus(corpus, reading, identifier=identifier)
    source.check()
    loaded = _load_features(model)
    names = [str(name) for name in loaded.get_feature_names_out()]
    sparse = loaded.dcot_.output in ("concat", "all") and loaded.dcot_.components_ is None
    if folder or (output.suffix == ".npy" and source.rereadable and not sparse):
        total = _resumable(session, loaded, source, output, resume=not overwrite)
    else:
        total = _at_once(session, loaded, source, output, names)
    facts: dict[str, Any] = {"documents": total, "features": len(names), "output": str(output)}
    wrote = f"{counted(len(names), 'feature')} of {counted(total, 'document')}"
    session.done(facts, f"Wrote {wrote} to {output}.")


def _load_features(path: Path) -> DCoTVectorizer | DCoTClassifier:
    """A vectorizer, or a classifier if it has the columns of vectors, too."""
    kinds = ("DCoTVectorizer", "DCoTClassifier")
    found = load_model(path, *kinds, hint="make one with dcot fit")
    if type(found).__name__ == "DCoTClassifier":
        embedding = found._fitted().embedding
        if embedding is None:
            found = found.vectorizer_
        elif embedding.table is None:
            raise UserError(
                f"{path} has features of {embedding.name}, which is not in the folder: load the "
                "model in Python, with the vectors or the encoder, and call its transform"
            )
    loaded: DCoTVectorizer | DCoTClassifier = found.set_output(transform="default")
    return loaded


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
    session: Session,
    model: DCoTVectorizer | DCoTClassifier,
    source: Corpus,
    output: Path,
    names: list[str],
) -> int:
    progress, done = session.progress, 0
    with writing(output, names) as writer:
        for batch in source.batches():
            writer.write({"id": batch.ids}, model.transform(batch.texts))
            done += len(batch)
            documents_done(progress, "transform", done)
    progress("transform", 1.0)
    return done


def _resumable(
    session: Session,
    model: DCoTVectorizer | DCoTClassifier,
    source: Corpus,
    output: Path,
    *,
    resume: bool,
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
        return _transform_to(
            model, texts, output, overwrite=True, resume=resume, progress=session.progress
        )
    except KeyboardInterrupt:
        without = "" if resume else " without --overwrite"
        session.note(f"{output} is not complete: the same command{without} resumes it")
        raise


def _transform_to(
    model: DCoTVectorizer | DCoTClassifier, texts: Any, output: Path, **options: Any
) -> int:
    """``transform_to`` of a vectorizer, and the same for a classifier with word vectors."""
    from dcot import DCoTVectorizer
    from dcot.stream.writing import fingerprint, write_features
    from dcot.text.inputs import as_text_source

    if isinstance(model, DCoTVectorizer):
        return model.transform_to(texts, output, **options)
    fitted, source = model._fitted(), as_text_source(texts, 0.0)
    assert fitted.embedding is not None
    assert model.vectorizer_ is not None
    assert source is not None
    names = model.get_feature_names_out().tolist()
    columns = [fitted.embedding.mean, fitted.embedding.table, fitted.embedding.weight]
    return write_features(
        model.transform,
        source,
        output,
        width=len(names),
        dtype=fitted.dcot.dtype,
        model=fingerprint(fitted.dcot, model.vectorizer_._fingerprint(), *columns),
        names=names,
        **options,
    )
