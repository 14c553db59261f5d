// Views of documents: shown when the documents have been read.

import { h } from "./dom.js";

/** Call `draw` when the server is ready for it: after reading, or after drawing too. */
export function whenReady(root, about, draw, { drawn = false } = {}) {
  const waits = () => about.phase === "reading" || (drawn && about.phase === "drawing");
  if (!about.documents && !drawn) {
    root.append(h("div.card.empty", {}, h("h1", {}, "No documents"), h("p", {}, "This is a model alone. Start dcot explore with a corpus beside it: dcot explore MODEL CORPUS")));
    return () => {};
  }
  let notice = null;
  function next() {
    if (waits()) {
      if (!notice) root.append(notice = h("p.waiting", {}, "One moment: the documents are being read …"));
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
