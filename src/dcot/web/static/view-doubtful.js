// Labels that the other labels contradict, worst first, with both explanations.

import { get } from "./api.js";
import { announce, h, percent, plural, shaded } from "./dom.js";
import { listen, tab } from "./state.js";

export function doubtfulView(root, outbox) {
  const kept = new Set();
  let stale = false;

  root.append(h("h1", {}, "Doubtful labels"), h("p.waiting", {}, "One moment …"));

  async function draw() {
    const { total, documents } = await get("/doubtful", { n: 10 });
    const shown = documents.filter((one) => !kept.has(one.id));
    root.replaceChildren(
      h("h1", {}, "Doubtful labels"),
      h("p.lead", {}, "Each label is checked by a classifier that was trained on all the others. These are the labels it disagrees with, the most doubtful first."),
      shown.length
        ? h("div.stack", { style: { "margin-top": "24px" } }, h("p.muted.small", {}, `${plural(total, "doubtful label")}; here are the first ${shown.length}.`), shown.map(card))
        : h("div.card.empty", { style: { "margin-top": "24px" } }, h("p", {}, "No label is doubtful.")),
    );
  }

  function card(one) {
    const side = (choice, pieces, text, keep) => h("div", {},
      h("p", {}, h("span.muted", {}, keep ? "Your label: " : "Classifier: "), h("b", { dir: "auto" }, choice.name), h("span.muted", {}, ` ${percent(choice.probability)}`)),
      h("p.snippet", { dir: "auto" }, shaded(pieces)),
      h("button", { onclick: (event) => decide(event, one, keep ? null : choice.name), className: keep ? "" : "primary" }, text));
    return h("article.card", { "aria-label": `Document ${one.id}` },
      h("div.compare", { style: { "border-top": "0" } },
        side(one.given, one.for_given, `Keep ${one.given.name}`, true),
        side(one.other, one.for_other, `Change to ${one.other.name}`, false)));
  }

  function decide(event, one, name) {
    kept.add(one.id);
    if (name) outbox.add({ changes: [{ id: one.id, label: name, expected: one.label }], how: "doubtful", tab });
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
