"""Stories out of small pieces of SGML, broken ones included."""

from __future__ import annotations

import pytest
from tests.trust.fuzzing import bounded

from dcot.datasets._reuters import Story, _choose, _text, parse_sgml


def sgml(text: str, topics: str = "", split: str = "TRAIN", kind: str = "") -> bytes:
    marked = "".join(f"<D>{topic}</D>" for topic in topics.split())
    return (
        f'<REUTERS TOPICS="YES" LEWISSPLIT="{split}" CGISPLIT="X" OLDID="1" NEWID="2">\n'
        f"<DATE>26-FEB-1987</DATE><TOPICS>{marked}</TOPICS><PLACES><D>usa</D></PLACES>\n"
        f"<UNKNOWN>&#5;&#22;&#1;f0704</UNKNOWN>\n<TEXT{kind}>&#2;\n{text}&#3;</TEXT>\n</REUTERS>\n"
    ).encode("latin-1")


def one(content: bytes) -> Story:
    [story] = parse_sgml(content)
    return story


def test_title_and_body() -> None:
    story = one(
        sgml(
            "<TITLE>OIL\nPRICES  UP</TITLE>\n<AUTHOR>by A.</AUTHOR>"
            "<DATELINE> TEXAS, Feb 26 - </DATELINE><BODY>Crude rose.\n    More.\n&#3;</BODY>",
            "crude nat-gas",
            "TEST",
        )
    )
    assert story == Story(
        "TEST", True, ("crude", "nat-gas"), "OIL PRICES UP", "Crude rose.\n    More."
    )


def test_entities() -> None:
    story = one(sgml("<TITLE>AT&amp;T &lt;T></TITLE><BODY>5 &gt; 4, &amp;lt; stays</BODY>"))
    assert story.title == "AT&T <T>"
    assert story.body == "5 > 4, &lt; stays"


def test_broken_bytes_and_control_characters_part_words() -> None:
    story = one(sgml("<BODY>growth.\xfc&#5;&#30;side\x00measures&#127;end</BODY>"))
    assert story.body.split() == ["growth.", "side", "measures", "end"]


def test_brief_has_its_title_only() -> None:
    story = one(sgml("******<TITLE>FED SETS RATE</TITLE>Filler text.", kind=' TYPE="BRIEF"'))
    assert (story.title, story.body) == ("FED SETS RATE", "")


def test_unprocessed_is_all_body() -> None:
    story = one(sgml("RESERVES 1 - FEB\n  Net  644", kind=' TYPE="UNPROC"'))
    assert (story.title, story.body) == ("", "RESERVES 1 - FEB\n  Net  644")


def test_many_stories_and_none() -> None:
    stories = list(
        parse_sgml(b"<!DOCTYPE lewis>\n" + sgml("<BODY>a</BODY>") + sgml("<BODY>b</BODY>"))
    )
    assert [story.body for story in stories] == ["a", "b"]
    assert list(parse_sgml(b"\xff\xfe not sgml")) == []


def test_a_story_without_text_is_empty() -> None:
    story = one(b'<REUTERS TOPICS="NO" LEWISSPLIT="NOT-USED"></REUTERS>')
    assert story == Story("NOT-USED", False, (), "", "")


def test_subsets() -> None:
    def story(split: str, *topics: str, used: bool = True) -> Story:
        return Story(split, used, topics, "", "")

    stories = [
        story("TRAIN", "earn"),
        story("TRAIN", "earn", "acq"),
        story("TRAIN", "cocoa"),
        story("TRAIN"),
        story("TRAIN", "gold"),
        story("TEST", "earn"),
        story("TEST", "gold"),
        story("TEST", "tea"),
        story("TEST", "earn", used=False),
        story("NOT-USED", "earn"),
    ]
    sizes = {
        subset: (len(_choose(stories, "TRAIN", subset)), len(_choose(stories, "TEST", subset)))
        for subset in ("modapte", "single", "r52", "r8")
    }
    assert sizes == {"modapte": (5, 3), "single": (3, 3), "r52": (2, 2), "r8": (1, 1)}


@pytest.mark.parametrize(
    ("what", "expected"), [("title+body", "T\n\nB"), ("title", "T"), ("body", "B")]
)
def test_text(what: str, expected: str) -> None:
    assert _text(Story("TRAIN", True, (), "T", "B"), what) == expected
    assert _text(Story("TRAIN", True, (), "T", ""), "title+body") == "T"


@pytest.mark.parametrize(
    "damaged",
    [b"<REUTERS>", b"<REUTERS", b"<REUTERS><TEXT>", b"<TEXT <TEXT ", b"a", b"<TOPICS><D>"],
)
def test_damaged_files_take_no_longer(damaged):
    """Openings that are never closed; looking for the end from each of them took minutes."""
    many = damaged * (1_000_000 // len(damaged))
    with bounded():
        assert list(parse_sgml(many)) == []
        [story] = parse_sgml(sgml(many.decode()))
    assert story.title == ""
