// The map of documents, and the map of words: look, search, colour, filter, and draw around a region.

import { colouring, NOTHING, shown, unpack } from "./colours.js";
import { announce, h, percent, plural, shaded, whole } from "./dom.js";
import { inside, MapCanvas } from "./map-canvas.js";
import { go, here, link, note } from "./route.js";
import { download, head, saveCsv, savePng, saveText } from "./save.js";
import { get, offline, post } from "./source.js";
import { whenReady } from "./waiting.js";

export function mapView(root, query, about) {
  let map = { close() {}, busy: () => false }, draft = false, left = false;
  const words = query.of === "words" || !about.documents;

  async function show(now) {
    draft = about.phase === "refining";
    try {
      const answer = await get(words ? "/map/words" : "/map");
      if (left) return;
      map.close();
      root.replaceChildren();
      map = words ? wordMap(root, now, about, answer) : documentMap(root, now, about, answer);
    } catch (error) {
      root.replaceChildren(h("div.card.empty", {}, h("p", {}, error.message)));
    }
  }
  /** The first map is a quick one. The better one takes its place, unless a region is selected. */
  function better() {
    if (draft && !words && about.phase !== "refining" && !map.busy()) show(here().query);
  }

  const stop = whenReady(root, about, () => show(query), { phase: "refining", words: true });
  window.addEventListener("phase", better);
  return () => {
    left = true;
    window.removeEventListener("phase", better);
    stop();
    map.close();
  };
}

function unpacked(answer) {
  const scale = (codes) => Float32Array.from(codes, (code) => code / 65535);
  return { x: scale(unpack(answer.x, Uint16Array)), y: scale(unpack(answer.y, Uint16Array)) };
}

const tabs = (words, about) => about.documents > 0 && h("div.tabs", { role: "group", "aria-label": "Map of" },
  h("button", { "aria-pressed": String(!words), onclick: () => go("/map") }, "Documents"),
  h("button", { "aria-pressed": String(words), onclick: () => go("/map", { of: "words" }) }, "Words"));

const start = (query) => ({ x: Number(query.x ?? 0.5), y: Number(query.y ?? 0.5), zoom: Number(query.zoom ?? 1) });
const short = (value) => Number(value.toFixed(3));

// A polygon in the address: at most 40 corners, in hundred thousandths, shifted so that none is negative.
const packRegion = (polygon) => polygon.filter((_, k) => k % Math.ceil(polygon.length / 40) === 0).map((corner) => corner.map((value) => Math.round(1e5 * (value + 1))).join("-")).join(".");
const unpackRegion = (text) => text.split(".").map((corner) => corner.split("-").map((value) => value / 1e5 - 1));

function zoomButtons(map) {
  return h("div.zoom", { role: "group", "aria-label": "Zoom" },
    h("button", { "aria-label": "Zoom in", onclick: () => map().zoomBy(1.5) }, "+"),
    h("button", { "aria-label": "Zoom out", onclick: () => map().zoomBy(1 / 1.5) }, "−"),
    h("button", { "aria-label": "Show the whole map", onclick: () => map().go({ x: 0.5, y: 0.5, zoom: 1 }) }, "⤢"));
}

/** Follow changes between light and dark. */
function onScheme(f) {
  const media = matchMedia("(prefers-color-scheme: dark)");
  media.addEventListener("change", f);
  return () => media.removeEventListener("change", f);
}

// -- words -----------------------------------------------------------------------------------

function wordMap(root, query, about, answer) {
  const { x, y } = unpacked(answer);
  const names = answer.words.map((text, k) => ({ level: 0, x: x[k], y: y[k], text }));
  const canvas = h("canvas.map", { tabIndex: 0, role: "img", "aria-label": `Map of ${answer.words.length} words. Arrow keys move, plus and minus zoom, Enter opens the word in the middle.` });
  let colour = colouring(null).of();
  const scene = () => ({ n: x.length, x, y, colour: () => colour, state: () => 1, ring: -1, names, words: true });
  const open = (k) => k >= 0 && go("/words", { word: answer.words[k] });
  const map = new MapCanvas(canvas, scene, { moved: (view) => note("/map", { of: "words", x: short(view.x), y: short(view.y), zoom: short(view.zoom) }), pointed: (k) => { canvas.style.cursor = k >= 0 ? "pointer" : ""; }, pressed: open });
  root.append(
    head("Map", `The ${plural(answer.words.length, "most common word")}. Words that are used in the same way are close together. Zoom in to see more of them; click one to look it up.`,
      download("CSV", () => saveCsv("words-map.csv", ["word", "x", "y"], answer.words.map((word, k) => [word, short(x[k]), short(y[k])]))), download("PNG", () => savePng("words-map.png", canvas))),
    tabs(true, about) || "", h("div.map-frame.card", {}, canvas, zoomButtons(() => map)));
  map.go(start(query));
  const stop = onScheme(() => { colour = colouring(null).of(); map.draw(); });
  return { close() { stop(); map.close(); }, busy: () => false };
}

