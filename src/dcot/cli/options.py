"""Arguments and options that several commands share, and how their values are parsed.

An option is an annotated type; ``label: o.Label = None`` gives ``--label``. Options that belong
together form a group, a frozen dataclass: a command with the parameter ``reading: o.Reading`` has
all options of that group.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, fields, is_dataclass
from functools import partial, wraps
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import typer

T = TypeVar("T")

# -- values -------------------------------------------------------------------------------------


def number_or_auto(text: str) -> float | str:
    """Parse a number, or the word auto."""
    return text if text == "auto" else number(text)


def number(
    text: str, low: float | None = None, below: float | None = None, whole: bool = False
) -> float:
    """Parse a number in a range; --min-df 1 is one document and stays an integer, 1.0 is all.

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
        limits = {"at least": low, "less than": below}
        expected = " and ".join(f"{w} {limit}" for w, limit in limits.items() if limit is not None)
        raise typer.BadParameter(f"{text} is out of range: expected {expected}")
    return value


def numbers(
    *, low: float | None = None, below: float | None = None, whole: bool = False
) -> Callable[[str], tuple[float, ...]]:
    """A parser of numbers separated by commas, each in a range.

    >>> numbers()("0.9,0.8")
    (0.9, 0.8)
    """

    def read(text: str) -> tuple[float, ...]:
        return tuple(number(part.strip(), low, below, whole) for part in text.split(","))

    return read


def by_layer(*, low: float, below: float | None = None) -> Callable[[str], Any]:
    """A parser of one number for all layers, or one per layer."""

    def read(text: str) -> Any:
        found = numbers(low=low, below=below)(text)
        return found if len(found) > 1 else found[0]

    return read


def names(text: str) -> tuple[str, ...]:
    """Parse texts separated by commas."""
    return tuple(part.strip() for part in text.split(","))


def words(text: str) -> str | tuple[str, ...]:
    """Parse one name, or several words separated by commas."""
    return names(text) if "," in text else text


def _range(text: str) -> tuple[int, int]:
    parts = re.split(r"[,:\- ]", text)
    if len(parts) not in (1, 2):
        raise typer.BadParameter(f"{text!r} is not one or two numbers, as in 1,2")
    found = [int(number(part, 1, whole=True)) for part in parts]
    return (1, found[0]) if len(found) == 1 else (found[0], found[1])


def _path(text: Any) -> Path:
    if not str(text):  # Path("") is the current folder
        raise typer.BadParameter("the name is empty: name a file or a folder")
    return Path(text)


# -- options and groups of them -----------------------------------------------------------------


def option(help: str, *flags: str, panel: str | None = None, **more: Any) -> Any:
    """``typer.Option``; without ``flags`` its name is that of the parameter."""
    more["readable"] = False  # typer must not check paths: our messages are clearer
    found: Any = typer.Option
    return found(*flags, help=help, rich_help_panel=panel, **more)


def argument(help: str, metavar: str) -> Any:
    """``typer.Argument``."""
    return typer.Argument(help=help, metavar=metavar, show_default=False, readable=False)


def output(help: str, metavar: str = "FILE", **more: Any) -> Any:
    """The option for the output."""
    return option(help, "--output", "-o", metavar=metavar, **more)


def with_groups(command: Callable[..., None]) -> Callable[..., None]:
    """The command as typer expects it, with groups replaced by their options."""
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, type[Any]] = {
        name: one for name, one in hints.items() if bool(is_dataclass(one))
    }
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        if name in groups:
            parameters += inspect.signature(groups[name], eval_str=True).parameters.values()
        else:
            parameters.append(parameter.replace(annotation=hints[name]))

    @wraps(command)
    def run(**values: Any) -> None:
        made = {name: group_of(kind, values) for name, kind in groups.items()}
        taken = {field.name for kind in groups.values() for field in fields(kind)}
        command(**{name: one for name, one in values.items() if name not in taken}, **made)

    described = [_described(one) for one in parameters]
    run.__signature__ = inspect.Signature(described)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in described}
    return run


