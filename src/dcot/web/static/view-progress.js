// How good the classifier is, per class, and whether to go on.

import { get } from "./api.js";
import { curve } from "./chart.js";
import { h, percent, whole } from "./dom.js";
import { listen, state } from "./state.js";

export function progressView(root) {
  root.append(h("h1", {}, "Progress"), h("p.waiting", {}, "One moment …"));

  async function draw() {
    const progress = await get("/progress");
    const last = progress.curve.at(-1);
    const share = (value) => (value === null ? "–" : percent(value));
    const rows = progress.classes.map((one) => h("tr", {}, h("td", { dir: "auto" }, one.name), h("td.number", {}, whole(one.labels)),
      h("td.number", {}, share(one.recall)), h("td.number", {}, share(one.precision)), h("td.number", {}, whole(one.predicted))));
    root.replaceChildren(
      h("h1", {}, "Progress"),
      h("p.lead", {}, "How often the classifier is right on documents it has not learned from. One document in four is drawn at random for this: suggested ones are more difficult than the rest."),
      last
        ? h("section.card.pad", { style: { "margin-top": "24px" } },
            h("p.figure", {}, percent(last.value, 1), h("small", {}, `accuracy after ${last.labels} labels (95 % interval ${Math.round(100 * last.low)} to ${percent(last.high)}, from ${progress.drawn} documents)`)),
            curve(progress.curve, { width: 1000, height: 300, detailed: true }))
        : h("section.card.empty", { style: { "margin-top": "24px" } }, h("p", {}, state.labelled ? `The curve begins when ten documents that were drawn at random are labelled; so far there are ${progress.drawn}.` : "Nothing is labelled yet.")),
      progress.hint ? h("section.card.pad", { style: { "margin-top": "16px" } }, h("h2", {}, "When to stop"), h("p", { style: { "margin-top": "8px" } }, progress.hint)) : "",
      rows.length
        ? h("section.card", { style: { "margin-top": "16px" } }, h("div.scroll", {}, h("table", {},
            h("thead", {}, h("tr", {}, h("th", {}, "Class"), h("th.number", {}, "Labels"), h("th.number", { title: "Of the documents labelled with the class, how many are predicted right when held out" }, "Found"), h("th.number", { title: "Of the held-out predictions of the class, how many are right" }, "Right"), h("th.number", {}, "Predicted in the corpus"))),
            h("tbody", {}, rows))),
            h("p.muted.small", { style: { padding: "12px" } }, "Found and right are measured on all labelled documents when held out. Suggested documents are difficult, so expect higher figures on the corpus."))
        : "",
    );
  }
  draw().catch(() => {});
  return listen((before, now) => {
    if (before.measured !== now.measured) draw().catch(() => {});
  });
}
