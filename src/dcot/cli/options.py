"""Arguments and options that several commands have, and how their values are read.

Each is an annotated type, so that a command says ``text: o.Text = None``. Paths are
``readable=False`` here and elsewhere: typer must not check them, because our messages about a
wrong path are more useful.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

# -- values -------------------------------------------------------------------------------------


def number_or_auto(text: str) -> float | str:
    """A number, or the word auto."""
    return text if text == "auto" else number(text)


def number(
    text: str, low: float | None = None, below: float | None = None, whole: bool = False
) -> float:
    """A number in a range. A whole number stays one: --min-df 1 is one document, 1.0 is all.

    >>> number("2"), number("0.5")
    (2, 0.5)
    """
    try:
        value: float = int(text)
    except ValueError:
        try:
            value = float(text)
        except ValueError:
            raise typer.BadParameter(f"{text!r} is not a number") from None
    if whole and not isinstance(value, int):
        raise typer.BadParameter(f"{text!r} is not a whole number")
    if (low is not None and not value >= low) or (below is not None and not value < below):
        limits = [f"{words} {limit}" for words, limit in (("at least", low), ("less than", below))]
        expected = " and ".join(one for one in limits if not one.endswith("None"))
        raise typer.BadParameter(f"{text} is out of range: expected {expected}")
    return value


def numbers(
    *, low: float | None = None, below: float | None = None, whole: bool = False
) -> Callable[[str], tuple[float, ...]]:
    """A reader of numbers separated by commas, each in a range.

    >>> numbers()("0.9,0.8")
    (0.9, 0.8)
    """

    def read(text: str) -> tuple[float, ...]:
        return tuple(number(part.strip(), low, below, whole) for part in text.split(","))

    return read


def by_layer(*, low: float, below: float | None = None) -> Callable[[str], Any]:
    """A reader of one number for all layers, or of several, one for each."""

    def read(text: str) -> Any:
        found = numbers(low=low, below=below)(text)
        return found if len(found) > 1 else found[0]

    return read


def names(text: str) -> tuple[str, ...]:
    """Texts separated by commas."""
    return tuple(part.strip() for part in text.split(","))


def words(text: str) -> str | tuple[str, ...]:
    """One name, or several words separated by commas."""
    return names(text) if "," in text else text


def _range(text: str) -> tuple[int, int]:
    parts = re.split(r"[,:\- ]", text)
    if len(parts) not in (1, 2):
        raise typer.BadParameter(f"{text!r} is not one or two numbers, as in 1,2")
    found = [int(number(part, 1, whole=True)) for part in parts]
    return (1, found[0]) if len(found) == 1 else (found[0], found[1])


def option(*flags: str, help: str, panel: str | None = None, **more: Any) -> Any:
    """``typer.Option`` with the names of this package."""
    return typer.Option(*flags, help=help, rich_help_panel=panel, **more)


# -- arguments and files ------------------------------------------------------------------------

Corpora = Annotated[
    list[str],
    typer.Argument(
        metavar="CORPUS...",
        show_default=False,
        help="Files (.txt: one document per line; .csv, .tsv, .jsonl, .parquet), plain or "
        "compressed; a folder of text files; - for standard input; or a known corpus, such as "
        "r52 or r52:test.",
    ),
]
Model = Annotated[
    Path,
    typer.Argument(readable=False, metavar="MODEL", show_default=False, help="A model folder."),
]
ModelOut = Annotated[
    Path,
    option(
        "--output",
        "-o",
        help="The model folder to write; an older model of the same kind is replaced.",
        readable=False,
        metavar="MODEL",
    ),
]
Precision = Annotated[
    Literal["float16", "int8"] | None,
    option(
        "--precision",
        metavar="float16|int8",
        help="Save weights in 16 or 8 bits: a half or a quarter of the size.",
        show_default="as trained",
    ),
]

# -- the corpus ---------------------------------------------------------------------------------

CORPUS = "Corpus"

Text = Annotated[
    list[str] | None,
    option(
        "--text",
        help="Column with the text. If repeated, the columns are joined.",
        panel=CORPUS,
        metavar="COLUMN",
        show_default="text, or the only one",
    ),
]
Label = Annotated[
    str | None,
    option(
        "--label",
        help="Column with the label.",
        panel=CORPUS,
        metavar="COLUMN",
        show_default="folder names",
    ),
]
Identifier = Annotated[
    str | None,
    option(
        "--id",
        help="Column that identifies a document.",
        panel=CORPUS,
        metavar="COLUMN",
        show_default="file names, or numbers",
    ),
]
LabelSeparator = Annotated[
    str | None,
    option(
        "--label-separator",
        help="Text between the labels of a document, if it can have several.",
        panel=CORPUS,
        metavar="TEXT",
    ),
]
UnlabelledLabel = Annotated[
    str | None,
    option(
        "--unlabelled-label",
        help="Label value that marks unlabelled rows, besides the empty one.",
        panel=CORPUS,
        metavar="TEXT",
    ),
]
Format = Annotated[
    Literal["lines", "jsonl", "csv", "tsv", "parquet", "document"] | None,
    option(
        "--format",
        metavar="lines|jsonl|csv|tsv|parquet|document",
        help="Format of the files; document: one text per file.",
        panel=CORPUS,
        show_default="by the ending",
    ),
]
Encoding = Annotated[
    str,
    option(
        "--encoding",
        help="Encoding of the files, such as utf-16, latin-1 or cp1252.",
        panel=CORPUS,
        metavar="NAME",
    ),
]
Separator = Annotated[
    str | None,
    option(
        "--separator",
        help="Character between the columns of a .csv file, such as ';'.",
        panel=CORPUS,
        metavar="CHARACTER",
        show_default="a comma",
    ),
]
Errors = Annotated[
    Literal["strict", "replace"],
    option(
        "--errors",
        metavar="strict|replace",
        help="Bytes that cannot be decoded: an error, or a replacement character.",
        panel=CORPUS,
    ),
]

# -- reading and search -------------------------------------------------------------------------

K = Annotated[int, option("-k", help="Show at most this many.", min=1, metavar="INT")]
Hybrid = Annotated[
    float | None,
    option(
        "--hybrid",
        help="Weight of meaning against words: 0 is BM25 alone, 1 is dCoT alone.",
        min=0,
        max=1,
        metavar="NUMBER",
    ),
]

# -- the estimators' parameters that fit and train share; defaults are those of the estimators ----

_COUNTING = "Counting terms"
_WEIGHTING = "Weighting terms"

Lowercase = Annotated[
    bool,
    option(
        "--lowercase/--no-lowercase", help="Count Tea and tea as the same term.", panel=_COUNTING
    ),
]
StripAccents = Annotated[
    Literal["ascii", "unicode", "none"],
    option(
        "--strip-accents",
        metavar="ascii|unicode|none",
        help="Replace accented letters by plain ones, after lower-casing.",
        panel=_COUNTING,
    ),
]
StopWords = Annotated[
    Any,
    option(
        "--stop-words",
        help="Words to leave out: English ones, or a list with commas.",
        panel=_COUNTING,
        parser=words,
        metavar="english|WORDS",
    ),
]
TokenPattern = Annotated[
    str,
    option(
        "--token-pattern",
        help="Regular expression for a word; or unicode: words that keep combining marks and "
        "joiners, as Hindi and Persian need.",
        panel=_COUNTING,
        metavar="REGEX",
        show_default="two or more letters or digits",
    ),
]
MinWordLength = Annotated[
    int | None,
    option(
        "--min-word-length",
        help="Shortest word, in characters; 1 keeps words of one character.",
        panel=_COUNTING,
        metavar="INT",
        min=1,
        show_default="2",
    ),
]
NgramRange = Annotated[
    Any,
    option(
        "--ngram-range",
        help="Shortest and longest term, in words (or characters).",
        panel=_COUNTING,
        parser=_range,
        metavar="MIN,MAX",
    ),
]
Analyzer = Annotated[
    Literal["word", "char", "char_wb"],
    option(
        "--analyzer",
        metavar="word|char|char_wb",
        help="Terms are n-grams of words, of characters, or of characters within words.",
        panel=_COUNTING,
    ),
]
MinDf = Annotated[
    Any,
    option(
        "--min-df",
        help="Leave out terms in fewer documents: a number, or a fraction of all. auto: 2 from "
        "1,000 documents on, else 1.",
        panel=_COUNTING,
        parser=number_or_auto,
        metavar="NUMBER|auto",
    ),
]
MaxDf = Annotated[
    Any,
    option(
        "--max-df",
        help="Leave out terms in more documents: a number, or a fraction of all.",
        panel=_COUNTING,
        parser=number,
        metavar="NUMBER",
    ),
]
MaxFeatures = Annotated[
    int | None,
    option(
        "--max-features",
        help="Keep at most this many terms, the most frequent ones.",
        panel=_COUNTING,
        metavar="INT",
        min=1,
    ),
]
Binary = Annotated[
    bool,
    option("--binary/--no-binary", help="Count every term at most once.", panel=_COUNTING),
]
Weighting = Annotated[
    Literal["tfidf", "bm25", "log", "binary", "counts"],
    option(
        "--weighting",
        metavar="tfidf|bm25|log|binary|counts",
        help="Weight of a term in a document.",
        panel=_WEIGHTING,
    ),
]
Norm = Annotated[
    Literal["auto", "l1", "l2", "none"],
    option(
        "--norm",
        metavar="auto|l1|l2|none",
        help="Norm that every document is scaled to; auto is l2 for tfidf, else none.",
        panel=_WEIGHTING,
    ),
]
UseIdf = Annotated[
    bool, option("--use-idf/--no-use-idf", help="For tfidf: use idf.", panel=_WEIGHTING)
]
SmoothIdf = Annotated[
    bool,
    option(
        "--smooth-idf/--no-smooth-idf",
        help="For tfidf: compute idf as if one more document had every term.",
        panel=_WEIGHTING,
    ),
]
SublinearTf = Annotated[
    bool,
    option(
        "--sublinear-tf/--no-sublinear-tf",
        help="For tfidf: use 1 + log(tf) in place of tf.",
        panel=_WEIGHTING,
    ),
]
K1 = Annotated[
    float,
    option(
        "--k1",
        help="For bm25: how soon more occurrences of a term stop to matter.",
        panel=_WEIGHTING,
        metavar="NUMBER",
        min=0,
    ),
]
B = Annotated[
    float,
    option(
        "--b",
        help="For bm25: how much long documents are discounted.",
        panel=_WEIGHTING,
        metavar="NUMBER",
        min=0,
        max=1,
    ),
]

# -- common to all commands ---------------------------------------------------------------------

_COMMON = "Common options"

Json = Annotated[
    bool, option("--json", help="JSON on standard output, and nothing else.", panel=_COMMON)
]
Quiet = Annotated[bool, option("--quiet", "-q", help="No progress, no notes.", panel=_COMMON)]
Seed = Annotated[
    int, option("--seed", help="Seed of everything random.", panel=_COMMON, metavar="INT")
]
Threads = Annotated[
    int | None,
    option(
        "--threads",
        help="Number of threads.",
        panel=_COMMON,
        metavar="INT",
        min=1,
        show_default="all cores",
    ),
]
Debug = Annotated[bool, option("--debug", help="Show the traceback of an error.", panel=_COMMON)]
