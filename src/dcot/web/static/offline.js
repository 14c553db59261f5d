// Answers from the data inside an exported page, in the form in which the server gives them.
//
// The data has the most common words with their strongest prototypes. A text is the sum of its
// words, so what it means, what is near it and which words count can be computed from these.

import { ApiError } from "./api.js";
import { unpack } from "./colours.js";

const WORD = /[\p{L}\p{N}_]+/gu;
const SNIPPET = 320;

function cosine(a, b) {
  const times = (one, other) => one.reduce((sum, value, p) => sum + value * other[p], 0);
  return times(a, b) / (Math.sqrt(times(a, a) * times(b, b)) || 1);
}

export class Offline {
  constructor(data) {
    const { words, documents } = data;
    Object.assign(this, { data, terms: words.terms, width: words.width, documents });
    this.place = new Map(this.terms.map((term, k) => [term, k]));
    this.idf = unpack(words.idf, Float32Array);
    this.near = unpack(words.near, Uint16Array);
    this.cosines = unpack(words.cosines, Uint8Array);
    this.layers = words.layers.map((one) => ({ places: unpack(one.places, Uint16Array), values: unpack(one.values, Int16Array), scale: one.scale }));
  }

  async ask(path, query = {}) {
    const answer = this["ask" + path.replaceAll("/", "_")];
    if (!answer) throw new ApiError(404, { error: "An exported page cannot do this: start dcot explore." });
    return answer.call(this, query);
  }

  // -- texts ---------------------------------------------------------------------------------

  /** The known words of a text with their weights, as TF-IDF of length one. */
  read(text) {
    const counts = new Map();
    for (const [word] of text.toLowerCase().matchAll(WORD)) {
      const k = this.place.get(word);
      if (k !== undefined) counts.set(k, (counts.get(k) || 0) + 1);
    }
    const found = [...counts].map(([k, n]) => [k, (1 + Math.log(n)) * this.idf[k]]);
    const length = Math.hypot(...found.map(([, weight]) => weight)) || 1;
    return found.map(([k, weight]) => [k, weight / length]);
  }

  /** What a word adds to each of its prototypes: [prototype, value]. */
  *adds(k, { places, values, scale }) {
    for (let t = k * this.width; t < (k + 1) * this.width; t++) if (values[t]) yield [places[t], values[t] * scale];
  }

  sum(words, layer) {
    const total = new Float64Array(this.data.words.prototypes.length);
    for (const [k, weight] of words) for (const [p, value] of this.adds(k, layer)) total[p] += weight * value;
    return total;
  }

  /** Each word's share in the direction of `total`. */
  shares(words, total, layer) {
    return words.map(([k, weight]) => {
      let share = 0;
      for (const [p, value] of this.adds(k, layer)) share += weight * value * total[p];
      return [k, share];
    });
  }

  pieces(text, shares) {
    const by = new Map(shares), most = Math.max(...shares.map(([, share]) => Math.abs(share)), 1e-12);
    const found = [];
    let end = 0;
    for (const match of text.matchAll(WORD)) {
      const share = (by.get(this.place.get(match[0].toLowerCase())) || 0) / most;
      if (!share) continue;
      found.push([text.slice(end, match.index), 0], [match[0], share]);
      end = match.index + match[0].length;
    }
    return [...found, [text.slice(end), 0]];
  }

  meaning(words, layer, number) {
    const total = this.sum(words, layer);
    const best = [...total.keys()].sort((a, b) => total[b] - total[a]).slice(0, 10).filter((p) => total[p]);
    const from = new Map(best.map((p) => [p, []]));
    for (const [k, weight] of words) for (const [p, value] of this.adds(k, layer)) from.get(p)?.push([this.terms[k], weight * value]);
    const prototypes = best.map((p) => ({ word: this.data.words.prototypes[p], value: total[p], from: from.get(p).sort((a, b) => Math.abs(b[1]) - Math.abs(a[1])).slice(0, 6) }));
    return { layer: number, prototypes };
  }

