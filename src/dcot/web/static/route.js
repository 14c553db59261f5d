// The address of a view: a path on the server, a fragment in an exported page.

import { h } from "./dom.js";
import { offline } from "./source.js";

const shown = () => (offline ? location.hash.slice(1) || "/" : location.pathname + location.search);

/** Where we are: {path, query}. */
export function here() {
  const url = new URL(shown(), "http://here");
  return { path: url.pathname, query: Object.fromEntries(url.searchParams) };
}

/** The address of a view with these values; empty ones are left out. */
export function address(path, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return path + (given.length ? "?" + new URLSearchParams(given) : "");
}

export const href = (path, query) => (offline ? "#" : "") + address(path, query);

/** Change the address, and show what it stands for. */
export function go(path, query) {
  const target = address(path, query);
  if (offline && target !== shown()) location.hash = target; // "hashchange" follows
  else {
    if (target !== shown()) history.pushState({}, "", target);
    window.dispatchEvent(new CustomEvent("routed"));
  }
}

/** Change the address of what is shown already. */
export function note(path, query) {
  if (!offline) history.replaceState({}, "", address(path, query));
  else {
    try {
      history.replaceState({}, "", location.href.split("#")[0] + "#" + address(path, query));
    } catch {
      // a page inside a notebook has no address of its own
    }
  }
}

export function link(path, query, ...children) {
  return h("a", { href: href(path, query), "data-view": "" }, ...children);
}

/** Follow links to views without loading the page again. */
export function followLinks() {
  document.addEventListener("click", (event) => {
    const found = event.target.closest("a[data-view]");
    if (!found || event.metaKey || event.ctrlKey || event.shiftKey || event.button) return;
    event.preventDefault();
    const url = new URL(found.getAttribute("href").replace(/^#/, ""), "http://here");
    go(url.pathname, Object.fromEntries(url.searchParams));
  });
}
