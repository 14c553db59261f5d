// Model: how it was chosen, what to expect of it, and what it confuses.

import { h, percent, plural } from "./dom.js";
import { go } from "./route.js";
import { download, head, saveCsv, saveText } from "./save.js";
import { get } from "./source.js";

export function modelView(root, query, about) {
  async function draw() {
    const model = await get("/model");
    root.replaceChildren(
      head("Model", "How accurate the model should be on new documents, which classes it confuses, and how its settings were chosen.",
        model.confusion && download("Confusions", () => saveCsv("confusions.csv", ["labelled", ...model.confusion.classes], model.confusion.classes.map((name, k) => [name, ...model.confusion.counts[k]]))),
        download("Model card", () => saveText("model-card.md", model.card, "text/markdown"))),
      h("div.stack.wide-gap", {}, model.estimate && estimate(model), model.confusion && confusion(model.confusion, about), model.selection.length > 1 && selection(model), card(model)));
  }
  draw().catch((error) => root.append(h("p", {}, error.message)));
  const again = () => about.phase === "ready" && draw().catch(() => {});
  window.addEventListener("phase", again);
  return () => window.removeEventListener("phase", again);
}

// -- the estimate ----------------------------------------------------------------------------

function estimate({ estimate: found, summary }) {
  const [own] = found.scores;
  const [low, high] = own.accuracy_interval;
  return h("section.card.pad", { "aria-label": "Estimate" },
    h("div.estimate", {},
      h("div", {}, h("h2", {}, "Accuracy to expect"),
        h("p.figure", {}, percent(own.accuracy), h("small", {}, `${Math.round(100 * low)} to ${percent(high)} with 95 % confidence`)),
        h("p.muted.small", {}, `Measured on ${plural(found.n, "labelled document")}, each predicted by a model that was not trained on it.`),
        found.beaten && h("p.warn.small", {}, "TF-IDF is as good here: more unlabelled documents may help, or TF-IDF may be all that is needed.")),
      h("div.scores", {}, found.scores.map((score, k) => interval(score, k === 0)))),
    h("p.muted.small.spaced", {}, summary));
}

function interval(score, own) {
  const [low, high] = score.accuracy_interval;
  return h("div.score", {}, h("span", {}, score.name), h("span.muted.number", {}, percent(score.accuracy, 1)),
    h("span.scale", { role: "img", "aria-label": `${score.name}: ${percent(score.accuracy, 1)}, interval ${percent(low)} to ${percent(high)}` },
      h("span.reach", { className: own ? "reach own" : "reach", style: { left: `${100 * low}%`, width: `${100 * (high - low)}%` } }),
      h("span.mean", { style: { left: `${100 * score.accuracy}%` } })));
}

// -- confusions ------------------------------------------------------------------------------

function confusion({ classes, counts }) {
  const worst = classes.flatMap((given, i) => classes.map((predicted, j) => ({ given, predicted, n: i === j ? 0 : counts[i][j] }))).filter((one) => one.n).sort((a, b) => b.n - a.n).slice(0, 6);
  const see = (given, predicted) => go("/documents", { given, predicted });
  const rows = classes.map((given, i) => {
    const total = counts[i].reduce((sum, n) => sum + n, 0) || 1;
    return h("tr", {}, h("th", { scope: "row", dir: "auto", title: given }, given), classes.map((predicted, j) => {
      const n = counts[i][j];
      const tone = i === j ? "--for" : "--against";
      const name = `${plural(n, "document")} labelled ${given}, predicted ${predicted}`;
      return h("td", {}, n ? h("button.cell", { title: name, "aria-label": name, style: { background: `rgb(var(${tone}) / ${(0.08 + 0.34 * (n / total)).toFixed(2)})` }, onclick: () => see(given, predicted) }, n) : "");
    }));
  });
  return h("section.card.pad", { "aria-label": "Confusions" }, h("h2", {}, "Confusions"),
    h("p.muted.small", {}, "Rows are labels, columns are predictions of models that were not trained on the document. Click a number to see the documents."),
    worst.length ? h("p.small.worst", {}, "Most often: ", worst.map((one) => h("button.chip", { onclick: () => see(one.given, one.predicted) }, `${one.given} → ${one.predicted} (${one.n})`))) : "",
    h("div.scroll.tall", { tabIndex: 0, role: "region", "aria-label": "Table of confusions" }, h("table.confusion", {},
      h("thead", {}, h("tr", {}, h("td"), classes.map((name) => h("th", { scope: "col", title: name }, h("span", { dir: "auto" }, name))))), h("tbody", {}, rows))));
}

// -- the rest --------------------------------------------------------------------------------

function selection({ selection: rows }) {
  const names = Object.keys(rows[0]).filter((name) => !["chosen", "accuracy", "error"].includes(name));
  const varied = names.filter((name) => new Set(rows.map((row) => row[name])).size > 1);
  const shown = varied.length ? varied : names;
  return h("section.card.pad", { "aria-label": "Selection" }, h("h2", {}, "Selection"),
    h("p.muted.small", {}, `${rows.length} candidates, judged by leave-one-out on the labelled documents. The default is kept unless another one is significantly better.`),
    h("div.scroll", {}, h("table", {}, h("thead", {}, h("tr", {}, shown.map((name) => h("th", {}, name.replace("n_", ""))), h("th.number", {}, "accuracy"), h("th.number", {}, "error"), h("th", {}))),
      h("tbody", {}, rows.map((row) => h(row.chosen ? "tr.chosen" : "tr", {}, shown.map((name) => h("td", {}, row[name])), h("td.number", {}, percent(row.accuracy, 1)), h("td.number", {}, row.error.toFixed(3)), h("td", {}, row.chosen ? "chosen" : "")))))));
}

function card({ facts }) {
  return h("section.card.pad", { "aria-label": "Model card" }, h("h2", {}, "Model card"), h("dl.facts.wide", {}, facts.map(([name, value]) => [h("dt", {}, name), h("dd", { dir: "auto" }, value)])));
}