  ask_write({ text, focus }) {
    const words = this.read(text);
    const layers = this.layers.map((layer, k) => this.meaning(words, layer, k + 1));
    const last = this.layers.at(-1), total = this.sum(words, last);
    let shares = this.shares(words, total, last), by = "the whole";
    const pressed = focus && layers[focus.layer - 1]?.prototypes.find((one) => one.word === focus.prototype);
    if (pressed) {
      const p = this.data.words.prototypes.indexOf(focus.prototype);
      const one = new Float64Array(total.length);
      one[p] = 1;
      shares = this.shares(words, one, this.layers[focus.layer - 1]);
      by = `${focus.prototype} in layer ${focus.layer}`;
    }
    return { layers, known: words.length, pieces: this.pieces(text, shares), shaded_by: by, classes: [] };
  }

  // -- words ---------------------------------------------------------------------------------

  ask_about() {
    return this.data.about;
  }

  ask_words({ start = "", n = 12 }) {
    const wanted = start.toLowerCase();
    if (!wanted) return { words: this.data.word_map.words.slice(0, n) };
    return { words: this.terms.filter((term) => term.startsWith(wanted)).slice(0, n) };
  }

  ask_word({ word, n = 12 }) {
    const k = this.place.get(word) ?? this.place.get(word.toLowerCase());
    if (k === undefined) throw new ApiError(404, { error: `“${word}” is not among the words of this file`, near: this.ask_words({ start: word.slice(0, 3), n: 5 }).words });
    const { words } = this.data, name = this.terms[k], p = words.prototypes.indexOf(name);
    const last = this.layers.at(-1);
    const cohort = p < 0 ? [] : this.terms.map((other, j) => ({ word: other, value: [...this.adds(j, last)].find(([q]) => q === p)?.[1] || 0 }))
      .filter((one) => one.value > 0 && one.word !== name).sort((a, b) => b.value - a.value).slice(0, n);
    const columns = this.near.length / this.terms.length;
    const neighbours = Array.from({ length: Math.min(n, columns) }, (_, t) => ({ word: this.terms[this.near[k * columns + t]], value: this.cosines[k * columns + t] / 255 }));
    return { word: name, documents: words.documents ? words.documents[k] : null, rank: this.idf.indexOf(this.idf[k]) + 1, prototype: p >= 0, layers: this.layers.map((layer, j) => this.meaning([[k, 1]], layer, j + 1)), neighbours, cohort };
  }

  // -- documents -----------------------------------------------------------------------------

  /** Words and first-layer values of every document; computed when they are first needed. */
  get vectors() {
    this.made ||= this.documents.map((one) => {
      const words = this.read(one.text), total = this.sum(words, this.layers[0]);
      return { words, total, length: Math.sqrt(1 + total.reduce((sum, value) => sum + value * value, 0)) };
    });
    return this.made;
  }

  listed(row, shares = []) {
    const one = this.documents[row], text = one.text;
    const short = text.length > SNIPPET ? text.slice(0, SNIPPET) + " …" : text;
    return { row, id: one.id, label: one.label, predicted: one.predicted, pieces: this.pieces(short, shares) };
  }

  /** Documents by their similarity to words, with each word's share in it. */
  ranked(words, total, n, { by = "score", but = -1 } = {}) {
    const own = new Map(words), length = Math.sqrt(1 + total.reduce((sum, value) => sum + value * value, 0));
    const scored = this.vectors.map((one, row) => {
      const shares = this.shares(one.words, total, this.layers[0]).map(([k, share], j) => [k, share + (own.get(k) || 0) * one.words[j][1]]);
      return { row, shares, score: shares.reduce((sum, [, share]) => sum + share, 0) / (one.length * length), similarity: cosine(total, one.total) };
    });
    return scored.filter((one) => one.row !== but && one[by] > 0).sort((a, b) => b[by] - a[by]).slice(0, n);
  }

  find(q, n) {
    const words = this.read(q);
    return { words, hits: words.length ? this.ranked(words, this.sum(words, this.layers[0]), n) : [] };
  }

