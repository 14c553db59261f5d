"""Arguments and options that several commands have, each written down once.

Paths are ``readable=False`` here and elsewhere: typer is not to check them, because what we say
about a wrong one is of more use, and is no matter of usage.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

_COLUMNS = "The corpus"

Corpora = Annotated[
    list[str],
    typer.Argument(
        metavar="CORPUS...",
        show_default=False,
        help="Files (.txt: a document a line; .csv, .tsv, .jsonl, .parquet), plain or compressed; "
        "a folder of .txt files; - for standard input; or a known corpus, such as r52 or r52:test.",
    ),
]
Model = Annotated[
    Path,
    typer.Argument(readable=False, metavar="MODEL", show_default=False, help="A model folder."),
]
Text = Annotated[
    str | None,
    typer.Option(
        "--text",
        metavar="COLUMN",
        rich_help_panel=_COLUMNS,
        show_default="text, or the only one",
        help="The column with the text.",
    ),
]
Label = Annotated[
    str | None,
    typer.Option(
        "--label",
        metavar="COLUMN",
        rich_help_panel=_COLUMNS,
        show_default="names of the folders",
        help="The column with the label.",
    ),
]
Identifier = Annotated[
    str | None,
    typer.Option(
        "--id",
        metavar="COLUMN",
        rich_help_panel=_COLUMNS,
        show_default="file names, or numbers",
        help="The column that names a document.",
    ),
]
LabelSeparator = Annotated[
    str | None,
    typer.Option(
        "--label-separator",
        metavar="TEXT",
        rich_help_panel=_COLUMNS,
        show_default=False,
        help="What stands between the labels of a document, if it can have several.",
    ),
]
UnlabelledLabel = Annotated[
    str | None,
    typer.Option(
        "--unlabelled-label",
        metavar="TEXT",
        rich_help_panel=_COLUMNS,
        show_default="the empty one",
        help="A label that means: without a label.",
    ),
]


class FormatName(StrEnum):
    """What a file can be."""

    lines = "lines"
    jsonl = "jsonl"
    csv = "csv"
    tsv = "tsv"
    parquet = "parquet"
    document = "document"


class ErrorsName(StrEnum):
    """What to do with bytes that are not UTF-8."""

    STRICT = "strict"
    REPLACE = "replace"


class PrecisionName(StrEnum):
    """How weights are saved."""

    float16 = "float16"
    int8 = "int8"


Format = Annotated[
    FormatName | None,
    typer.Option(
        "--format",
        metavar="|".join(FormatName),
        rich_help_panel=_COLUMNS,
        show_default="by the ending",
        help="What the files are; document: one text a file.",
    ),
]
Errors = Annotated[
    ErrorsName,
    typer.Option(
        "--errors",
        metavar="|".join(ErrorsName),
        rich_help_panel=_COLUMNS,
        help="Bytes that are not UTF-8: an error, or a replacement character.",
    ),
]
ModelOut = Annotated[
    Path,
    typer.Option(
        "--output",
        "-o",
        readable=False,
        metavar="MODEL",
        show_default=False,
        help="The model folder to write; a model that is there is replaced.",
    ),
]
Dask = Annotated[
    str | None,
    typer.Option(
        "--dask",
        metavar="ADDRESS|local|threads",
        show_default=False,
        help="Learn with Dask: on a cluster, e.g. tcp://10.0.0.1:8786, on a local one that is "
        "started for this, or on threads. Files are its partitions: workers must see them.",
    ),
]
Precision = Annotated[
    PrecisionName | None,
    typer.Option(
        "--precision",
        metavar="|".join(PrecisionName),
        show_default="as learned",
        help="Save weights in 16 or 8 bits: a half or a quarter of the size.",
    ),
]
