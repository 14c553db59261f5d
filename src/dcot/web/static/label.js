// The labelling page: its views by address, the bar at the top, and what is sent to the server.

import { Outbox } from "./api.js";
import { help, labelsAndModel } from "./dialogs.js";
import { $, announce, h, plural, whole } from "./dom.js";
import { difference, listen, poll, refresh, resembling, state, update } from "./state.js";
import { doubtfulView } from "./view-doubtful.js";
import { giveBack, labelView } from "./view-label.js";
import { progressView } from "./view-progress.js";
import { seedsView } from "./view-seeds.js";

const VIEWS = {
  "/label": { title: "Label", show: labelView },
  "/seeds": { title: "Seed words", show: seedsView },
  "/progress": { title: "Progress", show: progressView },
  "/doubtful": { title: "Doubtful labels", show: doubtfulView },
};

// -- saving ----------------------------------------------------------------------------------

let trouble = "";

export const outbox = new Outbox({
  saved(answer) {
    if (answer?.notice) banner(answer.notice, { notice: true });
    if (trouble) hideBanner();
    trouble = "";
    if (answer) update({ labelled: answer.labelled });
    else refresh().catch(() => {}); // nothing is left to be saved
    showStatus();
  },
  waiting(error) {
    trouble = error.message;
    banner(`Not saved yet: ${error.message}. The page keeps trying; do not close it.`);
    showStatus();
  },
  conflict(error, request) {
    if (error.status !== 409) {
      ask({ text: `Not saved: ${error.message}` }); // stays until it is closed, also if the server is back
      giveBack(request.changes);
      return;
    }
    const [wanted] = request.changes;
    const { current, text } = error.body;
    const now = current === null ? "no longer has a label" : current ? `is now labelled “${current}”` : "is now skipped";
    ask({
      text: `${text ? `The document “${text}”` : "An empty document"} ${now}: somebody changed it, perhaps in another tab.`,
      action: wanted.label === null ? "Remove its label" : wanted.label ? `Make it “${wanted.label}”` : "Skip it",
      onaction: () => outbox.add({ ...request, changes: [{ ...wanted, expected: current }] }),
    });
  },
});

window.addEventListener("beforeunload", (event) => {
  if (outbox.size) event.preventDefault();
});

// -- the bar at the top ----------------------------------------------------------------------

const questions = []; // shown one after the other until they are closed, also after a message that took their place

function ask(question) {
  questions.push(question);
  hideBanner();
}

function banner(text, { notice = false, action = "", onaction = () => {}, onclose = hideBanner } = {}) {
  const act = action && h("button", { onclick: () => (onclose(), onaction()) }, action);
  $("banner").className = notice ? "banner notice" : "banner";
  $("banner").replaceChildren(h("span", {}, text), act || "", h("button", { onclick: onclose }, "Close"));
  $("banner").hidden = false;
}

/** Hide a message; the question that waits for an answer is shown in its place. */
function hideBanner() {
  const [question] = questions;
  $("banner").hidden = !question;
  if (question) banner(question.text, { ...question, onclose: () => (questions.shift(), hideBanner()) });
}

function showStatus() {
  const learning = state.phase === "learning";
  const unsaved = outbox.size;
  const kind = trouble ? "failed" : learning || unsaved || state.saving.state === "running" ? "busy" : "";
  const words = unsaved && trouble ? plural(unsaved, "label") + " not saved"
    : learning ? (state.given ? "reading the documents …" : "learning what the words mean …")
    : state.saving.state === "running" ? "saving the model …"
    : [`${whole(state.labelled)} of ${whole(state.documents)}`, h("span.wide", {}, " labelled")];
  $("status").replaceChildren(h("span", { className: `dot ${kind}` }), ...[words].flat());
  $("status").title = trouble || `Every label is saved in ${state.file} at once`;
  $("doubtful-count").textContent = state.doubtful ? whole(state.doubtful) : "";
  $("corpus").textContent = state.corpus || "";
  $("corpus").title = state.corpus || "";
}

/** Say once that a new class differs from another only in spaces or capital letters: it may be a slip. */
const compared = new Set();

function compareClasses(classes) {
  for (const { name } of classes) {
    const other = compared.has(name) ? null : resembling(name, name);
    compared.add(name);
    if (other) banner(`The classes “${other}” and “${name}” differ only in ${difference}.`, { notice: true, action: "Merge …", onaction: labelsAndModel });
  }
}

listen((before, now) => {
  showStatus();
  compareClasses(now.classes);
  const saved = before.saving.state === "running" || before.saving.message !== now.saving.message;
  if (before.revision >= 0 && saved && ["done", "failed"].includes(now.saving.state)) {
    banner(now.saving.message, { notice: now.saving.state === "done" });
    announce(now.saving.message);
  }
});

// -- views -----------------------------------------------------------------------------------

let leave = null; // ends the view that is shown

function show() {
  if (leave) {
    leave();
    for (const open of document.querySelectorAll("dialog[open]")) open.close(); // it was about the other view
  }
  const path = location.pathname === "/" ? "/label" : location.pathname;
  const view = VIEWS[path] || VIEWS["/label"];
  document.title = `${view.title} – ${state.corpus || "dcot"}`;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.getAttribute("href") === path) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  const root = h("div"); // of this view alone: what an earlier one still draws is not shown
  $("view").replaceChildren(root);
  leave = view.show(root, outbox) || (() => {});
}

export function go(path) {
  if (path !== location.pathname + location.search) history.pushState({}, "", path);
  show();
  $("view").focus({ preventScroll: true });
  window.scrollTo(0, 0);
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-view]");
  if (!link || event.metaKey || event.ctrlKey || event.shiftKey) return;
  event.preventDefault();
  go(link.getAttribute("href"));
});
window.addEventListener("popstate", show);
window.addEventListener("go", (event) => go(event.detail));

document.addEventListener("keydown", (event) => {
  const typing = event.target.matches("input, textarea, select");
  if (typing || event.metaKey || event.ctrlKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (event.key === "?") help();
  else if (event.key === "m") labelsAndModel();
  else return;
  event.preventDefault();
});
$("help-button").onclick = help;
$("menu-button").onclick = labelsAndModel;

try {
  await refresh();
} catch (error) {
  banner(error.message);
}
show();
poll({
  failed: () => banner("The server does not answer. Your labels are saved, except those that this page still says are not. Start dcot label again, and reload this page."),
  back: hideBanner,
});