def _described(parameter: inspect.Parameter) -> inspect.Parameter:
    """A parameter whose option has a metavar: its own, or one made from its type."""
    kind, information = get_args(parameter.annotation)
    kinds = (kind, *get_args(kind))
    choices = [one for one in kinds if get_origin(one) is Literal]
    by_type = "INT" if int in kinds else "NUMBER" if float in kinds else None
    shown = copy(information)
    shown.metavar = shown.metavar or ("|".join(get_args(choices[0])) if choices else by_type)
    if any(Path in (one, *get_args(one)) for one in kinds):
        shown.parser = _path
    return parameter.replace(annotation=Annotated[kind, shown], kind=inspect.Parameter.KEYWORD_ONLY)


def group_of(kind: Callable[..., T], values: Mapping[str, Any]) -> T:
    """A group with its values from a command line."""
    return kind(**{name: values[name] for name in inspect.signature(kind).parameters})


_OR_NONE = ("strip_accents", "norm", "normalize", "class_weight")  # "none" means None


def parameters_of(*groups: Any) -> dict[str, Any]:
    """The options of groups as parameters of an estimator."""
    values = {name: value for one in groups for name, value in vars(one).items()}
    return values | {name: None for name in _OR_NONE if values.get(name) == "none"}


# -- arguments and files ------------------------------------------------------------------------

Corpora = Annotated[
    list[str],
    argument(
        "Files (.txt: one document per line; .csv, .tsv, .jsonl, .parquet), plain or "
        "compressed; a folder of text files; - for standard input; or a known corpus, such as "
        "r52 or r52:test.",
        "CORPUS...",
    ),
]
Model = Annotated[Path, argument("Model folder.", "MODEL")]
ModelOut = Annotated[
    Path, output("Model folder to write; a model of the same kind is replaced.", "MODEL")
]
TableOut = Annotated[
    Path | None,
    output("Ends in .parquet, .csv, .tsv, .jsonl or .npz.", show_default="standard output"),
]
Precision = Annotated[
    Literal["float16", "int8"] | None,
    option(
        "Save weights in 16 or 8 bits, at half or a quarter of the size.", show_default="as trained"
    ),
]
K = Annotated[int, option("Show at most this many.", "-k", min=1)]
WORD_VECTORS: dict[str, Any] = {
    "help": "Word vectors to add to dCoT: a file of word2vec, GloVe or safetensors, or wordllama, "
    "if it is installed.",
    "metavar": "FILE|wordllama",
}
WordVectors = Annotated[str | None, option(**WORD_VECTORS)]
Hybrid = Annotated[
    float | None,
    option(
        "Weight of meaning against words: 0 is BM25 alone, 1 is dCoT alone.",
        min=0,
        max=1,
        show_default="chosen for each query",
    ),
]

# -- the corpus ---------------------------------------------------------------------------------

_corpus = partial(option, panel="Corpus")
_files = partial(option, panel="Files")
_column = partial(_corpus, metavar="COLUMN")

Label = Annotated[str | None, _column("Column with the label.", show_default="folder names")]
UnlabelledLabel = Annotated[
    list[str] | None,
    _corpus("Label value that marks unlabelled rows, besides the empty one. Can be repeated."),
]
Identifier = Annotated[
    str | None,
    _column("Column that identifies a document.", "--id", show_default="file names, or numbers"),
]
Metadata = Annotated[list[str] | None, _column("Column to keep for --where. Can be repeated.")]


@dataclass(frozen=True)
class Reading:
    """How files are read; see ``dcot.text.tables.ReadOptions``."""

    text: Annotated[
        list[str] | None,
        _column(
            "Column with the text. If repeated, the columns are joined.",
            show_default="text, or the only one",
        ),
    ] = None
    format: Annotated[
        Literal["lines", "jsonl", "csv", "tsv", "parquet", "document"] | None,
        _files("Format of the files; document: one text per file.", show_default="by the ending"),
    ] = None
    encoding: Annotated[
        str, _files("Encoding of the files, such as utf-16, latin-1 or cp1252.", metavar="NAME")
    ] = "utf-8"
    separator: Annotated[
        str | None,
        _files(
            "Character between the columns of a .csv file, such as ';'.",
            metavar="CHARACTER",
            show_default="a comma",
        ),
    ] = None
    errors: Annotated[
        Literal["strict", "replace"],
        _files("Bytes that cannot be decoded: fail, or use a replacement character."),
    ] = "strict"


