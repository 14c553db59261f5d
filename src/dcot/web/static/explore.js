// The exploring page: its views by address, and the bar at the top.

import { $, h, plural } from "./dom.js";
import { followLinks, here } from "./route.js";
import { get, offline } from "./source.js";
import { documentsView } from "./view-documents.js";
import { mapView } from "./view-map.js";
import { modelView } from "./view-model.js";
import { wordsView } from "./view-words.js";
import { writeView } from "./view-write.js";

const VIEWS = {
  "/write": { title: "Write", show: writeView },
  "/words": { title: "Words", show: wordsView },
  "/map": { title: "Map", show: mapView },
  "/documents": { title: "Documents", show: documentsView },
  "/model": { title: "Model", show: modelView },
};

let about = null;
let leave = () => {};

function show() {
  leave();
  leave = () => {};
  const { path, query } = here();
  const name = VIEWS[path] ? path : "/write";
  document.title = `${VIEWS[name].title} – ${about.name}`;
  for (const one of document.querySelectorAll("nav a")) {
    if (one.getAttribute("href").replace("#", "") === name) one.setAttribute("aria-current", "page");
    else one.removeAttribute("aria-current");
  }
  const root = h("div"); // of this view alone: what an earlier one still draws is not shown
  $("view").replaceChildren(root);
  leave = VIEWS[name].show(root, query, about) || leave;
}

function showStatus() {
  const what = about.documents ? plural(about.documents, "document") : `${plural(about.terms, "word")}, no documents`;
  const said = {
    reading: "reading the documents …", indexing: "reading the documents …", drawing: "drawing the map …",
    refining: "drawing a better map …", judging: "finishing …", failed: about.problem,
  }[about.phase];
  const kind = about.phase === "failed" ? "failed" : said ? "busy" : "";
  $("status").replaceChildren(h("span", { className: `dot ${kind}` }), said || what);
  $("corpus").textContent = $("corpus").title = about.name;
}

/** Ask until everything is ready, and tell the view of each step. */
async function poll() {
  while (!["ready", "failed"].includes(about.phase)) {
    await new Promise((done) => setTimeout(done, 400));
    try {
      const before = about.phase;
      Object.assign(about, await get("/about"));
      showStatus();
      if (before !== about.phase) window.dispatchEvent(new CustomEvent("phase"));
    } catch (error) {
      $("banner").replaceChildren(`The server does not answer: ${error.message}`);
      $("banner").hidden = false;
    }
  }
}

if (offline) for (const one of document.querySelectorAll("a[data-view]")) one.href = "#" + one.getAttribute("href");
about = await get("/about");
showStatus();
followLinks();
window.addEventListener("routed", () => {
  show();
  $("view").focus({ preventScroll: true });
  window.scrollTo(0, 0);
});
window.addEventListener("popstate", offline ? () => {} : show);
window.addEventListener("hashchange", () => offline && show());
show();
poll();
