"""``dcot fit``: learn features from documents without labels."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from dcot.cli import options as o
from dcot.cli.errors import UserError
from dcot.cli.session import Session

if TYPE_CHECKING:
    from dcot import DCoTVectorizer
    from dcot.text import TextFiles

EXAMPLES = (
    "dcot fit news.txt -o model",
    "dcot fit news.csv --text body --n-prototypes 1000 --noise 0.9,0.8 -o model",
    "zcat news.jsonl.gz | dcot fit - --text body -o model --precision int8",
    "dcot fit news.txt --dask threads -o model",
)
_DCOT = "dCoT"


def fit(
    context: typer.Context,
    corpus: o.Corpora,
    output: o.ModelOut,
    precision: o.Precision = None,
    dask: Annotated[
        str | None,
        o.option(
            "--dask",
            help="Fit with Dask: on a cluster, e.g. tcp://10.0.0.1:8786, on a local one that is "
            "started for this, or on threads. Workers must be able to read the files.",
            metavar="ADDRESS|local|threads",
        ),
    ] = None,
    text: o.Text = None,
    format: o.Format = None,
    encoding: o.Encoding = "utf-8",
    separator: o.Separator = None,
    errors: o.Errors = "strict",
    n_prototypes: Annotated[
        int,
        o.option(
            "--n-prototypes",
            help="Number of terms to reconstruct.",
            panel=_DCOT,
            metavar="INT",
            min=1,
        ),
    ] = 3000,
    prototypes: Annotated[
        Any,
        o.option(
            "--prototypes",
            help="Which terms: those in most documents, the most frequent, or a list with commas.",
            panel=_DCOT,
            parser=o.words,
            metavar="document_frequency|frequent|WORDS",
        ),
    ] = "document_frequency",
    noise: Annotated[
        Any,
        o.option(
            "--noise",
            help="Probability that a term is removed, in [0, 1); with commas, by layer.",
            panel=_DCOT,
            parser=o.by_layer(low=0, below=1),
            metavar="NUMBERS",
        ),
    ] = "0.9,0.8",
    n_layers: Annotated[
        int,
        o.option("--n-layers", help="Number of layers.", panel=_DCOT, metavar="INT", min=1),
    ] = 2,
    squash: Annotated[
        Literal["identity", "tanh"],
        o.option(
            "--squash",
            metavar="identity|tanh",
            help="Function applied to reconstructed values; the paper uses tanh.",
            panel=_DCOT,
        ),
    ] = "identity",
    shrinkage: Annotated[
        Any,
        o.option(
            "--shrinkage",
            help="Strength of the shrinkage; 0 is the paper; with commas, by layer.",
            panel=_DCOT,
            parser=o.by_layer(low=0),
            metavar="NUMBERS",
        ),
    ] = "1.0,0.0",
    features: Annotated[
        Literal["layers", "concat", "last"],
        o.option(
            "--features",
            metavar="layers|concat|last",
            help="All layers, the weighted terms and all layers, or the last layer.",
            panel=_DCOT,
        ),
    ] = "layers",
    normalize: Annotated[
        Literal["shared", "unit", "center", "none"],
        o.option(
            "--normalize",
            metavar="shared|unit|center|none",
            help="Centre the layers and divide each document by the length of its first layer, "
            "give every layer length one, only centre, or neither.",
            panel=_DCOT,
        ),
    ] = "shared",
    n_components: Annotated[
        int | None,
        o.option(
            "--n-components",
            help="Compress the features to this many dimensions.",
            panel=_DCOT,
            metavar="INT",
            min=1,
        ),
    ] = None,
    ridge: Annotated[
        float,
        o.option(
            "--ridge",
            help="Amount added to the diagonal of the system.",
            panel=_DCOT,
            metavar="NUMBER",
            min=0,
        ),
    ] = 0.0,
    solver: Annotated[
        Literal["auto", "primal", "dual", "cg"],
        o.option(
            "--solver",
            metavar="auto|primal|dual|cg",
            help="Solver of the first layer.",
            panel=_DCOT,
        ),
    ] = "auto",
    tol: Annotated[
        float,
        o.option(
            "--tol", help="Relative residual at which cg stops.", panel=_DCOT, metavar="NUMBER"
        ),
    ] = 0.01,
    max_iter: Annotated[
        int,
        o.option(
            "--max-iter",
            help="At most this many iterations of cg.",
            panel=_DCOT,
            metavar="INT",
            min=1,
        ),
    ] = 1000,
    memory_limit: Annotated[
        str | None,
        o.option(
            "--memory-limit",
            help="Memory that the fit may use, such as 4GB.",
            panel=_DCOT,
            metavar="SIZE",
            show_default="what is free",
        ),
    ] = None,
    lowercase: o.Lowercase = True,
    strip_accents: o.StripAccents = "none",
    stop_words: o.StopWords = None,
    token_pattern: o.TokenPattern = r"(?u)\b\w\w+\b",
    min_word_length: o.MinWordLength = None,
    ngram_range: o.NgramRange = "1,1",
    analyzer: o.Analyzer = "word",
    min_df: o.MinDf = "auto",
    max_df: o.MaxDf = "1.0",
    max_features: o.MaxFeatures = None,
    binary: o.Binary = False,
    weighting: o.Weighting = "tfidf",
    norm: o.Norm = "auto",
    use_idf: o.UseIdf = True,
    smooth_idf: o.SmoothIdf = True,
    sublinear_tf: o.SublinearTf = True,
    k1: o.K1 = 1.2,
    b: o.B = 0.75,
    json: o.Json = False,
    quiet: o.Quiet = False,
    seed: o.Seed = 0,
    threads: o.Threads = None,
    debug: o.Debug = False,
) -> None:
    """Learn features from documents; no labels needed.

    The more documents the better. The model turns texts into features (dcot transform), shows what
    words mean (explain, similar) and serves a search index (index).
    """
    session = Session.start(json, quiet, seed, threads, debug)
    from dcot.cli import models
    from dcot.cli.corpus import Corpus

    models.check_target(output, "DCoTVectorizer")
    if dask is not None:
        _check_dask()
    documents = Corpus(
        corpus, text=text, format=format, encoding=encoding, separator=separator, errors=errors
    ).texts()
    model = models.vectorizer(context.params, session)
    start = time.perf_counter()
    if dask is None:
        model.fit(documents)
    else:
        _fit_with_dask(dask, model, documents)
    seconds = time.perf_counter() - start
    size = models.save_model(model, output, precision)
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


def _check_dask() -> None:
    from dcot.runtime.extras import require

    for module in ("dask", "distributed"):
        require(module, "dask")


def _fit_with_dask(cluster: str, model: DCoTVectorizer, documents: TextFiles | list[str]) -> None:
    from dcot import distributed

    if isinstance(documents, list):
        raise UserError(
            "--dask needs files that workers can read, not standard input or a known corpus: save "
            "the documents to files first"
        )
    distributed.fit(model, documents, cluster=None if cluster == "local" else cluster)


def _summary(facts: dict[str, Any]) -> str:
    from dcot.runtime.resources import format_bytes

    layers = f"{facts['layers']} layer{'s' if facts['layers'] != 1 else ''}"
    return (
        f"Learned from {facts['documents']:,} documents in {facts['seconds']:.1f} s: "
        f"{facts['terms']:,} terms, {facts['prototypes']:,} prototypes, {layers}, "
        f"{facts['features']:,} features.\n"
        f"Saved to {facts['model']} ({format_bytes(facts['bytes'])})."
    )
