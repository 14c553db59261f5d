"""Labelling in a real browser, by the paths of its users."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pytest
from tests.unit.web.conftest import texts_and_topics, wait

import dcot
from dcot.web.documents import Documents
from dcot.web.server import listen

pytestmark = pytest.mark.usefixtures("browser")
CONTRAST = (Path(__file__).parent / "contrast.js").read_text().partition("\n")[2]
HEADINGS = """() => [...document.querySelectorAll("main :is(h1, h2, h3, h4)")]
    .filter((one) => one.checkVisibility()).map((one) => Number(one.tagName[1]))
    .every((level, place, all) => level <= (place ? all[place - 1] + 1 : 1))"""  # none is left out


def labels_in(path):
    return [row for row in csv.DictReader(io.StringIO(path.read_text())) if row["label"]]


def shown(page):
    """The text of the document on the page."""
    return page.locator(".text").inner_text()


def topic_of(text):
    return "oil" if re.search("oil|opec|crude", text) else "grain"


def press_new_class(page, name):
    page.keyboard.press("c")
    page.get_by_role("combobox", name="Class").wait_for()
    page.keyboard.type(name)
    page.keyboard.press("Enter")


def wait_for_next(page, before):
    page.wait_for_function(
        "before => (document.querySelector('.text')?.innerText ?? '') !== before", arg=before
    )


def first_predictions(page, running, corpus):
    """Four labels, and the page with a prediction."""
    running.session.label({row: corpus[1][row] for row in (0, 1, 4, 5)}, "random")
    wait(lambda: running.session.learned.snapshot)
    page.goto(running.address)
    page.locator(".prediction b").wait_for(timeout=90_000)


def test_the_whole_loop_by_keyboard_alone(page, command, tmp_path):
    texts, _ = texts_and_topics()
    rows = "".join(f'"{text}"\n' for text in texts)
    (tmp_path / "news.csv").write_text("body\n" + rows)
    started = command("news.csv", "--text", "body", "-o", "labels.csv")
    page.goto(started.address)
    page.locator(".text").wait_for()
    keys = {}
    for _ in range(26):
        before = shown(page)
        topic = topic_of(before)
        if topic in keys:
            page.keyboard.press(keys[topic])
        else:
            press_new_class(page, topic)
            keys[topic] = str(len(keys) + 1)
        wait_for_next(page, before)
    path = tmp_path / "labels.csv"
    wait(lambda: len(labels_in(path)) == 26)
    for row in labels_in(path):
        assert row["label"] == topic_of(row["text"])
    # the prediction appears, and Enter accepts it
    page.locator(".prediction b").wait_for(timeout=90_000)
    before = shown(page)
    predicted = page.locator(".prediction b").inner_text()
    page.keyboard.press("Enter")
    wait(lambda: len(labels_in(path)) == 27)
    assert labels_in(path)[-1]["label"] == predicted
    page.keyboard.press("u")
    wait(lambda: len(labels_in(path)) == 26)
    assert shown(page) == before
    page.keyboard.press("s")
    wait_for_next(page, before)
    # the model is saved
    page.keyboard.press("m")
    page.locator("#save-model").wait_for()
    while page.evaluate("document.activeElement.id") != "save-model":
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.locator("#banner").get_by_text("Saved to").wait_for(timeout=60_000)
    model = dcot.load(tmp_path / "labels.model")
    assert model.predict(["opec oil", "wheat harvest"]).tolist() == ["oil", "grain"]


def test_resume_after_the_server_was_killed(page, command, tmp_path):
    texts, _ = texts_and_topics()
    (tmp_path / "news.txt").write_text("\n".join(texts) + "\n")
    with listen("127.0.0.1", 0) as free:
        port = str(free.getsockname()[1])
    arguments = ("news.txt", "-o", "labels.jsonl", "--classes", "oil,grain", "--port", port)
    started = command(*arguments)
    page.goto(started.address)
    page.locator(".text").wait_for()
    for _ in range(5):
        before = shown(page)
        page.keyboard.press("1" if topic_of(before) == "oil" else "2")
        wait_for_next(page, before)
    path = tmp_path / "labels.jsonl"
    wait(lambda: len(path.read_text().splitlines()) == 5)
    started.kill()
    page.keyboard.press("1")  # cannot be saved now
    page.get_by_text("Not saved yet").wait_for()
    kept = path.read_text()
    assert len(kept.splitlines()) == 5
    again = command(*arguments)
    assert path.read_text() == kept
    new = page.context.new_page()
    new.goto(again.address)
    new.locator(".tally li").first.wait_for()
    wait(lambda: len(path.read_text().splitlines()) == 6)  # the first page tries until it can
    assert path.read_text().startswith(kept)
    page.get_by_text("Not saved yet").wait_for(state="hidden")


def test_a_page_outlives_its_corpus_and_labels_the_text_it_shows(page, command, tmp_path):
    texts, _ = texts_and_topics()
    (tmp_path / "news.txt").write_text("\n".join(texts) + "\n")
    with listen("127.0.0.1", 0) as free:
        port = str(free.getsockname()[1])
    arguments = ("news.txt", "-o", "labels.jsonl", "--classes", "oil,grain", "--port", port)
    started = command(*arguments)
    page.goto(started.address)
    page.locator(".text").wait_for()
    started.kill()
    labelled = []
    for _ in range(2):
        labelled.append(shown(page))
        page.keyboard.press("1" if topic_of(labelled[-1]) == "oil" else "2")
        wait_for_next(page, labelled[-1])
    kept = [text for text in texts if text != labelled[1]]
    (tmp_path / "news.txt").write_text("\n".join(["a new line", *kept]) + "\n")
    page.route("**/api/state", lambda route: route.abort())
    page.context.new_page().goto(command(*arguments).address)
    lost = page.locator("#banner").get_by_text("not in the corpus any more")
    lost.wait_for()
    page.unroute("**/api/state")
    with page.expect_response(re.compile("/api/state$")):
        pass
    page.wait_for_timeout(200)
    assert lost.is_visible()  # although the page has noticed that the server is back
    page.locator("#banner").get_by_role("button", name="Close").click()
    lost.wait_for(state="hidden")
    lines = (tmp_path / "labels.jsonl").read_text().splitlines()
    assert [json.loads(line)["text"] for line in lines] == [labelled[0]]


def test_a_given_classifier_predicts_from_the_start(page, serving, corpus):
    documents, topics = corpus
    given = dcot.DCoTClassifier(random_state=0).fit(documents.texts, topics)
    running = serving(given=given)
    page.goto(running.address)
    page.locator(".prediction b").wait_for()
    assert page.locator(".prediction b").inner_text() == topic_of(shown(page))
    page.keyboard.press("Enter")
    wait(lambda: running.session.labels)
    page.keyboard.press("m")
    page.get_by_text("Adds your labels to the model you started from").wait_for()


def test_one_of_two_hundred_classes_is_found_by_typing(page, serving):
    running = serving(classes=[f"class {number}" for number in range(200)])
    page.goto(running.address)
    page.locator(".text").wait_for()
    page.keyboard.press("c")
    page.keyboard.type("150")
    page.get_by_role("option", name="class 150", exact=True).wait_for()
    page.keyboard.press("Enter")
    wait(lambda: [*running.session.labels.values()] == ["class 150"])


def test_the_exact_name_of_a_class_is_chosen_first(page, serving):
    running = serving(classes=("law and order", "law"))
    page.goto(running.address)
    page.locator(".text").wait_for()
    for _ in range(2):
        page.keyboard.press("c")
        page.keyboard.type("law")
        page.get_by_role("option", name="law", exact=True).wait_for()
        page.keyboard.press("Enter")
    wait(lambda: [*running.session.labels.values()] == ["law", "law"])


def test_keys_right_after_a_class_are_for_the_next_document(page, serving):
    running = serving(classes=("law", "oil"))
    page.goto(running.address)
    page.locator(".text").wait_for()
    page.keyboard.press("c")
    page.keyboard.type("law")
    page.get_by_role("option", name="law", exact=True).wait_for()
    # in one task of the page: nothing is drawn, and no dialog reports that it is closed, in between
    page.evaluate(
        """async () => {
            for (const key of ["Enter", "2"]) {
                const event = new KeyboardEvent("keydown", { key, bubbles: true });
                document.activeElement.dispatchEvent(event);
                for (let k = 0; k < 9; k += 1) await null;
            }
        }"""
    )
    wait(lambda: len(running.session.labels) == 2)
    assert [*running.session.labels.values()] == ["law", "oil"]


def test_a_key_that_is_held_labels_one_document(page, serving):
    running = serving(classes=("law", "oil"))
    page.goto(running.address)
    page.locator(".text").wait_for()
    before = shown(page)
    for _ in range(4):
        page.keyboard.down("1")
    page.keyboard.up("1")
    wait_for_next(page, before)
    page.keyboard.press("2")
    wait(lambda: "oil" in running.session.labels.values())
    assert [*running.session.labels.values()] == ["law", "oil"]


def test_enter_that_ends_a_composed_word_does_not_choose_the_class(page, serving):
    running = serving(classes=("law", "oil"))
    page.goto(running.address)
    page.locator(".text").wait_for()
    page.keyboard.press("c")
    field = page.get_by_role("combobox", name="Class")
    field.fill("法")
    field.dispatch_event("keydown", {"key": "Enter", "isComposing": True})
    assert field.is_visible()
    field.fill("法律")
    page.keyboard.press("Enter")
    wait(lambda: [*running.session.labels.values()] == ["法律"])


def test_what_is_read_stays_as_it_is_when_the_model_is_refitted(page, serving):
    texts = ["\n".join(f"line {k} oil opec wheat {j}" for k in range(99)) for j in range(30)]
    names = [f"class {number}" for number in range(30)]
    running = serving(Documents.of(texts), classes=names)
    session = running.session
    session.label({0: "class 3", 1: "class 4"}, "random")
    wait(lambda: session.learned.snapshot)
    page.goto(running.address)
    page.locator(".prediction b").wait_for()
    page.locator(".tally li").first.wait_for()
    row = texts.index(page.locator(".text").text_content())
    page.locator(".text").evaluate("element => { element.scrollTop = 300; }")
    page.get_by_role("button", name="class 4, key").focus()
    keys = page.locator(".classes kbd + .name").all_inner_texts()
    free = [other for other in range(30) if other != row]
    session.label({other: f"class {20 + other % 3}" for other in free[-9:]}, "random")
    page.get_by_text("11 of 30").wait_for()
    wait(lambda: session.learned.revision == session._revision)
    page.wait_for_timeout(1500)  # the page asks every second
    assert page.locator(".classes kbd + .name").all_inner_texts() == keys
    assert page.locator(".text").evaluate("element => element.scrollTop") == 300
    assert page.evaluate("document.activeElement.title") == "class 4"


def test_a_label_is_announced_with_the_next_document(page, serving):
    running = serving(classes=("oil", "grain"))
    page.goto(running.address)
    page.locator(".text").wait_for()
    page.keyboard.press("1")
    page.locator("#announce").get_by_text("Labelled oil. Next document.").wait_for(state="attached")


def test_a_dialog_over_another_has_its_own_name(page, serving):
    running = serving(classes=("law", "oil"))
    page.goto(running.address)
    page.get_by_role("button", name="Labels & model").click()
    page.get_by_role("button", name="Rename or merge law").click()
    assert page.get_by_role("dialog", name=re.compile("^Rename “law”")).count() == 1


def test_the_back_button_closes_a_dialog(page, serving):
    running = serving(classes=("law", "oil"))
    page.goto(running.at("/progress"))
    page.get_by_role("link", name="Label", exact=True).click()
    page.locator(".text").wait_for()
    page.keyboard.press("c")
    page.go_back()
    page.get_by_role("heading", name="Progress", exact=True).wait_for()
    assert page.locator("dialog").count() == 0


def test_a_document_whose_label_is_refused_is_shown_again(page, serving):
    running = serving(Documents.of(["crude oil", "opec oil", "wheat"]))
    page.goto(running.address)
    page.locator(".text").wait_for()
    before = shown(page)
    page.keyboard.press("c")
    page.get_by_role("combobox", name="Class").fill("a\x07b")
    page.keyboard.press("Enter")
    page.locator("#banner").get_by_text("Not saved: the name of a class").wait_for()
    for _ in range(3):
        page.locator(".text").wait_for()
        if shown(page) == before:
            break
        press_new_class(page, "oil")
        page.locator("#announce").get_by_text("Labelled").wait_for(state="attached")
        page.wait_for_timeout(300)
    assert shown(page) == before


def test_two_tabs_do_not_overwrite_each_other(page, browser, serving):
    running = serving(classes=("oil", "grain"))
    page.goto(running.address)
    page.locator(".text").wait_for()
    other = page.context.new_page()
    other.goto(running.address)
    other.locator(".text").wait_for()
    assert shown(page) != shown(other)
    row = running.session.documents.texts.index(shown(page))
    running.session.label({row: "grain"}, "random")  # somebody else was faster
    page.keyboard.press("1")
    page.get_by_text("perhaps in another tab").wait_for()
    assert running.session.labels[row] == "grain"
    page.get_by_role("button", name="Make it “oil”").click()
    wait(lambda: running.session.labels[row] == "oil")


def test_look_alikes_of_a_document_that_is_gone_are_not_shown(page, serving, corpus):
    running = serving(classes=("oil", "grain"))
    first_predictions(page, running, corpus)
    asked = []
    page.route("**/api/alike*", lambda route: asked.append(route))
    before = shown(page)
    page.keyboard.press("l")
    wait(lambda: page.wait_for_timeout(50) or asked)
    page.keyboard.press("2")
    wait_for_next(page, before)
    with page.expect_response("**/api/alike*"):
        asked[0].continue_()
    page.wait_for_timeout(100)
    assert page.locator(".text").is_visible()
    assert page.locator(".pick").count() == 0  # Enter would give them a class of another document


def test_enter_on_a_button_beside_look_alikes_is_for_the_button(page, serving, corpus):
    running = serving(classes=("oil", "grain"))
    first_predictions(page, running, corpus)
    page.keyboard.press("l")
    page.locator(".pick").first.wait_for()
    page.get_by_role("button", name="Back").focus()
    page.keyboard.press("Enter")
    page.locator(".text").wait_for()
    assert len(running.session.labels) == 4


def test_look_alikes_are_labelled_together(page, serving, corpus):
    running = serving(classes=("oil", "grain"))
    first_predictions(page, running, corpus)
    page.keyboard.press("l")
    page.locator(".pick").first.wait_for()
    count = page.locator(".pick").count()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Space")
    page.keyboard.press("Enter")
    wait(lambda: len(running.session.labels) == 4 + count - 1)
    page.keyboard.press("u")
    wait(lambda: len(running.session.labels) == 4)


def test_one_of_the_look_alikes_was_labelled_meanwhile(page, serving, corpus):
    running = serving(classes=("oil", "grain"))
    first_predictions(page, running, corpus)
    page.keyboard.press("l")
    page.locator(".pick").first.wait_for()
    texts = page.locator(".pick .snippet").all_inner_texts()
    row = running.session.documents.texts.index(texts[3])
    running.session.label({row: "other"}, "random")
    page.keyboard.press("Enter")
    page.locator("#banner").get_by_text(f"“{texts[3]}” is now labelled “other”").wait_for()
    wait(lambda: len(running.session.labels) == 4 + len(texts))  # all the others are saved
    assert running.session.labels[row] == "other"


def test_each_conflict_is_asked_about(page, serving):
    running = serving(classes=("oil", "grain"))
    page.goto(running.address)
    page.locator(".text").wait_for()
    asked, texts = [], []
    page.route("**/api/labels", lambda route: asked.append(route))
    for _ in range(2):
        texts.append(shown(page))
        page.keyboard.press("1")
        wait_for_next(page, texts[-1])
    rows = [running.session.documents.texts.index(text) for text in texts]
    running.session.label(dict.fromkeys(rows, "grain"), "random")
    page.unroute("**/api/labels")
    for text, row in zip(texts, rows, strict=True):
        page.locator("#banner").get_by_text(text).wait_for()
        page.get_by_role("button", name="Make it “oil”").click()
        wait(lambda row=row: running.session.labels[row] == "oil")


def test_seed_words_lead_to_documents(page, serving):
    running = serving()
    page.goto(running.at("/seeds"))
    page.get_by_label("Class", exact=True).fill("oil")
    page.get_by_label("Words").fill("opec")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="oil", exact=True).click()
    wait(lambda: running.session.seeds.get("oil") == ("opec", "oil"))
    page.locator("aside .snippet mark").first.wait_for()
    sizes = page.evaluate(
        """() => [...document.querySelectorAll(".chip button")]
            .map((one) => one.getBoundingClientRect())
            .map(({ width, height }) => Math.min(width, height))"""
    )
    assert min(sizes) >= 24  # large enough for a finger
    assert "/seeds?class=oil" in page.url
    page.reload()
    page.get_by_role("button", name="Remove opec").wait_for()


def test_proposals_appear_when_the_words_are_learned(page, serving):
    running = serving()
    running.session.set_seeds("oil", ["opec"])
    learned, running.session.space, running.session.phase = running.session.space, None, "learning"
    page.goto(running.at("/seeds"))
    page.get_by_text("Proposals will appear here").wait_for()
    running.session.space, running.session.phase = learned, "ready"
    page.locator("aside .snippet mark").first.wait_for()
    assert not page.get_by_text("Proposals will appear here").is_visible()


def test_late_proposals_are_not_those_of_another_class(page, serving):
    running = serving()
    running.session.set_seeds("oil", ["opec"])
    running.session.set_seeds("grain", ["wheat"])
    asked = []
    page.route("**/api/seeds/propose", lambda route: asked.append(route))
    page.goto(running.at("/seeds"))
    wait(lambda: page.wait_for_timeout(50) or asked)
    page.get_by_role("button", name=re.compile("^grain")).click()
    wait(lambda: page.wait_for_timeout(50) or len(asked) == 2)
    with page.expect_response("**/api/seeds/propose"):
        asked[1].continue_()
    page.locator("aside .snippet mark").first.wait_for()
    with page.expect_response("**/api/seeds/propose"):
        asked[0].continue_()
    page.wait_for_timeout(200)
    assert {*page.locator("aside .snippet mark").all_inner_texts()} == {"wheat"}


def test_a_file_is_imported_again_after_it_was_mended(page, serving, tmp_path):
    running = serving()
    path = tmp_path / "given.csv"
    page.goto(running.address)
    page.get_by_role("button", name="Labels & model").click()
    for content, said in (
        ("a,b\n1,2\n", "expected 'label'"),
        ("id,label\n1,oil\n", "1 label imported"),
    ):
        path.write_text(content)
        with page.expect_file_chooser() as chosen:
            page.get_by_role("button", name="Import labels").click()
        chosen.value.set_files(path)
        page.get_by_text(said).wait_for()


def test_doubtful_labels_are_shown_and_changed(page, serving, corpus):
    running = serving()
    labels = {row: corpus[1][row] for row in range(24)} | {0: "grain"}
    running.session.label(labels, "random")
    wait(lambda: running.session.progress.curve)
    page.goto(running.at("/doubtful"))
    page.get_by_role("button", name="Change to oil").first.click()
    wait(lambda: running.session.labels[0] == "oil")
    page.get_by_role("link", name="Progress").click()  # another address would ask, while it saves
    page.locator(".chart").wait_for()
    page.get_by_role("cell", name="grain").wait_for()


def test_classes_are_renamed_and_merged(page, serving, corpus):
    running = serving()
    running.session.label({0: "oil", 1: "crude", 4: "grain"}, "random")
    page.goto(running.address)
    page.get_by_role("button", name="Labels & model").click()
    page.get_by_role("button", name="Rename or merge crude").click()
    page.get_by_label("New name for crude").fill("oil")
    page.get_by_role("button", name="Merge", exact=True).click()
    wait(lambda: running.session.counts() == {"oil": 2, "grain": 1})


def test_a_dialog_that_is_opened_before_the_first_answer_stays_open(page, serving):
    running = serving()
    running.session.label({0: "oil"}, "random")
    asked = []
    page.route("**/api/state", lambda route: route.continue_() if asked else asked.append(route))
    page.goto(running.address)
    wait(lambda: page.wait_for_timeout(50) or asked)
    page.get_by_role("button", name="Labels & model").click()
    with page.expect_response("**/api/state"):
        asked[0].continue_()
    page.get_by_role("button", name="Rename or merge oil").wait_for()
    page.locator(".text").wait_for()  # the view is shown behind it
    assert page.locator("dialog[open]").is_visible()


def test_classes_that_differ_only_in_blanks_or_capitals(page, serving):
    running = serving(classes=("crude oil", "grain"))
    page.goto(running.address)
    page.locator(".text").wait_for()
    press_new_class(page, "Crude  Oil")  # the class that is there comes first
    wait(lambda: [*running.session.labels.values()] == ["crude oil"])
    page.keyboard.press("c")
    page.keyboard.type("Grain")
    page.get_by_text("differs from “grain” only in spaces or capital letters").click()
    wait(lambda: running.session.counts().get("Grain") == 1)
    page.locator("#banner").get_by_role("button", name="Merge …").click()
    page.get_by_role("button", name="Merge them").click()
    page.get_by_role("button", name="Merge", exact=True).click()
    wait(lambda: running.session.counts() == {"crude oil": 1, "grain": 1})


def test_a_dialog_is_closed_by_touch(page, serving):
    running = serving(classes=("a class with a name that is far too long for a phone", "oil"))
    running.session.label({0: "oil"}, "random")
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(running.address)
    for name in ("Keyboard help", "Labels & model", "New class …"):
        page.get_by_role("button", name=name).click()
        assert page.evaluate("document.querySelector('dialog').scrollWidth <= innerWidth")
        widths = "() => [...document.querySelectorAll('.manage .name')].map((e) => e.clientWidth)"
        assert all(width > 200 for width in page.evaluate(widths)[:1])  # it can be read
        page.get_by_role("button", name="Close").click()
        page.locator("dialog").wait_for(state="detached")


def test_a_label_waits_while_its_file_cannot_be_read(page, serving):
    running = serving(classes=("oil", "grain"))
    path = running.session.store.path
    page.goto(running.address)
    page.locator(".text").wait_for()
    before = shown(page)
    page.keyboard.press("1")
    wait(lambda: len(labels_in(path)) == 1)
    wait_for_next(page, before)  # until then, a key is not for the next document
    good = path.read_bytes()
    path.write_bytes(b"\xff")
    page.keyboard.press("2")
    page.get_by_text("Not saved yet").wait_for()
    path.write_bytes(good)
    wait(lambda: [row["label"] for row in labels_in(path)] == ["oil", "grain"])


def test_back_button_and_addresses(page, serving):
    running = serving()
    page.goto(running.address)
    page.get_by_role("link", name="Progress").click()
    page.get_by_role("heading", name="Progress", exact=True).wait_for()
    page.get_by_role("link", name="Seed words").click()
    page.get_by_role("heading", name="Seed words").wait_for()
    page.go_back()
    page.get_by_role("heading", name="Progress", exact=True).wait_for()
    page.go_back()
    page.locator(".text").wait_for()
    assert "token" not in page.url


def test_an_answer_for_a_view_that_was_left_is_not_lost(page, serving):
    running = serving()
    asked = []
    page.route("**/next?*", lambda route: asked.append(route))
    page.goto(running.address)
    wait(lambda: page.wait_for_timeout(50) or asked)
    page.get_by_role("link", name="Progress").click()
    page.get_by_role("heading", name="Progress", exact=True).wait_for()
    page.go_back()
    wait(lambda: page.wait_for_timeout(50) or len(asked) > 1)
    with page.expect_response("**/next?*"):
        asked[0].continue_()  # it was asked for the view that is gone
    page.wait_for_timeout(100)
    asked[1].continue_()
    page.unroute("**/next?*")
    page.locator(".text").wait_for()


def test_a_late_answer_does_not_draw_over_another_view(page, serving):
    running = serving()
    asked = []
    page.route("**/api/progress*", lambda route: asked.append(route))
    page.goto(running.address)
    page.locator(".text").wait_for()
    before = len(asked)
    page.get_by_role("link", name="Progress").click()
    wait(lambda: page.wait_for_timeout(50) or len(asked) > before)
    page.get_by_role("link", name="Seed words").click()
    page.get_by_role("heading", name="Seed words").wait_for()
    with page.expect_response("**/api/progress*"):
        asked[-1].continue_()
    page.wait_for_timeout(200)
    assert page.get_by_role("heading", name="Seed words").is_visible()
    assert not page.get_by_role("heading", name="Progress", exact=True).is_visible()
    page.unroute("**/api/progress*")


def test_another_order_is_chosen_while_documents_are_asked_for(page, serving, monkeypatch):
    running = serving(classes=("oil", "grain"), seeds={"oil": ("opec",)})
    for name in ("REFIT_LABELS", "REFIT_SECONDS"):  # a refit asks again
        monkeypatch.setattr(f"dcot.web.session.{name}", 10**6)
    page.goto(running.address)
    page.locator(".text").wait_for()
    asked = []
    page.route("**/next?*", lambda route: asked.append(route))
    for _ in range(5):
        before = shown(page)
        page.keyboard.press("1")
        wait_for_next(page, before)
    wait(lambda: page.wait_for_timeout(50) or asked)
    page.get_by_label("Next documents").select_option("oil")
    page.unroute("**/next?*")
    page.locator(".why").get_by_text("Closest to the seed words of oil").wait_for()


def test_labels_that_are_saved_late_do_not_end_a_corpus_without_words(page, serving):
    documents = Documents.of(["!" * (number + 1) for number in range(30)])
    running = serving(documents, classes=("a", "b"))
    page.goto(running.address)
    page.locator(".text").wait_for()
    page.route("**/api/labels", lambda route: None)
    while not page.get_by_text("One moment").is_visible():  # the next ones are always the same
        page.keyboard.press("1")
        page.wait_for_timeout(100)
    page.unroute("**/api/labels")
    page.locator(".text").wait_for()
    wait(lambda: len(running.session.labels) >= 8)


ATTACKS = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '"><svg onload=alert(1)>',
    "javascript:alert(1)",
    "{{7*7}}${7*7}",
]


def test_markup_is_shown_and_never_run(page, serving):
    texts = [f"{attack} oil {number}" for number, attack in enumerate(ATTACKS * 4)]
    documents = Documents.of(
        texts, ids=[f"{attack}{n}" for n, attack in enumerate(ATTACKS * 4)], name=ATTACKS[1]
    )
    running = serving(documents, classes=ATTACKS[:3])
    session = running.session
    session.label({row: ATTACKS[row % 3] for row in range(12)}, "random")
    session.set_seeds(ATTACKS[0], ["oil", ATTACKS[1]])
    wait(lambda: session.learned.snapshot)
    for view in ("/label", "/seeds", "/progress", "/doubtful"):
        page.goto(running.at(view))
        page.wait_for_timeout(400)
        assert page.locator("main script, main img, main svg[onload]").count() == 0
        assert page.locator("#corpus").inner_text() == ATTACKS[1]
    page.goto(running.at("/label"))
    page.locator(".text").wait_for()
    assert any(attack in shown(page) for attack in ATTACKS)
    assert page.locator(".class .name").first.inner_text() == ATTACKS[0]
    press_new_class(page, ATTACKS[4] + "<b>")
    wait(lambda: ATTACKS[4] + "<b>" in session.counts())
    page.keyboard.press("m")
    page.get_by_role("button", name=f"Rename or merge {ATTACKS[0]}").wait_for()


ODD = ["", "😀 " * 50, "שלום עולם מה שלומך", "word " * 200_000, "a\u0000b\u202egnp.exe", " \n\t "]


def test_odd_documents_are_shown(page, serving):
    running = serving(Documents.of([*ODD, "crude oil", "wheat"]), classes=("a", "b"))
    page.goto(running.address)
    page.locator(".text").wait_for()
    for place in range(len(ODD) + 2):
        page.locator(".text").wait_for()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        page.keyboard.press("12"[place % 2])
        wait(lambda place=place: len(running.session.labels) == place + 1)
    page.get_by_text("Every document is labelled").wait_for()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 768])
def test_narrow_and_dark(page, serving, corpus, width, scheme):
    running = serving()
    running.session.label({row: corpus[1][row] for row in range(24)} | {0: "grain"}, "random")
    wait(lambda: running.session.progress.curve)
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 844})
    for view in ("/label", "/seeds", "/progress", "/doubtful"):
        page.goto(running.at(view))
        page.locator("main > *").first.wait_for()
        page.wait_for_timeout(200)
        page.evaluate(  # as in a corpus that is larger
            """() => {
                document.getElementById("doubtful-count").textContent = "123";
                document.getElementById("status").textContent = "1,234 of 56,789";
            }"""
        )
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), view
        assert page.evaluate(HEADINGS), view
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
        dark = sum(map(int, re.findall(r"\d+", ground)[:3])) < 200
        assert dark == (scheme == "dark")
        assert page.evaluate(CONTRAST) >= 4.5, view


def test_everything_has_a_name_for_screen_readers(page, serving, corpus):
    running = serving()
    running.session.label({row: corpus[1][row] for row in range(24)} | {0: "grain"}, "random")
    wait(lambda: running.session.progress.curve)
    for view in ("/label", "/seeds", "/progress", "/doubtful"):
        page.goto(running.at(view))
        page.locator("main > *").first.wait_for()
        page.wait_for_timeout(200)
        nameless = page.evaluate(
            """() => [...document.querySelectorAll("button, a, input, select, [role=img]")]
              .filter((e) => e.checkVisibility())
              .filter((e) => !(e.innerText?.trim() || e.ariaLabel || e.labels?.length || e.title))
              .map((e) => e.outerHTML)"""
        )
        assert nameless == []
