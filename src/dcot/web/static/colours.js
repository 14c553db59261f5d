// Colours of a column: one for each of the most frequent categories, or a scale.

const LIGHT = ["#2a56c6", "#d9822b", "#2f8f5b", "#b5483a", "#7a4fb5", "#0f8a99", "#a8892a", "#c0568f", "#4c7a1f", "#8a5a3c",
  "#5f8fe0", "#e8b04a", "#67b98a", "#dd8377", "#a98bd8", "#5ab9c4", "#cdb766", "#dd95bc", "#8fb55e", "#b08d75"];
const DARK = ["#7fa4ff", "#f0a65c", "#6fd3a0", "#ff9580", "#c4a3ff", "#5fd0de", "#e0c46a", "#f39cc6", "#b5dc6d", "#d8ab8c",
  "#4a72d8", "#c47a30", "#3d9b6c", "#c96352", "#8d68cf", "#2f9dab", "#a8903f", "#bd6592", "#7fa53f", "#9c765c"];
const RAMPS = [["#c9d6f5", "#2a56c6", "#0b1f57"], ["#2b3a66", "#7fa4ff", "#f3f6ff"]];
const GREY = ["#9a9da3", "#70757d"];
export const NOTHING = 65535;

const dark = () => matchMedia("(prefers-color-scheme: dark)").matches;
const rgb = (hex) => [1, 3, 5].map((k) => parseInt(hex.slice(k, k + 2), 16));

/** {of(code) → [r, g, b], legend: [{code, name, colour}]} for a column; for none, one colour. */
export function colouring(column) {
  const tone = Number(dark());
  const grey = rgb(GREY[tone]);
  const palette = [LIGHT, DARK][tone];
  if (!column) return { of: () => rgb(palette[0]), legend: [] };
  if (column.kind === "category") {
    const colours = palette.map(rgb);
    return {
      of: (code) => colours[code] || grey,
      legend: column.values.map((name, code) => ({ code, name, count: column.counts[code], colour: palette[code] || GREY[tone] })),
    };
  }
  const stops = RAMPS[tone].map(rgb);
  const steps = Array.from({ length: 64 }, (_, k) => {
    const at = (k / 63) * 2, low = Math.min(1, Math.floor(at));
    return stops[low].map((value, c) => Math.round(value + (stops[low + 1][c] - value) * (at - low)));
  });
  return { of: (code) => (code === NOTHING ? grey : steps[Math.round((code / 65534) * 63)]), legend: [], ramp: RAMPS[tone] };
}

/** A value of a scale, for people. */
export function shown(column, code) {
  const value = column.low + (code / 65534) * (column.high - column.low);
  if (column.kind === "date") return new Date(Math.round(value) * 864e5).toISOString().slice(0, 10);
  return Number(value.toPrecision(4)).toLocaleString("en");
}

export function unpack(text, Type) {
  const bytes = Uint8Array.from(atob(text), (one) => one.charCodeAt(0));
  return new Type(bytes.buffer);
}
