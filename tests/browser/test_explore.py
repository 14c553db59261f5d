"""Exploring in a real browser, by the paths of its users."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlencode

import pytest
from tests.browser.test_label import HEADINGS
from tests.unit.web.conftest import texts_and_topics

from dcot import DCoTClassifier, DCoTVectorizer
from dcot.web.documents import Documents
from dcot.web.explore.explorer import Explorer
from dcot.web.explore.export import export_page
from dcot.web.explore.subject import Corpus, learn_subject, subject_of

pytestmark = pytest.mark.usefixtures("browser")
CONTRAST = (Path(__file__).parent / "contrast.js").read_text().partition("\n")[2]
VIEWS = (
    "/write?text=opec+and+wheat",
    "/words?word=opec&beside=wheat",
    "/map",
    "/map?of=words",
    "/documents?q=opec",
    "/documents?id=3",
    "/model",
)


@pytest.fixture(scope="module")
def explorer():
    texts, topics = texts_and_topics()
    metadata = [
        {"day": f"2024-01-{1 + place // 8:02d}", "place": "ab"[place % 2], "length": place % 40}
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
    page.get_by_role("combobox", name="Compare with").fill("wheat")
    page.keyboard.press("Enter")
    page.get_by_role("article", name="wheat").get_by_role(
        "heading", name="Used in the same way"
    ).wait_for()
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
    page.get_by_role("button", name="labelled oil, predicted oil").click()
    page.get_by_role("article").first.wait_for()
    page.get_by_role("link", name="Back to the confusions").click()
    page.get_by_role("region", name="Model card").wait_for()
    with page.expect_download() as saved:
        page.get_by_role("button", name="Download Model card").click()
    assert Path(saved.value.path()).read_text().startswith("# A DCoTClassifier")


def drawn(page):
    canvas = page.locator("canvas.map[data-drawn]")
    canvas.wait_for()
    return canvas


def test_the_map_is_searched_filtered_and_a_region_is_labelled(page, served, tmp_path):
    served.explorer.labels_path = tmp_path / "labels.csv"
    page.goto(served.at("/map"))
    canvas = drawn(page)
    page.get_by_role("searchbox", name="Search on the map").fill("opec")
    page.keyboard.press("Enter")
    page.locator(".map-tools").get_by_text("documents found").wait_for()
    assert "q=opec" in page.url
    page.get_by_label("Colour").select_option("place")
    page.get_by_role("button", name="a 48").click()
    page.get_by_role("slider", name="day to").fill("30000")
    box = canvas.bounding_box()
    middle = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.get_by_role("button", name="Select a region").click()
    page.mouse.move(box["x"] + 3, box["y"] + 3)
    page.mouse.down()
    for x, y in ((0.7, 0), (0.85, 0.3), (1, 1), (0, 1), (0, 0.3)):
        page.mouse.move(
            box["x"] + 3 + x * (box["width"] - 6), box["y"] + 3 + y * (box["height"] - 6)
        )
    page.mouse.up()
    page.get_by_role("heading", name="Words that set them apart").wait_for()
    count = int(page.locator(".panel h2").inner_text().split()[0])
    assert 0 < count < 48  # one place, and the first days alone
    examples = page.locator(".panel .snippet")
    assert examples.count() == min(count, 5)
    assert "object" not in page.locator(".panel").inner_text()
    with page.expect_download() as saved:
        page.locator(".panel").get_by_role("button", name="Download CSV").click()
    assert len(Path(saved.value.path()).read_text().splitlines()) == count + 1
    page.get_by_label("Label these documents").fill("early")
    page.keyboard.press("Enter")
    page.get_by_text("saved to labels.csv").wait_for()
    served.explorer.close()
    assert (tmp_path / "labels.csv").read_text().count(",early,region,") == count
    page.mouse.move(*middle)
    page.mouse.wheel(0, -600)
    page.wait_for_function("() => location.search.includes('zoom=')")
    with page.expect_download() as saved:
        page.get_by_role("button", name="Download PNG").click()
    assert Path(saved.value.path()).read_bytes().startswith(b"\x89PNG")


def test_the_map_says_that_nothing_was_found(page, served):
    page.goto(served.at("/map"))
    drawn(page)
    page.get_by_role("searchbox", name="Search on the map").fill("xyzzy")
    page.keyboard.press("Enter")
    said = "Nothing found: the model knows none of these words"
    page.locator(".map-tools").get_by_text(said).wait_for()


def test_filters_of_the_map_are_in_its_address(page, served):
    page.goto(served.at("/map?colour=length"))
    drawn(page)
    page.get_by_role("slider", name="length to").fill("20000")
    page.get_by_role("slider", name="day from").fill("9000")
    page.wait_for_function("() => location.search.includes('range=0.20000')")
    assert "period=9000.65534" in page.url
    page.reload()
    drawn(page)
    assert page.get_by_role("slider", name="length to").input_value() == "20000"
    page.get_by_role("button", name="Select everything in view").click()
    page.locator(".panel h2").get_by_text("documents").wait_for()
    count = page.locator(".panel h2").inner_text()
    assert 0 < int(count.split()[0]) < 48
    page.reload()  # the region is in the address, too
    page.get_by_role("heading", name=count, exact=True).wait_for()
    page.get_by_label("Colour").select_option("place")  # the numbers are not filtered any more
    assert page.get_by_role("slider", name="length to").count() == 0
    page.get_by_role("button", name="b 48").click()
    page.wait_for_function("() => location.search.includes('only=1')")
    assert "range" not in page.url
    page.reload()
    drawn(page)
    page.locator(".key-row[aria-pressed=true]").get_by_text("b", exact=True).wait_for()


def test_all_documents_are_not_set_apart_from_any(page, served):
    page.goto(served.at("/map"))
    drawn(page)
    page.get_by_role("button", name="Select everything in view").click()
    page.get_by_text("These are all the documents").wait_for()
    assert page.locator(".panel .chip").count() == 0


def test_a_better_map_takes_the_place_of_the_first(page, exploring):
    texts, _ = texts_and_topics()
    explorer = Explorer(learn_subject(Corpus(Documents.of(texts, name="news"))))
    explorer.prepare()
    explorer.phase = "refining"  # as if the better map were still to come
    page.goto(exploring(explorer).at("/map"))
    drawn(page)
    page.get_by_text("drawing a better map").wait_for()
    page.get_by_role("button", name="Zoom in").click()
    page.wait_for_function("() => location.search.includes('zoom=')")
    with page.expect_response("**/api/map"):
        explorer.phase = "judging"
    drawn(page)
    assert "zoom=1.5" in page.url
    page.get_by_role("button", name="Select everything in view").click()
    page.get_by_role("button", name="Clear").wait_for()
    explorer.phase = "ready"
    page.locator("#status").get_by_text("96 documents").wait_for()
    page.get_by_role("button", name="Clear").wait_for()  # what was selected is still there


def test_the_map_by_keyboard(page, served):
    page.goto(served.at("/map"))
    drawn(page).focus()
    page.keyboard.press("Enter")
    page.get_by_role("link", name="Read the document").click()
    page.get_by_role("link", name="Show it on the map").click()
    page.get_by_role("heading", name="Document").wait_for()
    assert "row=" in page.url
    page.get_by_role("button", name="Words", exact=True).click()
    drawn(page).focus()
    page.keyboard.press("+")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Used in the same way").wait_for()


ATTACKS = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '"><svg onload=alert(1)>',
    "javascript:alert(1)",
    "</script><script>alert(1)</script>",
]


@pytest.fixture(scope="module")
def attacked():
    """Markup in texts, words, labels, ids, names of columns and their values."""
    rows = range(60)
    texts = [f"{ATTACKS[row % 5]} oil {'crude' if row % 2 else 'wheat'} {row}" for row in rows]
    ids = [f"{ATTACKS[row % 5]}{row}" for row in rows]
    metadata = [{ATTACKS[1]: ATTACKS[row % 3], ATTACKS[0]: f"19{row + 10}"} for row in rows]
    labels = [ATTACKS[row % 2] for row in rows]
    model = DCoTClassifier(
        vectorizer=DCoTVectorizer(token_pattern=r"(?u)\S+", n_prototypes=20), random_state=0
    ).fit(texts, labels)
    corpus = Corpus(Documents.of(texts, ids, ATTACKS[1]), labels, metadata)
    found = Explorer(subject_of(model, ATTACKS[1], corpus))
    found.prepare()
    return found


def look_for_markup(page, go):
    quoted = {"word": ATTACKS[1], "text": ATTACKS[0], "q": ATTACKS[2], "id": f"{ATTACKS[3]}3"}
    cell = {"given": ATTACKS[0], "predicted": ATTACKS[1]}
    for path, query in (
        ("/write", {"text": quoted["text"]}),
        ("/words", {"word": quoted["word"], "beside": "oil"}),
        ("/words", {"word": ATTACKS[0] + "x"}),
        ("/map", {"colour": ATTACKS[1], "row": 1}),
        ("/map", {"of": "words"}),
        ("/documents", {"q": quoted["q"]}),
        ("/documents", {"id": quoted["id"]}),
        ("/documents", cell),
        ("/model", {}),
    ):
        go(f"{path}?{urlencode(query)}")
        page.wait_for_timeout(500)
        assert page.locator("main script, main img, main svg[onload]").count() == 0, path
        assert page.locator("main a[href^='javascript']").count() == 0, path
        assert page.locator("#corpus").inner_text() == ATTACKS[1]


def test_markup_is_shown_and_never_run(page, attacked, exploring, tmp_path):
    served = exploring(attacked)
    look_for_markup(page, lambda path: page.goto(served.at(path)))
    export_page(attacked).save(tmp_path / "page.html")
    for path in ("/write?text=oil", "/words?word=oil", "/map", "/documents?q=crude", "/model"):
        page.goto(f"file://{tmp_path}/page.html#{path}")
        page.reload()
        page.wait_for_timeout(400)
        assert page.locator("main script, main img, main svg[onload]").count() == 0, path
        assert page.locator("#corpus").inner_text() == ATTACKS[1]
    page.goto(served.at("/documents?" + urlencode({"q": "crude"})))
    page.get_by_role("article").first.wait_for()
    assert any(attack in page.locator("main").inner_text() for attack in ATTACKS)


def test_an_exported_page_has_every_view_without_a_server(page, explorer, tmp_path):
    export_page(explorer).save(tmp_path / "page.html")
    page.goto(f"file://{tmp_path}/page.html")
    page.get_by_label("Text", exact=True).fill("wheat exports of opec")
    page.get_by_role("region", name="Layer 2").get_by_role("button").first.wait_for()
    page.locator(".reading mark").first.wait_for()
    page.get_by_role("link", name="Words").click()
    page.get_by_role("combobox", name="Word").fill("op")
    page.get_by_role("option", name="opec").click()
    page.get_by_role("heading", name="Used in the same way").wait_for()
    assert page.url.endswith("#/words?word=opec")
    near = page.locator("section", has_text="Used in the same way").locator(".bars .name")
    model = explorer.subject.vectorizer.similar_terms("opec", 5)
    assert {*near.all_inner_texts()[:5]} == {*model.terms}  # some are equally near
    page.get_by_role("link", name="Documents", exact=True).click()
    page.get_by_role("searchbox", name="Search").fill("opec output")
    page.keyboard.press("Enter")
    page.get_by_role("article").first.get_by_text("Because of").wait_for()
    assert "opec" in page.get_by_role("article").first.inner_text()
    page.get_by_role("article").first.get_by_role("link").first.click()
    page.get_by_role("heading", name="Nearest in meaning").wait_for()
    page.go_back()
    page.get_by_text("The best").wait_for()
    page.get_by_role("link", name="Map", exact=True).click()
    drawn(page)
    page.get_by_role("button", name="Select everything in view").click()
    page.get_by_role("heading", name="96 documents").wait_for()
    page.get_by_role("link", name="Model", exact=True).click()
    page.get_by_role("button", name="labelled oil, predicted oil").click()
    page.get_by_role("article").first.wait_for()


def test_an_exported_page_has_nearly_the_numbers_of_the_live_one(page, served, explorer, tmp_path):
    export_page(explorer).save(tmp_path / "page.html")
    page.goto(f"file://{tmp_path}/page.html")

    def numbers(pattern, view):
        """Numbers on the live page, and on the exported one."""
        found = []
        for address in (served.at(view), f"file://{tmp_path}/page.html#{view}"):
            page.goto(address)
            page.get_by_text(re.compile(pattern)).first.wait_for()
            found.append([*map(float, re.findall(pattern, page.locator("main").inner_text()))])
        return found

    for word in ("prices", "opec", "kansas"):
        live, exported = numbers("number ([0-9]+) of", f"/words?word={word}")
        assert exported == live  # words that are equally frequent share their rank
    for view in ("/documents?id=3", "/documents?q=opec"):
        live, exported = numbers("cosine ([0-9.]+)", view)
        assert exported == pytest.approx(live, abs=0.1)


def test_a_notebook_shows_the_page(page, explorer, tmp_path):
    found = explorer.subject.classifier.explore(explorer.corpus.documents.texts)
    (tmp_path / "notebook.html").write_text(f"<!doctype html>{found._repr_html_()}")
    page.goto(f"file://{tmp_path}/notebook.html")
    inside = page.frame_locator("iframe")
    inside.get_by_role("link", name="Words").click()
    inside.get_by_role("link", name="opec", exact=True).click()
    inside.get_by_role("heading", name="Used in the same way").wait_for()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 900, 1400])
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
        assert page.evaluate(HEADINGS), view
        title = page.locator(".head h1")
        assert title.evaluate("element => element.scrollWidth <= element.clientWidth"), view
        nameless = page.evaluate(
            """() => [...document.querySelectorAll("button, a, input, select, textarea, canvas")]
              .filter((e) => e.checkVisibility())
              .filter((e) => !(e.innerText?.trim() || e.ariaLabel || e.labels?.length || e.title))
              .map((e) => e.outerHTML)"""
        )
        assert nameless == [], view
