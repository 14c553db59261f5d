// Documents: search with the reason for each hit, and read one, shaded, with its neighbours.

import { h, plural, shaded, whole } from "./dom.js";
import { classBars } from "./layers.js";
import { go, link } from "./route.js";
import { download, head, saveCsv } from "./save.js";
import { get } from "./source.js";
import { whenReady } from "./waiting.js";

const PAGE = 20;
const plain = (one) => one.pieces.map(([text]) => text).join("");

export function documentsView(root, query, about) {
  const lists = query.id === undefined && query.given === undefined && !query.q;
  const phase = lists ? "reading" : query.given === undefined ? "drawing" : "ready";
  return whenReady(root, about, () => (query.id === undefined ? list(root, query) : read(root, query)), { phase });
}

// -- a list ----------------------------------------------------------------------------------

function list(root, query) {
  let found = [];
  const cell = query.given !== undefined;
  const input = h("input", { type: "search", id: "query", value: query.q || "", maxLength: 2000, placeholder: "Search by meaning and by words", dir: "auto" });
  const results = h("div.results", { "aria-live": "polite" });
  const lead = cell
    ? `Documents labelled ${query.given} for which a classifier that was not trained on them predicts ${query.predicted}.`
    : "Search finds documents by their words and by what the words mean. The shaded words show why a document was found.";
  root.append(
    head("Documents", lead, download("CSV", () => saveCsv("documents.csv", ["rank", "id", "label", "predicted", "score", "cosine", "bm25", "text"],
      found.map((one, k) => [k + 1, one.id, one.label, one.predicted, one.score, one.similarity, one.bm25, plain(one)])))),
    cell ? h("p.small", {}, link("/model", {}, "← Back to the confusions"))
      : h("form.searching", { role: "search", onsubmit: (event) => { event.preventDefault(); go("/documents", { q: input.value.trim() }); } },
          h("label.unseen", { htmlFor: "query" }, "Search"), input, h("button.primary", {}, "Search")),
    results);

  async function fill(start = 0) {
    const answer = cell ? await get("/cell", { given: query.given, predicted: query.predicted }) : await get("/search", { q: query.q, n: PAGE, start });
    found.push(...answer.documents);
    const items = answer.documents.map((one) => hit(one, query));
    results.querySelector(".more")?.remove();
    if (!start) results.append(h("p.muted.small", { role: "status" }, said(answer)));
    results.append(...items);
    if (!cell && !query.q && found.length < answer.total) results.append(h("button.more", { onclick: () => fill(found.length) }, "More"));
  }

  function said(answer) {
    if (!answer.known) return "Nothing found: the model knows none of these words.";
    if (cell) return plural(answer.total, "document");
    return query.q ? (answer.total < PAGE ? `${plural(answer.total, "document")} found.` : `The best ${PAGE} documents.`) : `${plural(answer.total, "document")}, in the order of the corpus.`;
  }

  fill().catch((error) => results.replaceChildren(h("p", {}, error.message)));
  if (!query.q && !cell) input.focus({ preventScroll: true });
}

function hit(one, query) {
  const scores = [];
  if (one.similarity !== null && one.similarity !== undefined) scores.push(`cosine ${one.similarity.toFixed(2)}`);
  if (one.bm25 !== null && one.bm25 !== undefined) scores.push(`BM25 ${one.bm25.toFixed(1)}`);
  return h("article.hit", { "aria-label": `Document ${one.id}` },
    h("p.hit-head", {}, link("/documents", { id: one.id, q: query.q }, h("b", { dir: "auto" }, one.id)), tags(one), h("span.muted.small.end", {}, scores.join(" · "))),
    h("p.snippet", { dir: "auto" }, plain(one).trim() ? shaded(one.pieces) : h("span.muted", {}, "(an empty document)")),
    one.reasons?.length ? h("p.reasons.small", {}, h("span.muted", {}, "Because of "), because(one.reasons)) : "");
}

/** Words of the query, then words that are like one of them. */
function because(reasons) {
  const groups = new Map();
  for (const { word, like } of reasons) groups.set(like, [...(groups.get(like) || []), link("/words", { word }, word)]);
  const words = (found) => found.map((one, k) => [k ? ", " : "", one]);
  return [...groups].sort(([a], [b]) => (a !== null) - (b !== null)).map(([like, found], k) =>
    [k ? "; " : "", words(found), like === null ? "" : h("span.muted", {}, ` (like ${like})`)]);
}

function tags(one) {
  const wrong = one.label && one.predicted && one.label !== one.predicted;
  return [
    one.label && h("span.tag", { dir: "auto" }, one.label),
    one.predicted && one.predicted !== one.label && h("span.tag.guess", { dir: "auto", title: wrong ? "The model predicts another class than the label" : "Predicted" }, `${one.predicted}?`),
  ];
}

// -- one document ----------------------------------------------------------------------------

async function read(root, query) {
  const body = h("div");
  root.append(body);
  try {
    const one = await get("/document", { id: query.id, q: query.q });
    body.append(
      head(h("span", { dir: "auto" }, `Document ${one.id}`), `The shading shows how much each word counts for ${one.shaded_by}; orange words count against it. The documents closest in meaning follow below.`,
        download("CSV", () => saveCsv("neighbours.csv", ["id", "cosine", "label", "predicted", "text"], one.neighbours.map((other) => [other.id, other.similarity, other.label, other.predicted, plain(other)])))),
      h("div.grid", {},
        h("article.card", {}, h("div.text.page", { dir: "auto", tabIndex: 0, role: "region", "aria-label": "Document" },
          one.length ? shaded(one.pieces) : h("span.muted", {}, "(an empty document)"), one.length > 20000 ? h("span.muted", {}, ` … ${whole(one.length - 20000)} more characters`) : "")),
        h("aside.side.beside", { "aria-label": "About the document" },
          one.classes.length ? h("section", {}, h("h2", {}, "Predicted"), classBars(one.classes)) : "",
          h("div.stack", {}, facts(one), h("section", {}, h("p", {}, link("/map", { row: one.row }, "Show it on the map")), h("p", {}, link("/write", { text: plain(one).slice(0, 1000) }, "Open it in Write"))))),
        h("section", {}, h("h2", {}, "Nearest in meaning"), h("div.results", {}, one.neighbours.map((other) => hit(other, {}))))));
  } catch (error) {
    body.append(h("div.card.empty", {}, h("h1", {}, "Not found"), h("p", {}, error.message)));
  }
}

function facts(one) {
  const rows = [...(one.label ? [["label", one.label]] : []), ...one.metadata];
  return rows.length ? h("section", {}, h("h2", {}, "Details"), h("dl.facts", {}, rows.map(([name, value]) => [h("dt", { dir: "auto" }, name), h("dd", { dir: "auto" }, value)]))) : "";
}

