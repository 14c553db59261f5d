// What layers make of a text: prototypes as bars, each with the words that made it.

import { h } from "./dom.js";
import { href } from "./route.js";

export const signed = (value) => (value < 0 ? "−" : "+") + Math.abs(value).toPrecision(2);

/** Columns of bars, one for each layer. With `choose`, a prototype can be pressed. */
export function layerColumns(layers, { chosen = null, choose = null, heading = "h2" } = {}) {
  return h("div.layers", {}, layers.map((part) => h("section", { "aria-label": `Layer ${part.layer}` },
    h(heading, {}, `Layer ${part.layer}`),
    h("ol.bars", {}, part.prototypes.map((one) => bar(part, one, chosen, choose))))));
}

function bar(part, one, chosen, choose) {
  const largest = Math.max(...part.prototypes.map((other) => Math.abs(other.value)), 1e-12);
  const pressed = chosen?.layer === part.layer && chosen?.prototype === one.word;
  const telling = one.from.filter(([, share]) => pressed || Math.abs(share) >= 0.1 * Math.abs(one.value));
  const from = one.from.length > 1 ? telling.map(([word, share]) => `${word} ${signed(share)}`).join(", ") : "";
  const inside = [
    h("span.fill", { style: { "--share": (Math.abs(one.value) / largest).toFixed(3) } }),
    h("span.name", { dir: "auto" }, one.word),
    h("span.value", {}, signed(one.value)),
    from && h("span.from", { dir: "auto" }, from),
  ];
  return h("li", {}, choose
    ? h("button.bar-row", { "aria-pressed": String(pressed), title: "Shade the text by this prototype", onclick: () => choose(pressed ? null : { layer: part.layer, prototype: one.word }) }, inside)
    : h("a.bar-row", { href: href("/words", { word: one.word }), "data-view": "" }, inside));
}

/** Rows for a CSV file. */
export const layerRows = (layers) => layers.flatMap((part) => part.prototypes.flatMap((one) =>
  one.from.map(([word, share]) => [part.layer, one.word, one.value, word, share])));

/** Words with values, as links to their page. */
export function rankedWords(words) {
  const largest = Math.max(...words.map((one) => one.value), 1e-12);
  return h("ol.bars", {}, words.map((one) => h("li", {}, h("a.bar-row", { href: href("/words", { word: one.word }), "data-view": "" },
    h("span.fill", { style: { "--share": (Math.max(one.value, 0) / largest).toFixed(3) } }),
    h("span.name", { dir: "auto" }, one.word), h("span.value", {}, one.value.toFixed(2))))));
}

/** Classes with their probabilities. */
export function classBars(classes) {
  return h("ul.tally", {}, classes.map((one, place) => h(place ? "li" : "li.best", {},
    h("span.name", { dir: "auto", title: one.name }, one.name), h("span.muted.number", {}, `${(100 * one.probability).toFixed(1)} %`),
    h("span.track", {}, h("span.fill", { style: { width: `${100 * one.probability}%`, display: "block" } })))));
}