  ask_search({ q = "", n = 20, start = 0 }) {
    if (!q.trim()) {
      const rows = this.documents.slice(start, start + n).map((_, k) => this.listed(start + k));
      return { known: true, total: this.documents.length, documents: rows };
    }
    const { words, hits } = this.find(q, n), own = new Set(words.map(([k]) => k));
    const documents = hits.map(({ row, shares, score, similarity }) => {
      const soft = shares.map(([k, share]) => [k, Math.sign(share) * Math.sqrt(Math.abs(share))]);
      const best = [...shares].sort((a, b) => b[1] - a[1]).slice(0, 4).filter(([, share]) => share > 0.02 * score);
      const reasons = best.map(([k, share]) => ({ word: this.terms[k], share, like: own.has(k) ? null : q.trim() }));
      return { ...this.listed(row, soft), similarity, bm25: null, score, reasons };
    });
    return { known: words.length > 0, total: documents.length, documents };
  }

  ask_document({ id, row, q = "" }) {
    const k = id === undefined ? Number(row) : this.documents.findIndex((one) => one.id === id);
    const one = this.documents[k];
    if (!one) throw new ApiError(404, { error: "This document is not in the exported file." });
    const { words, total } = this.vectors[k];
    const asked = q && this.read(q), layer = asked ? this.layers[0] : this.layers.at(-1);
    const shares = this.shares(words, this.sum(asked || words, layer), layer);
    const neighbours = this.ranked(words, total, 8, { by: "similarity", but: k }).map((other) => ({ ...this.listed(other.row, other.shares), similarity: other.similarity }));
    return { ...this.listed(k), length: one.text.length, pieces: this.pieces(one.text, shares), shaded_by: asked ? `the similarity to “${q}”` : "its meaning", classes: one.classes, metadata: one.metadata, neighbours };
  }

  ask_preview({ row }) {
    return this.listed(Number(row));
  }

  // -- the map and the model -----------------------------------------------------------------

  ask_map() {
    return this.data.map;
  }

  ask_map_words() {
    return this.data.word_map;
  }

  ask_lit({ q }) {
    const { words, hits } = this.find(q, 300);
    return { known: words.length > 0, rows: hits.filter((one) => one.score >= 0.35 * hits[0].score).map((one) => one.row) };
  }

  chosen(mask) {
    const bytes = unpack(mask, Uint8Array);
    return [...this.documents.keys()].filter((k) => bytes[k >> 3] & (1 << (k & 7)));
  }

  ask_region({ mask }) {
    const rows = this.chosen(mask), n = this.documents.length, slack = 0.5 / n;
    const inside = new Float64Array(this.terms.length), all = new Float64Array(this.terms.length), member = new Set(rows);
    this.vectors.forEach((one, row) => one.words.forEach(([k]) => { all[k]++; if (member.has(row)) inside[k]++; }));
    const words = this.terms.map((word, k) => {
      const own = inside[k] / Math.max(1, rows.length), others = (all[k] - inside[k]) / Math.max(1, n - rows.length);
      return { word, inside: own, outside: others, score: own > others ? (own - others) * Math.log((own + slack) / (others + slack)) ** 2 : 0 };
    }).filter((one) => one.score > 0).sort((a, b) => b.score - a.score).slice(0, 24);
    const step = Math.max(1, Math.floor(rows.length / 5));
    return { count: rows.length, words, documents: rows.filter((_, k) => k % step === 0).slice(0, 5).map((row) => this.listed(row)) };
  }

  ask_region_rows({ mask }) {
    return this.chosen(mask).map((row) => this.documents[row]);
  }

  ask_model() {
    return this.data.model;
  }

  ask_cell({ given, predicted }) {
    const rows = this.data.cells.filter((one) => one[1] === given && one[2] === predicted).map((one) => one[0]);
    return { known: true, total: rows.length, documents: rows.slice(0, 20).map((row) => this.listed(row)) };
  }
}
