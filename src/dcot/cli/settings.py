"""The estimators' parameters as options, read from their signatures and docstrings.

Importing an estimator takes a second (scikit-learn, numba), which help must not cost. So the source
is parsed instead: names, types and defaults come from ``__init__``, the words from the docstring.
A parameter that is added to an estimator is an option here without a further line.
"""

from __future__ import annotations

import ast
import enum
import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

import typer

# What is not for a command line: set by other options (--seed, --threads), functions, or matters of
# partial_fit only.
_NOT_OPTIONS = {
    "dtype",
    "grid",
    "grow_vocabulary",
    "n_jobs",
    "n_threads",
    "random_state",
    "unlabelled_label",
    "vectorizer",
    "verbose",
    "vocabulary",
}

# --output is where the result goes
_FLAGS = {"output": "features"}

_NONE = "means_none"  # the member of an enumeration; "none" can be a value like any other

_COUNTED = "What is counted"
_WEIGHED = "How it is weighed"
_LEARNED = "What is learned"
_TRIED = "What is tried (several values: those to choose from)"
_DECIDED = "How it is decided"


@dataclass(frozen=True)
class Setting:
    """A parameter as its signature and docstring give it."""

    name: str
    annotation: str
    default: Any
    words: str
    choices: tuple[str, ...]


def vectorizer_options(*, learned: bool = True) -> list[inspect.Parameter]:
    """Options of ``DCoTVectorizer``, in the groups of its three parts."""
    signature = _signature("dcot.vectorizer", "DCoTVectorizer")
    parts = {
        _LEARNED: ("dcot.estimator", "DCoT") if learned else None,
        _COUNTED: ("dcot.text.counter", "TermCounter"),
        _WEIGHED: ("dcot.text.weighting", "TermWeighting"),
    }
    options = []
    for panel, part in parts.items():
        if part is None:
            continue
        words = _documented(*part)
        known = {"scheme": "weighting"}
        names = [known.get(name, name) for name in _signature(*part)]
        words = {known.get(name, name): text for name, text in words.items()}
        options += [
            _option(_setting(name, signature[name], words), panel)
            for name in names
            if name in signature and name not in _NOT_OPTIONS
        ]
    return options


def classifier_options() -> list[inspect.Parameter]:
    """Options of ``DCoTClassifier``: what is tried, the learner, and how texts are read."""
    signature = _signature("dcot.classifier.model", "DCoTClassifier")
    words = _documented("dcot.classifier.model", "DCoTClassifier")
    own = [
        _option(_setting(name, signature[name], words), _DECIDED)
        for name in signature
        if name not in _NOT_OPTIONS
    ]
    return [*_grid_options(), *own, *vectorizer_options(learned=False)]


def is_tried(name: str) -> bool:
    """Whether a parameter of ``train`` is one of the classifier's grid."""
    return name in _grid()


def is_of_classifier(name: str) -> bool:
    """Whether a parameter of ``train`` is the classifier's own, rather than its vectorizer's."""
    return name in _signature("dcot.classifier.model", "DCoTClassifier")


def option_names() -> frozenset[str]:
    """Parameters that are options of some command: for errors that speak of them."""
    names = {*_signature("dcot.vectorizer", "DCoTVectorizer"), *_grid()}
    return (
        frozenset(names | set(_signature("dcot.classifier.model", "DCoTClassifier"))) - _NOT_OPTIONS
    )


# -- from the source ----------------------------------------------------------------------------


@lru_cache(maxsize=8)
def _source(module: str) -> ast.Module:
    # not by find_spec, which would import the packages above the module
    path = files("dcot").joinpath(*module.split(".")[1:-1], module.split(".")[-1] + ".py")
    return ast.parse(path.read_text(encoding="utf-8"))


def _class(module: str, name: str) -> ast.ClassDef:
    return next(
        node
        for node in _source(module).body
        if isinstance(node, ast.ClassDef) and node.name == name
    )


