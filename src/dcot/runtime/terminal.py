"""Make untrusted text safe for a terminal."""

from __future__ import annotations

import re

# Control characters (a terminal obeys them), marks that reverse the direction of text, line
# separators, and lone surrogates. Joiners are kept, because Hindi and Persian need them.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\U000e0000-\U000e007f\ud800-\udfff]"
)
_UNSAFE_IN_JSON = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def printable(text: object) -> str:
    r"""Replace the characters that a terminal would obey by their escapes.

    Line breaks and tabs are kept. Documents, labels, file names and errors are passed through this
    function before they are shown.

    >>> printable("red \x1b[31m label")
    'red \\x1b[31m label'
    """
    return _UNSAFE.sub(lambda found: ascii(found[0])[1:-1], str(text))


def one_line(text: object) -> str:
    r"""Like ``printable``, with line breaks and tabs replaced by spaces.

    >>> one_line("two\nlines")
    'two lines'
    """
    return printable(" ".join(str(text).split("\n"))).replace("\t", " ")


def visible(term: str) -> str:
    """Return a term with the spaces at its ends visible, as n-grams of characters have them.

    >>> visible("tea"), visible(" te"), visible(" ")
    ('tea', '␣te', '␣')
    """
    inner = term.lstrip(" ")
    end = len(inner) - len(inner.rstrip(" "))
    return "␣" * (len(term) - len(inner)) + inner.rstrip(" ") + "␣" * end


def printable_json(text: str) -> str:
    r"""Escape control characters in JSON, without changing its meaning.

    >>> printable_json('"\x9b31m"')
    '"\\u009b31m"'
    """
    return _UNSAFE_IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
