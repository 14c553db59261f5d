"""From a docstring to running text: without code, markup and the name of its own package.

A document must not give its label away by naming it. Doctests, imports, addresses, markup and
numpydoc headings go; ``scipy.stats.norm`` becomes ``norm``; names that are nothing but names of
packages (``numpy``, ``asyncio``, ``linear_model``) go entirely. Package names that are English
words (``signal``, ``email``, ``cluster``) stay where they stand as words: they are the subject.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable

__all__ = ["make_cleaner"]

_DOCTEST = re.compile(r"^[ \t]*>>>.*(?:\n(?![ \t]*$).*)*", re.MULTILINE)
_HEADING = re.compile(r"^.*\n[ \t]*[-=~]{3,}[ \t]*$", re.MULTILINE)
_DIRECTIVE = re.compile(r"^[ \t]*\.\. .*$", re.MULTILINE)
_IMPORT = re.compile(r"^[ \t]*(?:from[ \t]+[\w.]+[ \t]+)?import[ \t]+\w[\w., *()]*$", re.MULTILINE)
_ADDRESS = re.compile(r"\b(?:https?|ftp)://\S+|\bdoi:\S+", re.IGNORECASE)
_ROLE = re.compile(r":[a-z:]+:`~?([^`<]*)(?:<[^`]*>)?`")
_TEMPLATE = re.compile(r"%\(\w+\)[sd]")
_DOTTED = re.compile(r"(?<![\w.])[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")

# Other names under which the packages appear.
_ALIASES = frozenset({"np", "sp", "scikit", "scikit-learn", "scikits"})
# Names of packages that are no words of English; those with an underscore are added by rule.
_MERE_NAMES = frozenset(
    "asyncio fftpack importlib ipaddress linalg ma multiprocessing ndimage numpy pathlib scipy "
    "sklearn unittest urllib".split()
)


def make_cleaner(labels: Iterable[str]) -> Callable[[str], str]:
    """A function that turns a docstring into text, for a corpus with these labels.

    >>> clean = make_cleaner(["scipy.stats", "sklearn.linear_model"])
    >>> clean("Fit as `scipy.stats.norm.fit` of scipy.stats does.\\n\\n>>> f(1)\\n2\\n\\nMore.")
    'Fit as `fit` of does. More.'
    """
    roots = {label.split(".")[0] for label in labels} | _ALIASES
    parts = {part for label in labels for part in label.split(".")}
    mere = _ALIASES | {part for part in parts if part in _MERE_NAMES or "_" in part}
    bare = re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, sorted(mere)))})(?![\w-])", re.I)

    def shorten(match: re.Match[str]) -> str:
        names = match.group().split(".")
        if names[0] not in roots:
            return match.group()
        return "" if names[-1] in parts else names[-1]

    def clean(docstring: str) -> str:
        text = inspect.cleandoc(docstring)
        for pattern in (_DOCTEST, _HEADING, _DIRECTIVE, _IMPORT, _ADDRESS, _TEMPLATE):
            text = pattern.sub(" ", text)
        text = _DOTTED.sub(shorten, _ROLE.sub(r"\1", text))
        return " ".join(bare.sub(" ", text).split())

    return clean
