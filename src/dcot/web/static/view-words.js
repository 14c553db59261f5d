// Words: what a word is translated into, what is near it, and what is translated into it.

import { h, plural, whole } from "./dom.js";
import { layerColumns, layerRows, rankedWords } from "./layers.js";
import { go, link } from "./route.js";
import { download, head, saveCsv } from "./save.js";
import { get } from "./source.js";

export function wordsView(root, query, about) {
  const shown = [];
  const one = wordField({ label: "Word", value: query.word || "", placeholder: "Type a word", choose: (word) => go("/words", { word, beside: word ? query.beside : "" }) });
  const two = wordField({ label: "Compare with", value: query.beside || "", placeholder: "Another word", choose: (beside) => go("/words", { word: query.word, beside }) });
  const body = h("div.side-by-side");
  root.append(
    head("Words", "What the model has learned about a word: the prototypes it is translated into, and the words that are used in the same way.",
      download("CSV", () => shown.length && saveCsv("words.csv", ["about", "kind", "layer", "word", "value"], shown.flatMap(rows)))),
    h("div.fields", {}, one.element, query.word && two.element), body);

  function rows(found) {
    const listed = (kind, words) => words.map((other) => [found.word, kind, "", other.word, other.value]);
    return [...layerRows(found.layers).map(([layer, word, value]) => [found.word, "prototype", layer, word, value]), ...listed("neighbour", found.neighbours), ...listed("cohort", found.cohort)];
  }

  async function fill(word) {
    const card = h("article.card.pad.stack", { "aria-label": word }, h("p.waiting", {}, "One moment …"));
    body.append(card);
    try {
      const found = await get("/word", { word });
      shown.push(found);
      card.replaceChildren(...content(found));
    } catch (error) {
      const near = error.body?.near || [];
      card.replaceChildren(h("h2", { dir: "auto" }, word), h("p", {}, error.message + (near.length ? ". Did you mean:" : ".")),
        h("div.chips", {}, near.map((other) => link("/words", { word: other }, h("span.chip", { dir: "auto" }, other)))));
    }
  }

  function content(found) {
    const often = found.documents === null ? `number ${whole(found.rank)} of ${plural(about.terms, "word")} by frequency` : `in ${plural(found.documents, "document")}, number ${whole(found.rank)} of ${plural(about.terms, "word")} by frequency`;
    return [
      h("div", {}, h("h2.big", { dir: "auto" }, found.word), h("p.muted.small", {}, often + (found.prototype ? "; a prototype" : ""))),
      h("h3", {}, "Translated into"), layerColumns(found.layers, { heading: "h4" }),
      h("div.layers", {},
        h("section", {}, h("h3", {}, "Used in the same way"), h("p.muted.small", {}, "Words with similar prototypes."), found.neighbours.length ? rankedWords(found.neighbours) : h("p.muted", {}, "None.")),
        found.prototype && h("section", {}, h("h3", {}, "Its cohort"), h("p.muted.small", {}, "Words that are translated into it."), found.cohort.length ? rankedWords(found.cohort) : h("p.muted", {}, "None."))),
      about.documents ? h("p", {}, link("/documents", { q: found.word }, `Documents about ${found.word}`)) : "",
    ];
  }

  async function start() {
    const { words } = await get("/words", { n: 40 });
    body.replaceChildren(h("section.card.pad.stack", {}, h("h2", {}, "Common words"),
      h("div.chips", {}, words.map((word) => link("/words", { word }, h("span.chip", { dir: "auto" }, word))))));
  }

  if (query.word) {
    fill(query.word);
    if (query.beside) fill(query.beside);
  } else {
    start().catch(() => {});
    one.input.focus({ preventScroll: true });
  }
}

// -- a field that completes words of the vocabulary --------------------------------------------

let made = 0;

function wordField({ label, value = "", placeholder = "", choose }) {
  const id = `word-${++made}`;
  let words = [], place = -1, asked = 0;
  const list = h("ul.options.floating", { id: `${id}-list`, role: "listbox", "aria-label": "Words", hidden: true });
  const input = h("input", {
    type: "text", id, value, placeholder, maxLength: 200, autocomplete: "off", spellcheck: false, role: "combobox", dir: "auto",
    "aria-expanded": "false", "aria-controls": `${id}-list`, "aria-autocomplete": "list", oninput: () => ask(), onblur: () => setTimeout(close, 150),
    onkeydown(event) {
      if (event.isComposing) return; // Enter is for what is being written, in Japanese for example
      if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        place = words.length ? (place + (event.key === "ArrowDown" ? 1 : -1) + words.length) % words.length : -1;
        draw();
      } else if (event.key === "Enter") take(place >= 0 ? words[place] : input.value.trim());
      else if (event.key === "Escape") close();
      else return;
      event.preventDefault();
    },
  });

  async function ask() {
    const number = ++asked;
    const start = input.value.trim();
    const found = start ? (await get("/words", { start, n: 8 })).words : [];
    if (number !== asked) return;
    words = found;
    place = -1;
    draw();
  }

  function draw() {
    list.hidden = !words.length;
    input.setAttribute("aria-expanded", String(!list.hidden));
    list.replaceChildren(...words.map((word, k) => h("li", { role: "option", id: `${id}-${k}`, dir: "auto", "aria-selected": String(k === place), onmousedown: (event) => { event.preventDefault(); take(word); } }, word)));
    if (place >= 0) input.setAttribute("aria-activedescendant", `${id}-${place}`);
    else input.removeAttribute("aria-activedescendant");
  }

  function close() {
    words = [];
    asked++;
    draw();
  }

  function take(word) {
    input.value = word;
    close();
    choose(word);
  }

  return { element: h("div.field.completing", {}, h("label", { htmlFor: id }, label), input, list), input };
}
