// Write: which prototypes a text is translated into, while it is typed.

import { h, shaded } from "./dom.js";
import { classBars, layerColumns, layerRows } from "./layers.js";
import { note } from "./route.js";
import { download, head, saveCsv } from "./save.js";
import { post } from "./source.js";

const LONGEST_ADDRESS = 1500;

export function writeView(root, query, about) {
  let focus = null, answer = null, asked = 0, timer = 0;
  const input = h("textarea", { id: "text", rows: 5, maxLength: 100000, dir: "auto", value: query.text || "", placeholder: "Type or paste a text …", oninput: changed });
  const reading = h("div.text.reading", { dir: "auto", tabIndex: 0, role: "region", "aria-label": "The text, shaded" });
  const by = h("p.small.muted", { role: "status" });
  const classes = h("section.card.pad", { hidden: true, "aria-label": "Classes" });
  const layers = h("div");
  root.append(
    head("Write", "The model translates your text into common words, called prototypes, that it expects next to yours. Click one to see which of your words it comes from.",
      download("CSV", () => answer && saveCsv("text.csv", ["layer", "prototype", "value", "word", "share"], layerRows(answer.layers)))),
    h("div.write", {},
      h("div.stack", {},
        h("section.card", {}, h("label.unseen", { htmlFor: "text" }, "Text"), input, reading, h("div.foot", {}, by)),
        classes),
      layers));

  function changed() {
    clearTimeout(timer);
    timer = setTimeout(ask, 120);
  }

  async function ask() {
    const text = input.value;
    const number = ++asked;
    note("/write", { text: text.length <= LONGEST_ADDRESS ? text : "" });
    if (!text.trim()) return empty();
    try {
      const found = await post("/write", focus ? { text, focus } : { text });
      if (number !== asked) return;
      answer = found;
      draw();
    } catch (error) {
      by.textContent = error.message;
    }
  }

  function empty() {
    answer = null;
    classes.hidden = true;
    reading.replaceChildren();
    by.textContent = "";
    const tries = about.examples || [];
    layers.replaceChildren(h("div.card.empty", {}, h("p", {}, tries.length ? "Type a text, or try one of these:" : "Type a text to see what the model makes of it."),
      h("div.chips.centre", {}, tries.map((text) => h("button.chip", { dir: "auto", onclick: () => { input.value = text; ask(); } }, text)))));
  }

  function draw() {
    reading.replaceChildren(...shaded(answer.pieces));
    by.textContent = answer.known ? `Shaded by each word’s share in ${answer.shaded_by}.` : "The model knows none of these words. It shows what it expects of any text.";
    classes.hidden = !answer.classes.length;
    classes.replaceChildren(h("h2", {}, "Classes"), classBars(answer.classes));
    layers.replaceChildren(layerColumns(answer.layers, { chosen: focus, choose: (one) => { focus = one; ask(); } }));
  }

  if (input.value) ask();
  else empty();
  input.focus({ preventScroll: true });
  return () => clearTimeout(timer);
}
