// Elements from values. Text is always set as text: nothing that comes from a corpus is markup.

/** An element: h("button.primary", {onclick: f}, "Save"). */
export function h(name, attributes = {}, ...children) {
  const [tag, ...classes] = name.split(".");
  const element = document.createElement(tag || "div");
  if (classes.length) element.className = classes.join(" ");
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "style") for (const [name, v] of Object.entries(value)) element.style.setProperty(name, v);
    else if (key in element && !key.startsWith("aria") && key !== "list" && key !== "role") element[key] = value;
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat(9).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** The same for drawings. */
export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children.flat());
  return element;
}

export const $ = (id) => document.getElementById(id);

/** Words of a document, shaded by their share of a decision. */
export function shaded(pieces) {
  return pieces.map(([text, share]) => {
    const size = Math.abs(share);
    if (size < 0.04) return text;
    const kind = share > 0 ? "for" : "against";
    const strong = size > 0.6 ? " strong" : "";
    return h("mark", { className: kind + strong, style: { "--share": size.toFixed(2) } }, text);
  });
}

export const percent = (share, digits = 0) => `${(100 * share).toFixed(digits)} %`;
export const whole = (number) => number.toLocaleString("en");
export const plural = (n, one, many = one + "s") => `${whole(n)} ${n === 1 ? one : many}`;

/** Tell a screen reader. */
export function announce(text) {
  $("announce").textContent = text;
}

let dialogs = 0;

/** A dialog that closes with Escape, its button or a click outside, and gives the focus back. */
export function dialog(title, ...content) {
  const before = document.activeElement;
  const id = `dialog-title-${++dialogs}`; // one may be over another
  const close = h("button.quiet.close", { "aria-label": "Close", onclick: () => element.close() }, "×");
  const element = h("dialog", { "aria-labelledby": id }, h("div.dialog-head", {}, h("h1", { id, tabIndex: -1, autofocus: true }, title), close), ...content);
  element.addEventListener("click", (event) => {
    if (event.target === element) element.close();
  });
  element.addEventListener("close", () => {
    element.remove();
    before?.focus?.();
  });
  document.body.append(element);
  element.showModal();
  return element;
}