@lru_cache(maxsize=8)
def _signature(module: str, name: str) -> dict[str, tuple[str, Any]]:
    """Annotation and default of each parameter of a class."""
    function = next(
        node
        for node in _class(module, name).body
        if isinstance(node, ast.FunctionDef) and node.name == "__init__"
    )
    given = function.args
    positional = given.args[1:]
    defaults = [*given.defaults, *given.kw_defaults]
    return {
        argument.arg: (ast.unparse(argument.annotation or ast.Constant(None)), _value(default))
        for argument, default in zip([*positional, *given.kwonlyargs], defaults, strict=True)
    }


def _value(node: ast.expr | None) -> Any:
    try:
        return ast.literal_eval(node) if node is not None else None
    except ValueError:  # a name, such as that of the default pattern
        return None


@lru_cache(maxsize=1)
def _grid() -> dict[str, tuple[Any, ...]]:
    """What the classifier tries by default."""
    for node in _source("dcot.classifier.selection").body:
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "GRID" and node.value:
            grid: dict[str, tuple[Any, ...]] = ast.literal_eval(node.value)
            return grid
    raise ImportError("dcot.classifier.selection has no GRID")


@lru_cache(maxsize=8)
def _documented(module: str, name: str) -> dict[str, str]:
    """What the docstring says of each parameter: its type in the first line, then words."""
    text = inspect.cleandoc(ast.get_docstring(_class(module, name)) or "")
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\w[^\n]*\n-+\n|\Z)", text, re.S | re.M)
    entries: dict[str, str] = {}
    for match in re.finditer(
        r"^(\w[\w, ]*) : ([^\n]*)\n((?:[ ]+[^\n]*\n?|\n)*)", section[1] if section else "", re.M
    ):
        names = [parameter.strip() for parameter in match[1].split(",")]
        for parameter, words in zip(names, _shared(match[3], len(names)), strict=True):
            entries[parameter] = f"{match[2]}\n{words}"
    return entries


def _shared(words: str, count: int) -> list[str]:
    """The words on each of several parameters that are documented together.

    >>> _shared("For bm25: how soon, and how much.", 2)
    ['For bm25: how soon.', 'For bm25: how much.']
    """
    plain = re.sub(r"``([^`]*)``", r"\1", " ".join(words.split()))
    start = re.match(r"For \w+: ", plain)
    head = start[0] if start else ""
    parts = re.split(r"; |, and ", plain[len(head) :].rstrip("."))
    if count == 1 or len(parts) != count:
        return [plain] * count
    return [f"{head}{part if head else part[0].upper() + part[1:]}." for part in parts]


def _setting(name: str, given: tuple[str, Any], documented: dict[str, str]) -> Setting:
    kind, _, words = documented.get(name, "\n").partition("\n")
    annotation, default = given
    annotation = re.sub(r" \| Callable\[\[?.*\]", "", annotation)  # no functions on a command line
    literal = re.search(r"Literal\[(.*?)\]", annotation)
    listed = literal[1] if literal else kind.partition(", default=")[0]
    choices = tuple(re.findall(r"""["']([^"']+)["']""", listed))
    if choices and re.fullmatch(r"Literal.*|str( \| None)?|Any", annotation):
        annotation = "choice or None" if "None" in annotation else "choice"
    return Setting(name, annotation, default, _first_sentence(words), choices)


def _first_sentence(words: str) -> str:
    """Help is read at a glance; the rest is in the documentation of the class."""
    words = re.sub(r"[,;] or (a callable|what a function)[^.]*", "", words)
    first, *others = re.split(r"(?<=\w{3})\. |(?<=\))\. ", words)
    if len(first) < 25 and others:  # "For the first layer" alone says nothing
        first = f"{first}. {others[0]}"
    return first.rstrip(".") + "."


# -- to options ---------------------------------------------------------------------------------


def _option(setting: Setting, panel: str) -> inspect.Parameter:
    """A typer option. Its own default is None, "not given"; what is shown is the estimator's."""
    flag = "--" + _FLAGS.get(setting.name, setting.name).replace("_", "-")
    annotation, extra = _typed(setting)
    information = typer.Option(
        f"{flag}/--no-{flag[2:]}" if annotation is bool else flag,
        help=setting.words,
        show_default=_shown(setting.default),
        rich_help_panel=panel,
        **extra,
    )
    return _parameter(setting.name, annotation, information)


