"""Let the reference show parameters and results that are described on their own line.

Docstrings have ``name : type`` with a description below, or the short form ``name : description``,
which numpydoc would take for a type. The short form is told by what follows: nothing, or the rest
of the sentence. Names that share a line get a line each, so that each has its own default. Of
``{"a", "b"} or None``, numpydoc would drop what is behind the braces, so it becomes ``"a" or "b" or
None``. Results that are described by a sentence have no type of their own either, and ``self`` gets
a description, so that no dash is left without one.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

SECTION = re.compile(r"(?ms)^((?:Parameters|Attributes)\n-+\n)(.*?)(?=^\S[^\n]*\n-+\n|\Z)")
ENTRY = re.compile(r"(?m)^(\S[^\n:]*?) : (.*(?:\n[ ]+.*)*)$")
ITSELF = re.compile(r"(?m)^(Returns\n-+\nself)$")
RESULT = re.compile(r"(?m)^(Returns\n-+\n)([A-Z][^\n]* [^\n]*(?:\n\S[^\n]*)*)(?=\n\n|\Z)")


class Compact(griffe.Extension):
    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = spread(obj.docstring.value)


def spread(text: str) -> str:
    """The short form as the long one, without a type: that of the signature is shown.

    >>> print(spread("Parameters\\n----------\\nk, n : how many, at\\n    most\\nx : int\\n    X."))
    Parameters
    ----------
    k
        how many, at
        most
    n
        how many, at
        most
    x : int
        X.
    >>> print(spread("Returns\\n-------\\nThe matplotlib figure."))
    Returns
    -------
    :
        The matplotlib figure.
    """
    text = SECTION.sub(lambda section: section[1] + ENTRY.sub(_entry, section[2]), text)
    text = ITSELF.sub(r"\1\n    The object itself.", text)
    return RESULT.sub(_result, text)


def _result(result: re.Match[str]) -> str:
    sentence = "\n".join(f"    {line}" for line in result[2].split("\n"))
    return f"{result[1]}:\n{sentence}"


def _entry(entry: re.Match[str]) -> str:
    first, *rest = entry[2].split("\n")
    if rest and re.match(r"\s+[A-Z`\"*]", rest[0]):  # a type, and a description below it
        head, body = f" : {_type(first)}", rest
    else:
        head, body = "", [first, *rest]
    below = [f"    {line.strip()}" for line in body]
    return "\n".join("\n".join([name + head, *below]) for name in entry[1].split(", "))


def _type(text: str) -> str:
    """All that a parameter may be, as one expression, which is shown as it is.

    >>> _type('{"sqrt", "balanced"}, mapping or None, default="sqrt"')
    '"sqrt" or "balanced" or mapping or None, default="sqrt"'
    >>> _type("ndarray of shape (n_terms, n_layers)")
    'ndarray of shape (n_terms, n_layers)'
    """
    kinds, comma, default = text.partition(", default")
    if "(" not in kinds:
        kinds = re.sub(r"[{}]", "", kinds).replace(", ", " or ")
    return kinds + comma + default