// -- documents -------------------------------------------------------------------------------

function documentMap(root, query, about, answer) {
  const { n } = answer;
  const { x, y } = unpacked(answer);
  const rows = answer.rows ? unpack(answer.rows, Uint32Array) : null;
  const row = (k) => (rows ? rows[k] : k);
  const placeOf = (wanted) => (rows ? rows.indexOf(wanted) : wanted < n ? wanted : -1);
  const columns = answer.columns.map((one) => ({ ...one, codes: unpack(one.codes, Uint16Array) }));
  let column = columns.find((one) => one.name === query.colour) || (query.colour === undefined && columns.find((one) => one.kind === "category")) || null;
  let colours = colouring(column);
  let only = new Set(query.only ? query.only.split(".").map(Number) : []);
  const dates = columns.find((one) => one.kind === "date");
  const periods = new Map(); // of the first column of dates, and of the one that colours: the codes that are shown
  const setPeriod = (one, given) => one && one.kind !== "category" && periods.set(one, given ? given.split(".").map(Number) : [0, 65534]);
  setPeriod(dates, query.period);
  if (column !== dates) setPeriod(column, query.range);
  let lit = null, chosen = null, region = "", ring = query.row === undefined ? -1 : placeOf(Number(query.row)), asked = 0;

  const canvas = h("canvas.map", { tabIndex: 0, role: "img", "aria-label": `Map of ${plural(n, "document")}. Arrow keys move, plus and minus zoom, Enter opens the document in the middle.` });
  const tip = h("div.tip", { hidden: true, role: "tooltip" });
  const panel = h("aside.panel.stack", { "aria-label": "Details", "aria-live": "polite" });
  const legend = h("div.map-legend"), sliders = h("div.row"), hits = h("p.small.muted");
  const input = h("input", { type: "search", id: "light", value: query.q || "", placeholder: "Search the map", maxLength: 2000 });
  const pick = h("select", { id: "colour", onchange: () => { colourBy(columns.find((one) => one.name === pick.value) || null); remember(); } },
    h("option", { value: "", selected: !column }, "nothing"), columns.map((one) => h("option", { value: one.name, selected: one === column }, one.name)));
  const lassoButton = h("button", { "aria-pressed": "false", title: "Draw around documents to select them (or hold Shift while you draw)", onclick: () => { map.lassoing = !map.lassoing; lassoButton.setAttribute("aria-pressed", String(map.lassoing)); canvas.classList.toggle("lassoing", map.lassoing); } }, "Select a region");

  let narrowed = []; // those of the periods that leave something out
  const narrow = () => { narrowed = [...periods].filter(([, [low, high]]) => low > 0 || high < 65534); };
  const limits = (one) => narrowed.find(([other]) => other === one)?.[1].join(".") || "";
  narrow();
  const visible = (k) => {
    for (const [one, [low, high]] of narrowed) {
      const code = one.codes[k];
      if (code === NOTHING || code < low || code > high) return false;
    }
    return !only.size || !column || only.has(column.codes[k]);
  };
  // 0 is not drawn, 1 is pale, 2 as usual, 3 stands out
  const state = (k) => {
    if (!visible(k)) return 0;
    if (chosen) return chosen.has(k) ? 2 : 1;
    if (lit) return lit.has(k) ? 3 : 1;
    return 2;
  };
  const scene = () => ({ n, x, y, colour: (k) => colours.of(column ? column.codes[k] : 0), state, lit: lit !== null, ring, names: answer.regions, words: false });
  const remember = () => note("/map", { colour: column ? column.name : columns.length ? "" : undefined, region, only: [...only].join("."), period: limits(dates), range: column !== dates ? limits(column) : "", q: input.value, row: ring >= 0 ? row(ring) : "", ...(map.view.zoom === 1 ? {} : { x: short(map.view.x), y: short(map.view.y), zoom: short(map.view.zoom) }) });
  const map = new MapCanvas(canvas, scene, { moved: remember, pointed: point, pressed: (k) => { ring = k; remember(); map.draw(); k >= 0 ? showDocument(k) : showNothing(); }, enclosed: (polygon) => select(packRegion(polygon)) });

  // -- one document --------------------------------------------------------------------------

  let tipped = -1;
  async function point(k, [px, py]) {
    canvas.style.cursor = k >= 0 ? "pointer" : "";
    if (k !== tipped) tip.hidden = true;
    tipped = k;
    if (k < 0) return;
    const number = ++asked;
    await new Promise((done) => setTimeout(done, 80));
    if (number !== asked || tipped !== k) return;
    const one = await get("/preview", { row: row(k) });
    if (tipped !== k) return;
    tip.replaceChildren(h("span.snippet", { dir: "auto" }, shaded(one.pieces)));
    tip.style.left = `${Math.min(px / map.dense + 12, Math.max(0, canvas.clientWidth - 300))}px`;
    tip.style.top = `${py / map.dense + 16}px`;
    tip.hidden = false;
  }

  async function showDocument(k) {
    const one = await get("/preview", { row: row(k) });
    const known = columns.map((other) => [other.name, other.codes[k] === NOTHING ? "" : other.kind === "category" ? other.values[other.codes[k]] : shown(other, other.codes[k])]).filter(([, value]) => value !== "");
    panel.replaceChildren(h("h2", { dir: "auto" }, `Document ${one.id}`), h("p.snippet", { dir: "auto" }, shaded(one.pieces)),
      h("dl.facts", {}, known.map(([name, value]) => [h("dt", { dir: "auto" }, name), h("dd", { dir: "auto" }, value)])), h("p", {}, link("/documents", { id: one.id }, "Read the document")));
  }

  function showNothing() {
    chosen = map.lasso = null;
    region = "";
    remember();
    map.draw();
    panel.replaceChildren(h("p.muted.small", {}, "Click a point to see its document. Zoom in to see the names of smaller regions."),
      h("p.muted.small", {}, "Select a region to see the words that set it apart, download it, or label it."),
      h("p", {}, h("button", { onclick: selectView }, "Select everything in view")));
  }

  // -- a region ------------------------------------------------------------------------------

  function selectView() {
    const { width, height } = canvas;
    select(packRegion([[0, 0], [width, 0], [width, height], [0, height]].map((corner) => map.from(...corner))));
  }

  /** Select what is inside a polygon, given as in the address. */
  async function select(wanted) {
    region = wanted;
    map.lasso = unpackRegion(region);
    chosen = new Set();
    for (let k = 0; k < n; k++) if (visible(k) && inside(x[k], y[k], map.lasso)) chosen.add(k);
    remember();
    map.draw();
    if (!chosen.size) return showNothing();
    const mask = new Uint8Array(Math.ceil(n / 8));
    for (const k of chosen) mask[k >> 3] |= 1 << (k & 7);
    let text = "";
    for (const byte of mask) text += String.fromCharCode(byte);
    const packed = btoa(text);
    panel.replaceChildren(h("p.waiting", {}, "One moment …"));
    try {
      showRegion(packed, await post("/region", { mask: packed }));
    } catch (error) {
      panel.replaceChildren(h("p", {}, error.message));
    }
  }

  function showRegion(mask, found) {
    announce(`${plural(found.count, "document")} selected.`);
    const name = h("input", { type: "text", id: "region-label", maxLength: 200, placeholder: "Label", autocomplete: "off" });
    const said = h("p.small.muted", { role: "status" });
    const label = async (event) => {
      event.preventDefault();
      try {
        const done = await post("/region/label", { mask, name: name.value.trim() });
        said.textContent = `${plural(done.labelled, "label")} saved to ${done.file}${done.kept ? `; ${plural(done.kept, "document")} already had one and kept it` : ""}.`;
      } catch (error) {
        said.textContent = error.message;
      }
    };
    panel.replaceChildren(
      h("div.row", {}, h("h2", {}, plural(found.count, "document")), h("button.quiet.end", { onclick: showNothing }, "Clear")),
      h("h3", {}, "Words that set them apart"),
      found.count === n ? h("p.muted.small", {}, "These are all the documents. Zoom in, filter or draw around some to compare them with the rest.") : found.words.length ? h("div.chips", {}, found.words.map((one) => h("a.chip", { href: "#", dir: "auto", title: `in ${percent(one.inside)} of these, ${percent(one.outside, 1)} of the others`, onclick: (event) => { event.preventDefault(); go("/words", { word: one.word }); } }, one.word, h("small.muted", {}, percent(one.inside))))) : h("p.muted.small", {}, "None."),
      h("h3", {}, "Examples"), ...found.documents.map((one) => h("p.snippet.small", { dir: "auto" }, link("/documents", { id: one.id }, one.id), " ", shaded(one.pieces))),
      h("div.row", {}, download("CSV", () => regionCsv(mask))),
      offline ? "" : h("form.stack", { onsubmit: label }, h("label.small.muted", { htmlFor: "region-label" }, `Label these documents, in ${about.labels}`), h("div.row.tight", {}, name, h("button.primary", {}, "Label")), said));
  }

  async function regionCsv(mask) {
    if (offline) {
      const found = await post("/region/rows", { mask });
      return saveCsv("region.csv", ["id", "label", "predicted", "text"], found.map((one) => [one.id, one.label, one.predicted, one.text]));
    }
    const response = await fetch("/api/region/csv", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ mask }) });
    saveText("region.csv", await response.text(), "text/csv");
  }

  // -- search, colours and time --------------------------------------------------------------

  async function light() {
    const q = input.value.trim();
    const found = q ? await get("/lit", { q }) : null;
    lit = found?.rows.length ? new Set(found.rows.map(placeOf).filter((k) => k >= 0)) : null;
    hits.textContent = !q ? "" : lit ? `${plural(lit.size, "document")} found` : found.known ? "Nothing found" : "Nothing found: the model knows none of these words";
    announce(hits.textContent);
    map.draw();
  }

  function colourBy(next) {
    if (column !== dates) periods.delete(column);
    column = next;
    only = new Set();
    if (column !== dates) setPeriod(column);
    narrow();
    recolour();
  }

  function recolour() {
    colours = colouring(column);
    const toggle = (code) => { if (!only.delete(code)) only.add(code); recolour(); remember(); };
    const categories = colours.legend.slice(0, 30).map((one) => h("button.key-row", { "aria-pressed": String(only.has(one.code)), title: `Show only ${one.name}`, onclick: () => toggle(one.code) },
      h("i", { style: { background: one.colour } }), h("span.name", { dir: "auto" }, one.name), h("span.muted.number", {}, whole(one.count))));
    const scale = colours.ramp && h("div.ramp", {}, h("span", {}, shown(column, 0)), h("i", { style: { background: `linear-gradient(to right, ${colours.ramp.join(", ")})` } }), h("span", {}, shown(column, 65534)));
    legend.replaceChildren(...[scale, ...categories].filter(Boolean), only.size ? h("button.quiet", { onclick: () => { only = new Set(); recolour(); remember(); } }, "Show all") : "",
      colours.legend.length > 30 ? h("p.muted.small", {}, `and ${colours.legend.length - 30} more`) : "");
    sliders.replaceChildren(...[...periods.keys()].map(slider));
    map.draw();
  }

  /** Two handles on one line, from and to. */
  function slider(of) {
    const period = periods.get(of);
    const text = h("output.small.muted.number"), span = h("span.span");
    const handle = (place, label) => h("input", { type: "range", min: 0, max: 65534, step: 1, value: period[place], "aria-label": label, onchange: () => remember(), oninput: (event) => {
      const value = Number(event.target.value);
      period[place] = place ? Math.max(value, period[0]) : Math.min(value, period[1]);
      event.target.value = period[place];
      narrow();
      show();
      map.draw();
    } });
    function show() {
      text.textContent = `${shown(of, period[0])} to ${shown(of, period[1])}`;
      span.style.left = `${period[0] / 655.34}%`;
      span.style.right = `${100 - period[1] / 655.34}%`;
    }
    show();
    return h("div.period", {}, h("span.small.muted", {}, of.name), h("div.handles", {}, span, handle(0, `${of.name} from`), handle(1, `${of.name} to`)), text);
  }

  const stated = answer.n < answer.total ? ` The map shows a random sample of ${whole(answer.n)} of ${plural(answer.total, "document")}.` : "";
  root.append(
    head("Map", `Every point is a document. Documents with a similar meaning are close together, and the names of regions are the words that set them apart.${stated}`,
      download("CSV", () => saveCsv("map.csv", ["row", "x", "y"], Array.from(x, (value, k) => [row(k), short(value), short(y[k])]))), download("PNG", () => savePng("map.png", canvas))),
    h("div.map-tools", {}, tabs(false, about),
      h("form.row.tight", { role: "search", onsubmit: (event) => { event.preventDefault(); remember(); light(); } }, h("label.unseen", { htmlFor: "light" }, "Search on the map"), input), hits,
      columns.length > 0 && h("span.row.tight", {}, h("label.small.muted", { htmlFor: "colour" }, "Colour"), pick), lassoButton, sliders),
    h("div.map-grid", {}, h("div.map-frame.card", {}, canvas, zoomButtons(() => map), tip), h("div.stack", {}, legend, panel)));
  input.addEventListener("search", () => { remember(); light(); });
  recolour();
  map.view = start(query);
  if (ring >= 0) {
    map.view = query.zoom ? map.view : { x: x[ring], y: y[ring], zoom: 3 };
    showDocument(ring);
  } else if (query.region) select(query.region);
  else showNothing();
  map.draw();
  if (input.value) light();
  const stop = onScheme(recolour);
  return { close() { stop(); map.close(); }, busy: () => chosen !== null };
}