def _parameter(name: str, annotation: Any, information: Any) -> inspect.Parameter:
    from typing import Annotated

    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[annotation | None, information],
    )


def _typed(setting: Setting) -> tuple[Any, dict[str, Any]]:
    """The type of an option and what else typer has to know about it."""
    if setting.annotation.startswith("choice"):
        members = {choice: choice for choice in setting.choices}
        if "None" in setting.annotation:
            members[_NONE] = "none"
        choice = enum.Enum(setting.name, members, type=str)  # type: ignore[misc]
        return choice, {"metavar": "|".join(members.values())}
    if setting.annotation in _PLAIN:
        return _PLAIN[setting.annotation], {"metavar": "INT"}
    parser, metavar = _PARSED.get(setting.annotation, (_text, "TEXT"))
    if setting.choices:
        parser, metavar = _one_or_many, "|".join([*setting.choices, "WORDS"])
    return str, {"parser": parser, "metavar": metavar}


def _grid_options() -> Iterator[inspect.Parameter]:
    documented = _documented("dcot.estimator", "DCoT")
    documented = {**documented, "features": "\nWhich features the classifier sees."}
    for name, values in _grid().items():
        information = typer.Option(
            "--" + name.replace("_", "-"),
            help=_first_sentence(documented[name].partition("\n")[2]),
            show_default=_shown(values),
            rich_help_panel=_TRIED,
            parser=_texts if name == "features" else numbers,
            metavar="NAMES" if name == "features" else "NUMBERS",
        )
        yield _parameter(name, str, information)


def _shown(value: Any) -> str | bool:
    if value is None:
        return False
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


# -- values of options --------------------------------------------------------------------------


def given(values: dict[str, Any]) -> dict[str, Any]:
    """Options that were given, as parameters: "none" is None, a choice is its text."""
    return {name: _plain(value) for name, value in values.items() if value is not None}


def _plain(value: Any) -> Any:
    if isinstance(value, enum.Enum):
        return None if value.name == _NONE else value.value
    return value


def number(text: str) -> float:
    """A whole number stays one: --min-df 1 is one document, 1.0 is all of them.

    >>> number("2"), number("0.5")
    (2, 0.5)
    """
    try:
        return int(text)
    except ValueError:
        return float(_checked(float, text, "a number"))


def numbers(text: str) -> tuple[float, ...]:
    """Several numbers, separated by commas.

    >>> numbers("0.9,0.8")
    (0.9, 0.8)
    """
    return tuple(number(part) for part in text.split(","))


def _texts(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(","))


def _text(text: str) -> str:
    return text


def _one_or_many(text: str) -> Any:
    return _texts(text) if "," in text else text


def _pair(text: str) -> tuple[int, int]:
    parts = re.split(r"[,:\- ]", text)
    if len(parts) not in (1, 2):
        raise typer.BadParameter(f"{text!r} is not one or two numbers, as in 1,2")
    found = [_checked(int, part, "a whole number") for part in parts]
    return (1, found[0]) if len(found) == 1 else (found[0], found[1])


def _one_or_more_numbers(text: str) -> Any:
    found = numbers(text)
    return found if len(found) > 1 else found[0]


def _checked(kind: Callable[[str], Any], text: str, what: str) -> Any:
    try:
        return kind(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not {what}") from None


_PLAIN: dict[str, Any] = {
    "bool": bool,
    "int": int,
    "int | None": int,
}
_PARSED: dict[str, tuple[Callable[[str], Any], str]] = {
    "float": (number, "NUMBER"),
    "float | None": (number, "NUMBER"),
    "float | Sequence[float]": (_one_or_more_numbers, "NUMBERS"),
    "float | str | None": (_text, "SIZE"),
    "tuple[int, int]": (_pair, "FEWEST,MOST"),
}
