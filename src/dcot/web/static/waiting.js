// Views of documents: shown as soon as the server has what they need.

import { h } from "./dom.js";

const PHASES = ["reading", "indexing", "drawing", "refining", "judging", "ready", "failed"];

/** Whether the server has come to a phase, or is past it. */
export const reached = (about, phase) => PHASES.indexOf(about.phase) >= PHASES.indexOf(phase);

/** Call `draw` when the server has come to a phase. */
export function whenReady(root, about, draw, { phase, words = false }) {
  if (!about.documents && !words) {
    root.append(h("div.card.empty", {}, h("h1", {}, "No documents"), h("p", {}, "This is a model alone. Start dcot explore with a corpus as well: dcot explore MODEL CORPUS")));
    return () => {};
  }
  let notice = null;
  function next() {
    if (!reached(about, phase)) {
      if (!notice) root.append(notice = h("p.waiting", { role: "status" }));
      notice.textContent = reached(about, "drawing") ? "One moment: the map is being drawn …" : "One moment: the documents are being read …";
      return;
    }
    window.removeEventListener("phase", next);
    notice?.remove();
    draw();
  }
  window.addEventListener("phase", next);
  next();
  return () => window.removeEventListener("phase", next);
}
