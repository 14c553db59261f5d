// A field that completes words of the vocabulary.

import { h } from "./dom.js";
import { get } from "./source.js";

let made = 0;

export function wordField({ label, value = "", placeholder = "", choose }) {
  const id = `word-${++made}`;
  let words = [], place = -1, asked = 0;
  const list = h("ul.options.floating", { id: `${id}-list`, role: "listbox", "aria-label": "Words", hidden: true });
  const input = h("input", {
    type: "text", id, value, placeholder, maxLength: 200, autocomplete: "off", spellcheck: false, role: "combobox", dir: "auto",
    "aria-expanded": "false", "aria-controls": `${id}-list`, "aria-autocomplete": "list", oninput: () => ask(), onblur: () => setTimeout(close, 150),
    onkeydown(event) {
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
