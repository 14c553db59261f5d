// One document after the other: the prediction, why, and a key for each class.

import { change, get } from "./api.js";
import { curve } from "./chart.js";
import { findClass } from "./dialogs.js";
import { announce, h, percent, plural, shaded, whole } from "./dom.js";
import { listen, state, tab } from "./state.js";

const QUEUE = 8; // documents that are there before they are asked for
const KEYS = "1234567890";

// These outlive a visit to another view.
let current = null;
let queue = [];
let done = new Set();
let past = []; // {document, before, after}, for undo
let bySeeds = "";

/** Documents whose labels were refused: they are shown again. */
export function giveBack(changes) {
  for (const { id } of changes) done.delete(id);
}

export function labelView(root, outbox) {
  let alike = null; // look-alikes, while they are shown
  let fetching = null;
  let keys = { of: null, names: [] };
  let revision = -1;
  let exhausted = false;
  let left = false; // for another view: an answer that comes later is not for this one
  const main = h("div");
  const side = h("aside.side", { "aria-label": "Progress" });
  root.append(h("div.grid", {}, main, side));

  // -- documents -----------------------------------------------------------------------------

  async function fetchQueue() {
    if (fetching) return fetching;
    fetching = (async () => {
      let answer, asked;
      do {
        asked = bySeeds;
        answer = await get("/next", { tab, n: QUEUE, keep: current ? current.id : "", by: asked });
      } while (!left && asked !== bySeeds); // chosen anew meanwhile
      if (left) return;
      revision = answer.revision;
      queue = answer.documents.filter((one) => !done.has(one.id) && one.id !== current?.id);
      exhausted = !queue.length && !outbox.size;
      if (!current) advance();
    })().finally(() => { fetching = null; });
    return fetching;
  }

  /** Documents in another order: ranked by the seed words of a class, or as they are suggested. */
  function startOver(by) {
    bySeeds = by;
    queue = [];
    current = null;
    exhausted = false;
    showDocument();
    fetchQueue().catch(() => {});
  }

  /** Newer predictions for the documents that are waiting, and the one that is shown if it has none: Enter keeps its meaning. */
  async function refreshPredictions({ all = false } = {}) {
    if (current && (all || !current.predictions.length)) {
      const id = current.id;
      const fresh = await get("/document", { id });
      if (current?.id === id && current.label === fresh.label) {
        current = { ...fresh, how: current.how };
        showDocument();
      }
    }
    await fetchQueue();
  }

  function advance(said = "") {
    current = queue.shift() || null;
    alike = null;
    showDocument();
    announce(`${said} ${current ? spoken(current) : ""}`.trim());
    if (queue.length < QUEUE / 2) fetchQueue().then(() => current || showDocument()).catch(() => {});
  }

  function spoken(document) {
    const best = document.predictions[0];
    return best ? `Next document. Probably ${best.name}, ${percent(best.probability)}.` : "Next document.";
  }

  // -- decisions -----------------------------------------------------------------------------

  function choose(name) {
    if (!current) return;
    if (alike) return labelTogether(name);
    record(current, name, current.how || "other");
    advance(name ? `Labelled ${name}.` : "Skipped.");
  }

  function record(document, name, how) {
    past.push({ document, before: document.label, after: name });
    done.add(document.id);
    outbox.add({ changes: [change(document, name, document.label)], how });
  }

  function undo() {
    const last = past.pop();
    if (!last) return announce("There is nothing to undo.");
    const { document, before, after } = last;
    const changes = (last.together || [last]).map((one) => change(one.document, one.before, one.after));
    for (const { id } of changes) done.delete(id);
    outbox.add({ changes });
    if (current && current.id !== document.id) queue.unshift(current);
    current = { ...document, label: before };
    alike = null;
    announce(`Undone: ${after || "skipped"}.`);
    showDocument();
  }

  async function type() {
    if (!current) return;
    const name = await findClass(current);
    if (name) choose(name);
  }

  // -- look-alikes ---------------------------------------------------------------------------

  async function showAlike() {
    if (!current) return;
    const { id } = current;
    const answer = await get("/alike", { id, n: 12 });
    if (left || current?.id !== id) return; // another document is shown by now
    const documents = answer.documents.filter((one) => !done.has(one.id));
    if (!documents.length) return announce("There are no unlabelled documents like this one.");
    alike = { documents: [current, ...documents], name: answer.class, kept: new Set([current.id, ...documents.map((one) => one.id)]) };
    showAlikes();
  }

  const lookAlikes = () => showAlike().catch(() => announce("The look-alikes could not be fetched."));

  function labelTogether(name) {
    const chosen = alike.documents.filter((one) => alike.kept.has(one.id));
    if (!chosen.length || !name) return;
    const together = chosen.map((document) => ({ document, before: document.label, after: name }));
    const changes = together.map((one) => change(one.document, name, one.before));
    past.push({ ...together[0], together });
    for (const one of chosen) done.add(one.id);
    outbox.add({ changes, how: "together" });
    queue = queue.filter((one) => !done.has(one.id));
    const said = `${plural(chosen.length, "document")} labelled ${name}.`;
    if (done.has(current.id)) return advance(said);
    alike = null;
    showDocument();
    announce(said);
  }

  function showAlikes() {
    const toggle = (one, button) => {
      if (!alike.kept.delete(one.id)) alike.kept.add(one.id);
      const kept = alike.kept.has(one.id);
      button.setAttribute("aria-checked", kept);
      button.querySelector(".box").textContent = kept ? "✓" : "";
      accept.textContent = acceptText();
    };
    const acceptText = () => `Label ${alike.kept.size} as ${alike.name}`;
    const cards = alike.documents.map((one) => {
      const button = h("button.pick", { role: "checkbox", "aria-checked": "true", onclick: () => toggle(one, button) },
        h("span.box", { "aria-hidden": "true" }, "✓"), h("span.snippet", { dir: "auto" }, shaded(one.pieces)));
      return button;
    });
    const accept = h("button.primary", { onclick: () => labelTogether(alike.name) }, alike.name ? acceptText() : "");
    main.replaceChildren(
      h("h1", {}, "Documents like this one"),
      h("p.lead", {}, "Uncheck the ones that do not belong. Unchecked documents stay unlabelled.", h("span.by-key", {}, " Arrow keys and space choose; Enter labels the rest, and so does the key of another class.")),
      h("div.cards", { style: { "margin-top": "24px" } }, cards),
      h("div.sticky.row", {}, alike.name && accept, h("button", { onclick: type }, "Another class …"),
        h("button.quiet", { onclick: () => { alike = null; showDocument(); } }, "Back ", h("kbd.by-key", {}, "Esc"))),
    );
    cards[0].focus();
  }

  // -- drawing -------------------------------------------------------------------------------

  /** The classes that have a key: all of them if they are few, else the most probable ones, which stay while a document is read. */
  function keyed() {
    const names = state.classes.map((one) => one.name);
    if (names.length <= KEYS.length) return names;
    const of = `${current?.id} ${Boolean(current?.predictions.length)}`;
    if (keys.of !== of || keys.names.some((name) => !names.includes(name))) keys = { of, names: likeliest(names) };
    return keys.names;
  }

  function likeliest(names) {
    const likely = (current?.predictions || []).map((one) => one.name).filter((name) => names.includes(name));
    const often = [...state.classes].sort((a, b) => b.labels - a.labels).map((one) => one.name);
    return [...new Set([...likely, ...often])].slice(0, 9);
  }

  function showDocument() {
    if (alike) return;
    if (!current) return main.replaceChildren(nothing());
    const [best] = current.predictions;
    const drawn = main.querySelector(".text");
    const again = drawn?.dataset.id === current.id; // it is being read: it stays where it is
    const top = drawn?.scrollTop, focused = again && main.contains(document.activeElement) && nameOf(document.activeElement);
    const head = h("div.document-head", {}, prediction(best), h("span.why", {}, chosenHow(current)));
    const text = h("div.text", { dir: "auto", tabIndex: 0, role: "region", "aria-label": "Document" },
      current.length ? shaded(current.pieces) : h("span.muted", {}, "(an empty document)"));
    if (current.length > 20000) text.append(h("span.muted", {}, ` … ${whole(current.length - 20000)} more characters`));
    main.replaceChildren(h("h1.unseen", {}, "Label"), h("article.card", { "aria-label": "Document to label" }, head, text, classes(best)), actions(best));
    text.dataset.id = current.id;
    if (again) text.scrollTop = top;
    if (focused) [...main.querySelectorAll("button, .text")].find((one) => nameOf(one) === focused)?.focus({ preventScroll: true });
  }

  const nameOf = (element) => element.title || element.ariaLabel || element.textContent;

  function prediction(best) {
    if (current.label) return h("span.prediction", {}, "Labelled ", h("b", {}, current.label));
    if (best) return h("span.prediction", {}, "Probably ", h("b", {}, best.name), h("span.muted", {}, ` ${percent(best.probability)}`));
    if (state.phase === "learning") return h("span.prediction.muted", {}, "Predictions follow in a moment");
    const named = state.classes.filter((one) => one.labels).length;
    return h("span.prediction.muted", {}, named < 2 ? "Label documents of two classes for a first prediction" : "No word of this document is known");
  }

  function chosenHow(document) {
    return {
      suggested: "Suggested: its label teaches the most",
      random: "Random: measures the accuracy",
      first: "First batch: spread over all topics",
      "seed words": `Closest to the seed words of ${bySeeds}`,
      together: "Like another document",
    }[document.how] || "";
  }

  function classes(best) {
    const chances = new Map(current.predictions.map((one) => [one.name, one.probability]));
    const buttons = keyed().map((name, place) => {
      const chance = chances.get(name);
      const level = chance === undefined ? null : h("span.level", { style: { width: percent(chance, 1).replace(" ", "") } });
      return h(`button.class${name === best?.name ? ".predicted" : ""}`, { onclick: () => choose(name), title: name, "aria-label": `${name}, key ${KEYS[place]}${chance === undefined ? "" : ", " + percent(chance)}` },
        h("kbd", { "aria-hidden": "true" }, KEYS[place]), h("span.name", { dir: "auto" }, name), chance === undefined ? null : h("span.chance", {}, percent(chance)), level);
    });
    const more = state.classes.length > buttons.length ? `All ${state.classes.length} classes …` : "New class …";
    buttons.push(h("button.class.add", { onclick: type }, h("kbd", { "aria-hidden": "true" }, "c"), h("span.name", {}, more)));
    return h("div.classes", { role: "group", "aria-label": "Classes" }, buttons);
  }

  function actions(best) {
    const action = (key, text, onclick, disabled = false) => h("button.quiet", { onclick, disabled }, h("kbd", { "aria-hidden": "true" }, key), text);
    const legend = best && h("span.legend", { "aria-hidden": "true" },
      h("span", {}, h("i", { style: { background: "rgb(var(--for) / .4)" } }), `for ${best.name}`),
      h("span", {}, h("i", { style: { background: "rgb(var(--against) / .4)" } }), `for ${current.predictions[1].name}`));
    return h("div.actions", {}, action("↵", "Accept", () => best && choose(best.name), !best), action("s", "Skip", () => choose("")),
      action("u", "Undo", undo, !past.length), action("l", "Look-alikes", lookAlikes, state.phase !== "ready"), legend || "");
  }

  function nothing() {
    if (!exhausted) return h("div.card.empty", {}, h("p", {}, "One moment …"));
    return h("div.card.empty", {}, h("h1", {}, "Every document is labelled"),
      h("p", {}, `${plural(state.labelled, "label")}, ${whole(state.skipped)} skipped. The labels are in ${state.file}.`));
  }

  // -- beside the document -------------------------------------------------------------------

  async function showSide() {
    const progress = await get("/progress");
    const last = progress.curve.at(-1);
    const accuracy = h("section", {}, h("h2", {}, "Accuracy"),
      last ? [h("p.figure", {}, percent(last.value), h("small", {}, `${Math.round(100 * last.low)} to ${percent(last.high)}`)), curve(progress.curve)]
        : h("p.muted.small", {}, `Appears when ten randomly chosen documents are labelled (${progress.drawn} so far).`));
    const hint = progress.hint && h("section", {}, h("h2", {}, "When to stop"), h("p.muted.small", {}, progress.hint));
    const most = Math.max(1, ...state.classes.map((one) => one.labels));
    const shown = [...state.classes].sort((a, b) => b.labels - a.labels).slice(0, 12);
    const tally = shown.length && h("section", {}, h("h2", {}, "Labels"), h("ul.tally", {}, shown.map((one) => h("li", {},
      h("span.name", { dir: "auto", title: one.name }, one.name), h("span.muted.number", {}, whole(one.labels)),
      h("span.track", {}, h("span.fill", { style: { width: `${(100 * one.labels) / most}%`, display: "block" } }))))));
    const seeded = state.classes.filter((one) => one.seeds.length).map((one) => one.name);
    const order = seeded.length > 0 && h("section", {}, h("h2", {}, h("label", { htmlFor: "order" }, "Next documents")),
      h("select", { id: "order", onchange: (event) => startOver(event.target.value) },
        h("option", { value: "", selected: !bySeeds }, "Suggested"), seeded.map((name) => h("option", { value: name, selected: name === bySeeds }, `Closest to the seed words of ${name}`))));
    const begin = !state.labelled && !seeded.length && h("section", {}, h("h2", {}, "Where to begin"),
      h("p.muted.small", {}, "Choose a class for the document, or name a new one. To start even faster, give each class a few ", h("a", { href: "/seeds", "data-view": "" }, "seed words"), "."));
    side.replaceChildren(...[begin || accuracy, h("div.stack", {}, begin ? "" : hint || "", order || "", tally || "")].filter(Boolean));
  }

  // -- keys ----------------------------------------------------------------------------------

  function onkey(event) {
    if (event.metaKey || event.ctrlKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (event.target.matches("input, textarea, select")) return;
    if (event.repeat && !event.key.startsWith("Arrow")) return; // a key that is held is meant once
    const onButton = event.target.matches("button:not(.pick), a"); // Enter is for it
    const place = KEYS.indexOf(event.key);
    const names = keyed();
    if (place >= 0 && place < names.length) choose(names[place]);
    else if (alike && (event.key === "Escape" || event.key === "Backspace")) { alike = null; showDocument(); }
    else if (alike && event.key.startsWith("Arrow")) moveFocus(event.key === "ArrowRight" || event.key === "ArrowDown" ? 1 : -1);
    else if (alike && event.key === "Enter" && !onButton && alike.name) labelTogether(alike.name);
    else if (!alike && event.key === "Enter" && !onButton && current?.predictions[0]) choose(current.predictions[0].name);
    else if (event.key === "s" && !alike) choose("");
    else if (event.key === "u") undo();
    else if (event.key === "c" || event.key === "/") type();
    else if (event.key === "l" && !alike) lookAlikes();
    else return;
    event.preventDefault();
  }

  function moveFocus(step) {
    const cards = [...main.querySelectorAll(".pick")];
    const next = cards.indexOf(document.activeElement) + step;
    cards[(next + cards.length) % cards.length]?.focus();
  }

  document.addEventListener("keydown", onkey);
  const stop = listen((before, now) => {
    if (before.revision !== now.revision && now.revision !== revision) refreshPredictions().catch(() => {});
    else if (!current) fetchQueue().then(() => current || showDocument()).catch(() => {}); // labels were saved, or removed
    if (before.measured !== now.measured || before.labelled !== now.labelled || before.revision < 0) showSide().catch(() => {});
    if (before.phase !== now.phase || JSON.stringify(before.classes) !== JSON.stringify(now.classes)) showDocument();
  });
  showDocument();
  showSide().catch(() => {});
  if (current) refreshPredictions({ all: true }).catch(() => {});
  else fetchQueue().then(() => current || showDocument()).catch(() => {});
  return () => {
    left = true;
    stop();
    document.removeEventListener("keydown", onkey);
  };
}
