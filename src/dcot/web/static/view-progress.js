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
    const hint = state.labelled && progress.hint;
    root.replaceChildren(
      h("h1", {}, "Progress"),
      h("p.lead", {}, "How often the classifier is right about documents it was not trained on. One document in four is chosen at random to measure this, because suggested documents are harder than the rest."),
      last
        ? h("section.card.pad", { style: { "margin-top": "24px" } },
            h("p.figure", {}, percent(last.value, 1), h("small", {}, `accuracy after ${last.labels} labels; 95 % interval ${Math.round(100 * last.low)} to ${percent(last.high)}, measured on ${progress.drawn} documents`)),
            curve(progress.curve, { width: Math.max(280, Math.min(1000, root.clientWidth - 100)), height: root.clientWidth > 700 ? 300 : 200, detailed: true }))
        : h("section.card.empty", { style: { "margin-top": "24px" } }, state.labelled ? h("p", {}, `The curve appears when ten randomly chosen documents are labelled (${progress.drawn} so far).`) : [h("h1", {}, "Nothing is labelled yet"), h("p", {}, h("a", { href: "/label", "data-view": "" }, "Label the first documents"))]),
      hint ? h("section.card.pad", { style: { "margin-top": "16px" } }, h("h2", {}, "When to stop"), h("p", { style: { "margin-top": "8px" } }, hint)) : "",
      rows.length
        ? h("section.card", { style: { "margin-top": "16px" } }, h("div.scroll", {}, h("table", {},
            h("thead", {}, h("tr", {}, h("th", {}, "Class"), h("th.number", {}, "Labels"), h("th.number", { title: "Of the documents with this label, how many the classifier finds" }, "Recall"), h("th.number", { title: "Of the documents that the classifier gives this class, how many have the label" }, "Precision"), h("th.number", { title: "Documents of the whole corpus that are predicted to be of this class" }, "Predicted"))),
            h("tbody", {}, rows))),
            h("p.muted.small.foot", {}, "Recall and precision are measured on all labelled documents, each judged by a classifier that was not trained on it. Suggested documents are hard, so expect higher figures on the whole corpus."))
        : "",
    );
  }
  draw().catch(() => {});
  return listen((before, now) => {
    if (before.measured !== now.measured) draw().catch(() => {});
  });
}
