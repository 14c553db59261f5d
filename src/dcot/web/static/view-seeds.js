// Seed words: a few words for a class, more of them proposed, and documents ranked by them.

import { post } from "./api.js";
import { announce, h, plural, shaded } from "./dom.js";
import { listen, state, update } from "./state.js";

const SHOWN = 20; // classes to click

export function seedsView(root) {
  const wanted = new URLSearchParams(location.search).get("class");
  let name = wanted || state.classes.find((one) => one.seeds.length)?.name || state.classes[0]?.name || "";
  let words = [], rejected = [], asked = 0;
  const nameInput = h("input", { type: "text", id: "seed-class", value: name, maxLength: 200, placeholder: "oil", list: "known-classes", autocomplete: "off" });
  const wordInput = h("input", { type: "text", id: "seed-words", maxLength: 400, placeholder: "opec, crude, …", autocomplete: "off", spellcheck: false });
  const known = h("div.chips.few", { role: "group", "aria-label": "Classes" });
  const chosen = h("div.chips.kept"), proposals = h("div.chips"), documents = h("div.stack"), message = h("p.small.muted", { role: "status" });

  root.append(
    h("h1", {}, "Seed words"),
    h("p.lead", {}, "Type a few words that are typical of a class. The page proposes more words that are used in the same way. With words for two classes, there are predictions before you label anything."),
    h("div.grid", { style: { "margin-top": "24px" } },
      h("div.stack", {},
        h("section.card.pad.stack", {},
          h("div.field", {}, h("label", { htmlFor: "seed-class" }, h("h2", {}, "Class")), nameInput, h("datalist", { id: "known-classes" }, state.classes.map((one) => h("option", { value: one.name })))),
          known,
          h("form.stack", { onsubmit: (event) => { event.preventDefault(); add(wordInput.value.split(/[,;]+/)); wordInput.value = ""; } },
            h("div.field", {}, h("label", { htmlFor: "seed-words" }, h("h2", {}, "Words")), h("div.row", { style: { "flex-wrap": "nowrap" } }, wordInput, h("button.primary", {}, "Add")))),
          chosen, message),
        h("section.card.pad.stack", {}, h("h2", {}, "Proposed"), h("p.muted.small", {}, "Words that are used like yours. Click one to add it, × to reject it."), proposals)),
      h("aside.stack", { "aria-label": "Documents found" }, h("h2", {}, "Closest documents"), documents)));
  nameInput.addEventListener("change", () => load(nameInput.value.trim()));

  /** The first classes, to go from one to the other; the rest can be typed. */
  function drawKnown() {
    known.replaceChildren(...state.classes.slice(0, SHOWN).map((one) => h("button.chip", { dir: "auto", "aria-pressed": String(one.name === name), onclick: () => { nameInput.value = one.name; load(one.name); } }, h("span.name", { title: one.name }, one.name),
      one.seeds.length > 0 && h("span.muted.small", { "aria-label": plural(one.seeds.length, "word") }, one.seeds.length))));
  }

  function load(next) {
    name = next;
    words = [...(state.classes.find((one) => one.name === name)?.seeds || [])];
    rejected = [];
    history.replaceState({}, "", name ? `/seeds?class=${encodeURIComponent(name)}` : "/seeds");
    draw().catch(fail);
  }

  function fail(error) {
    message.textContent = error.message;
  }

  async function add(given) {
    if (!name) {
      name = nameInput.value.trim();
      if (!name) return nameInput.focus();
    }
    words = [...new Set([...words, ...given.map((word) => word.trim().toLowerCase()).filter(Boolean)])];
    await save();
  }

  async function save() {
    try {
      update(await post("/seeds", { name, words }));
      await draw();
    } catch (error) {
      fail(error);
    }
  }

  async function draw() {
    drawKnown();
    chosen.replaceChildren(...words.map((word) => h("span.chip.chosen", { dir: "auto" }, word,
      h("button", { "aria-label": `Remove ${word}`, onclick: () => { words = words.filter((one) => one !== word); save(); } }, "×"))));
    if (state.phase === "learning") message.textContent = "The model is still learning what the words mean. Proposals will appear here.";
    if (words.length && !proposals.children.length) proposals.replaceChildren(h("span.muted.small", {}, "One moment …"));
    const number = ++asked;
    const found = words.length ? await post("/seeds/propose", { words, rejected }) : { words: [], unknown: [], documents: [] };
    if (number !== asked) return; // for words that were changed meanwhile, or for another class
    for (const [k, word] of words.entries()) chosen.children[k]?.classList.toggle("unknown", found.unknown.includes(word));
    if (state.phase !== "learning") message.textContent = found.unknown.length ? `Not in the documents: ${found.unknown.join(", ")}` : "";
    proposals.replaceChildren(...found.words.map((one) => h("span.chip", { dir: "auto" },
      h("button", { style: { color: "inherit" }, title: `like ${one.because.join(", ")}`, onclick: () => { announce(`${one.word} added.`); add([one.word]); } }, one.word),
      h("button", { "aria-label": `Reject ${one.word}`, onclick: () => { rejected.push(one.word); draw().catch(fail); } }, "×"))));
    if (!found.words.length) proposals.replaceChildren(h("span.muted.small", {}, words.length ? "No more words." : "Add a word first."));
    documents.replaceChildren(...found.documents.map((one) => h("div.card.pad", {}, h("p.snippet", { dir: "auto" }, shaded(one.pieces)))));
    documents.append(found.documents.length ? h("p", {}, h("a", { href: "/label", "data-view": "" }, "Label documents")) : h("p.muted.small", {}, "Documents with these words, or with words like them, appear here."));
  }

  if (name) load(name);
  else { draw().catch(fail); nameInput.focus(); }
  return listen((before, now) => {
    if (before.phase !== now.phase) draw().catch(fail);
  });
}