@dataclass(frozen=True)
class Labels:
    """Where labels are, and how they are written."""

    label: Label = None
    label_separator: Annotated[
        str | None, _corpus("Separator of labels, if a document can have several.")
    ] = None
    unlabelled_label: UnlabelledLabel = None


# -- pages in the browser -----------------------------------------------------------------------


@dataclass(frozen=True)
class Page:
    """Where a page is served, and whether it is opened."""

    host: Annotated[
        str,
        option(
            "Address to listen on. With another address than the default, others can reach the "
            "page if they have the token in the printed address.",
            metavar="ADDRESS",
        ),
    ] = "127.0.0.1"
    port: Annotated[
        int | None,
        option(
            "Port to listen on; 0 for any free port.",
            min=0,
            max=65535,
            show_default="8765, or any free port",
        ),
    ] = None
    open_page: Annotated[bool, option("Open the page in the browser.", "--open/--no-open")] = True


# -- parameters of the vectorizer, with the defaults of the estimators ---------------------------

_counting = partial(option, panel="Counting terms")
_weighting = partial(option, panel="Weighting terms")


@dataclass(frozen=True)
class Counting:
    """Parameters of ``TermCounter``."""

    lowercase: Annotated[bool, _counting("Count Tea and tea as the same term.")] = True
    strip_accents: Annotated[
        Literal["ascii", "unicode", "none"],
        _counting("Replace accented letters by plain ones, after lower-casing."),
    ] = "none"
    stop_words: Annotated[
        Any,
        _counting(
            "Words to leave out: English stop words, or a list with commas.",
            parser=words,
            metavar="english|WORDS",
        ),
    ] = None
    token_pattern: Annotated[
        str,
        _counting(
            "Regular expression for a word; unicode keeps combining marks and joiners, as Hindi "
            "and Persian need.",
            metavar="REGEX",
            show_default="two or more letters or digits",
        ),
    ] = r"(?u)\b\w\w+\b"
    min_word_length: Annotated[
        int | None, _counting("Minimum length of a word, in characters.", min=1, show_default="2")
    ] = None
    ngram_range: Annotated[
        Any,
        _counting(
            "Minimum and maximum length of a term, in words (or characters).",
            parser=_range,
            metavar="MIN,MAX",
        ),
    ] = "1,1"
    analyzer: Annotated[
        Literal["word", "char", "char_wb"],
        _counting("Terms are n-grams of words, of characters, or of characters within words."),
    ] = "word"
    min_df: Annotated[
        Any,
        _counting(
            "Leave out terms in fewer documents: a number, or a fraction of all. auto is 2 from "
            "1,000 documents on, else 1.",
            parser=number_or_auto,
            metavar="NUMBER|auto",
        ),
    ] = "auto"
    max_df: Annotated[
        Any,
        _counting(
            "Leave out terms in more documents: a number, or a fraction of all.",
            parser=number,
            metavar="NUMBER",
        ),
    ] = "1.0"
    max_features: Annotated[
        int | None, _counting("Keep at most this many terms, the most frequent ones.", min=1)
    ] = None
    binary: Annotated[bool, _counting("Count every term at most once.")] = False


@dataclass(frozen=True)
class Weighting:
    """Parameters of ``TermWeighting``."""

    weighting: Annotated[
        Literal["tfidf", "bm25", "log", "binary", "counts"],
        _weighting("Weight of a term in a document."),
    ] = "tfidf"
    norm: Annotated[
        Literal["auto", "l1", "l2", "none"],
        _weighting("Norm to scale every document by; auto is l2 for tfidf, else none."),
    ] = "auto"
    use_idf: Annotated[bool, _weighting("For tfidf: use idf.")] = True
    smooth_idf: Annotated[
        bool, _weighting("For tfidf: compute idf as if one more document had every term.")
    ] = True
    sublinear_tf: Annotated[bool, _weighting("For tfidf: use 1 + log(tf) in place of tf.")] = True
    idf_floor: Annotated[
        float, _weighting("For tfidf: idf of a term that every document has.", min=0)
    ] = 0.1
    k1: Annotated[
        float, _weighting("For bm25: how quickly repeated terms stop mattering.", min=0)
    ] = 1.2
    b: Annotated[
        float, _weighting("For bm25: how much long documents are penalised.", min=0, max=1)
    ] = 0.75
