// Labels that the other labels contradict, worst first, with both explanations.

import { change, get } from "./api.js";
import { announce, h, percent, plural, shaded } from "./dom.js";
import { listen, state } from "./state.js";

const WORDS = 6; // that are named for each side

export function doubtfulView(root, outbox) {
  const kept = new Set();
  let stale = false;

  root.append(h("h1", {}, "Doubtful labels"), h("p.waiting", {}, "One moment …"));

  async function draw() {
    const { total, documents } = await get("/doubtful", { n: 10 });
    const shown = documents.filter((one) => !kept.has(one.id));
    root.replaceChildren(
      h("h1", {}, "Doubtful labels"),
      h("p.lead", {}, "Each label is checked by a classifier that was trained on all the others. These are the labels it disagrees with, the most doubtful first. Blue words speak for your label, orange ones for the classifier’s."),
      shown.length
        ? h("div.stack", { style: { "margin-top": "24px" } }, h("p.muted.small", {}, plural(total, "doubtful label") + (shown.length < total ? `; here are the first ${shown.length}.` : ".")), shown.map(card))
        : h("div.card.empty", { style: { "margin-top": "24px" } }, h("p", {}, state.labelled ? "No label is doubtful." : "Nothing to check yet: label documents of at least two classes first.")),
    );
  }

  /** The words with the largest shares, each once. */
  function strongest(pieces) {
    const found = pieces.filter(([, share]) => share >= 0.1).sort((a, b) => b[1] - a[1]).map(([word]) => word.toLowerCase());
    return [...new Set(found)].slice(0, WORDS);
  }

  function card(one) {
    const side = (choice, pieces, text, keep) => {
      const words = strongest(pieces);
      return h("div", {},
        h("p", {}, h("span.muted", {}, keep ? "Your label: " : "Classifier: "), h("b", { dir: "auto" }, choice.name), h("span.muted", {}, ` ${percent(choice.probability)}`)),
        h("p.small.muted", { dir: "auto" }, words.length ? `because of ${words.join(", ")}` : "no word speaks for it"),
        h("button", { onclick: (event) => decide(event, one, keep ? null : choice.name), className: keep ? "" : "primary" }, text));
    };
    return h("article.card", { "aria-label": `Document ${one.id}` },
      h("p.snippet.pad", { dir: "auto" }, shaded(one.for_given)),
      h("div.compare", {},
        side(one.given, one.for_given, `Keep ${one.given.name}`, true),
        side(one.other, one.for_other, `Change to ${one.other.name}`, false)));
  }

  function decide(event, one, name) {
    kept.add(one.id);
    if (name) outbox.add({ changes: [change(one, name, one.label)], how: "doubtful" });
    announce(name ? `Changed to ${name}.` : "Kept.");
    const article = event.target.closest("article");
    const next = article.nextElementSibling || article.previousElementSibling;
    article.remove();
    (next?.querySelector("button") || root).focus();
    stale = true;
    if (!root.querySelector("article")) draw().catch(() => {});
  }

  draw().catch(() => {});
  return listen((before, now) => {
    if (before.revision !== now.revision && !stale && !root.contains(document.activeElement)) draw().catch(() => {});
  });
}
