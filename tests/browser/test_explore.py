"""Exploring in a real browser, by the paths of its users."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.unit.web.conftest import texts_and_topics

from dcot.web.documents import Documents
from dcot.web.explore.explorer import Explorer
from dcot.web.explore.subject import Corpus, learn_subject

pytestmark = pytest.mark.usefixtures("browser")
CONTRAST = (Path(__file__).parent / "contrast.js").read_text().partition("\n")[2]
VIEWS = (
    "/write?text=opec+and+wheat",
    "/words?word=opec&beside=wheat",
    "/documents?q=opec",
    "/documents?id=3",
    "/model",
)


@pytest.fixture(scope="module")
def explorer():
    texts, topics = texts_and_topics()
    metadata = [
        {"day": f"2024-01-{1 + place // 8:02d}", "place": "ab"[place % 2]}
        for place in range(len(texts))
    ]
    found = Explorer(learn_subject(Corpus(Documents.of(texts, name="news"), topics, metadata)))
    found.prepare()
    return found


@pytest.fixture(scope="module")
def served(explorer, exploring):
    return exploring(explorer)


def test_writing_is_translated_while_it_is_typed(page, served):
    page.goto(served.at("/"))
    page.get_by_label("Text", exact=True).fill("wheat exports of opec")
    page.get_by_role("region", name="Layer 1").get_by_role("button").first.wait_for()
    page.locator(".reading mark").first.wait_for()
    page.get_by_role("region", name="Classes").get_by_text("grain").wait_for()
    assert "text=wheat" in page.url
    page.get_by_role("region", name="Layer 1").get_by_role(
        "button", name=re.compile("^opec")
    ).click()
    page.get_by_text("share in opec in layer 1").wait_for()
    page.reload()
    page.get_by_role("region", name="Layer 1").get_by_role("button").first.wait_for()


def test_words_are_completed_compared_and_left_by_the_back_button(page, served):
    page.goto(served.at("/words"))
    page.get_by_role("combobox", name="Word").fill("op")
    page.get_by_role("option", name="opec").wait_for()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="opec").wait_for()
    page.get_by_role("combobox", name="Beside").fill("wheat")
    page.keyboard.press("Enter")
    page.get_by_role("article", name="wheat").get_by_role("heading", name="Used alike").wait_for()
    assert page.url.endswith("/words?word=opec&beside=wheat")
    with page.expect_download() as saved:
        page.get_by_role("button", name="Download CSV").click()
    assert "opec,neighbour,," in Path(saved.value.path()).read_text(encoding="utf-8-sig")
    page.get_by_role("article", name="opec").get_by_role("link", name="crude").first.click()
    page.get_by_role("heading", name="crude").wait_for()
    page.go_back()
    page.get_by_role("article", name="wheat").wait_for()
    page.goto(served.at("/words?word=opek"))
    page.get_by_role("link", name="opec").click()
    page.get_by_role("heading", name="opec").wait_for()


def test_documents_are_found_with_reasons_and_read(page, served):
    page.goto(served.at("/documents"))
    page.get_by_role("searchbox", name="Search").fill("opec output")
    page.keyboard.press("Enter")
    hit = page.get_by_role("article").first
    hit.get_by_text("Because of").wait_for()
    assert hit.locator("mark").count()
    hit.get_by_role("link").first.click()
    page.get_by_role("region", name="Document").locator("mark").first.wait_for()
    page.get_by_text("the similarity to “opec output”").wait_for()
    page.get_by_role("heading", name="Nearest in meaning").wait_for()
    page.go_back()
    page.get_by_text("The best 20 documents.").wait_for()


def test_a_cell_of_the_confusions_leads_to_its_documents(page, served):
    page.goto(served.at("/model"))
    page.get_by_role("region", name="Estimate").get_by_text("Accuracy to expect").wait_for()
    page.get_by_role("button", name="of oil taken for oil").click()
    page.get_by_role("article").first.wait_for()
    page.get_by_role("link", name="Back to the confusions").click()
    page.get_by_role("region", name="Model card").wait_for()
    with page.expect_download() as saved:
        page.get_by_role("button", name="Download Model card").click()
    assert Path(saved.value.path()).read_text().startswith("# A DCoTClassifier")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 900, 1400])
def test_narrow_dark_and_named(page, served, width, scheme):
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 844})
    for view in VIEWS:
        page.goto(served.at(view))
        page.locator("main .head").wait_for()
        page.wait_for_timeout(400)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), view
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, re.findall(r"\d+", ground)[:3])) < 200) == (scheme == "dark")
        assert page.evaluate(CONTRAST) >= 4.5, view
        nameless = page.evaluate(
            """() => [...document.querySelectorAll("button, a, input, select, textarea, canvas")]
              .filter((e) => e.checkVisibility())
              .filter((e) => !(e.innerText?.trim() || e.ariaLabel || e.labels?.length || e.title))
              .map((e) => e.outerHTML)"""
        )
        assert nameless == [], view
