"""Stories from the SGML of Reuters-21578: attributes, topics, title and body, as clean text.

The distribution is ASCII in an SGML of its own. Control characters come as numeric entities,
and one byte is broken (line noise in the middle of a story): both become blanks, so that the
words beside them are not joined.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["Story", "parse_sgml"]

_STORY = re.compile(r"<REUTERS\b([^>]*)>(.*?)</REUTERS>", re.DOTALL)
_ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')
_TEXT = re.compile(r"<TEXT\b([^>]*)>(.*?)</TEXT>", re.DOTALL)
_TAG = re.compile(r"<[^>]*>")
_TOPIC = re.compile(r"<D>(.*?)</D>", re.DOTALL)
_CONTROL = re.compile(r"&#(?:[0-9]|[12][0-9]|3[01]|127);|[\x00-\x08\x0b-\x1f\x7f\ufffd]")
_FIELDS = {
    name: re.compile(rf"<{name}>(.*?)</{name}>", re.DOTALL) for name in ("TITLE", "BODY", "TOPICS")
}


@dataclass(frozen=True)
class Story:
    """One story: ``split`` is LEWISSPLIT, ``has_topics`` the TOPICS attribute being YES."""

    split: str
    has_topics: bool
    topics: tuple[str, ...]
    title: str
    body: str


def parse_sgml(content: bytes) -> Iterator[Story]:
    """All stories of one SGML file, in its order.

    >>> text = b'<TEXT><TITLE>AT&amp;T</TITLE><BODY>Up&#3;&lt;T>.\\xfc</BODY></TEXT>'
    >>> head = b'<REUTERS TOPICS="YES" LEWISSPLIT="TEST"><TOPICS><D>earn</D></TOPICS>'
    >>> [story] = parse_sgml(head + text + b'</REUTERS>')
    >>> story.topics, story.title, story.body
    (('earn',), 'AT&T', 'Up <T>.')
    """
    for head, inside in _STORY.findall(content.decode("ascii", errors="replace")):
        attributes = dict(_ATTRIBUTE.findall(head))
        title, body = _title_and_body(inside)
        yield Story(
            split=attributes.get("LEWISSPLIT", ""),
            has_topics=attributes.get("TOPICS") == "YES",
            topics=tuple(_plain(topic) for topic in _TOPIC.findall(_field("TOPICS", inside))),
            title=title,
            body=body,
        )


def _title_and_body(inside: str) -> tuple[str, str]:
    found = _TEXT.search(inside)
    if found is None:
        return "", ""
    kind, text = found.groups()
    if "UNPROC" in kind:  # the story as it came over the wire, with no elements inside
        return "", _plain(_TAG.sub(" ", text))
    # What follows the title of a BRIEF is filler of the distribution, and not in a BODY.
    return " ".join(_plain(_field("TITLE", text)).split()), _plain(_field("BODY", text))


def _field(name: str, text: str) -> str:
    found = _FIELDS[name].search(text)
    return found.group(1) if found else ""


def _plain(text: str) -> str:
    return html.unescape(_CONTROL.sub(" ", text)).strip()
