// Files to keep: tables as CSV, pictures as PNG or SVG.

import { h } from "./dom.js";

function save(name, content) {
  const url = URL.createObjectURL(content);
  h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

// A cell that begins like a formula would be run by a spreadsheet.
const cell = (value) => {
  let text = String(value ?? "");
  if (typeof value === "string" && /^[=+\-@\t\r]/.test(text)) text = "'" + text;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

export function saveCsv(name, heads, rows) {
  const lines = [heads, ...rows].map((row) => row.map(cell).join(","));
  save(name, new Blob(["\ufeff" + lines.join("\r\n") + "\r\n"], { type: "text/csv" }));
}

export const saveText = (name, text, type = "text/plain") => save(name, new Blob([text], { type }));

export function savePng(name, canvas) {
  canvas.toBlob((blob) => save(name, blob), "image/png");
}

/** A view's title, the sentence that explains it, and what can be downloaded from it. */
export function head(title, lead, ...buttons) {
  return h("div.head", {}, h("h1", {}, title), h("div.row.tools", {}, buttons), h("p.lead", {}, lead));
}

export const download = (text, onclick) => h("button.download", { onclick, "aria-label": `Download ${text}` }, `↓ ${text}`);
