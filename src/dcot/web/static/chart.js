// Accuracy by number of labels, as a line with its interval.

import { svg } from "./dom.js";

export function curve(points, { width = 320, height = 160, detailed = false } = {}) {
  const left = 36, right = 8, top = 8, bottom = detailed ? 36 : 22;
  const last = points[points.length - 1].labels;
  const low = Math.max(0, Math.floor(10 * Math.min(...points.map((p) => p.low))) / 10);
  const x = (labels) => left + ((width - left - right) * labels) / last;
  const y = (value) => top + ((height - top - bottom) * (1 - value)) / (1 - low || 1);
  const at = (labels, value) => `${x(labels).toFixed(1)},${y(value).toFixed(1)}`;
  const upper = points.map((p) => at(p.labels, p.high));
  const lower = points.map((p) => at(p.labels, p.low)).reverse();
  const said = `Accuracy after ${last} labels: ${Math.round(100 * points.at(-1).value)} percent`;
  const chart = svg("svg", { viewBox: `0 0 ${width} ${height}`, class: "chart", role: "img", "aria-label": said });
  const steps = [low, (low + 1) / 2, 1];
  for (const value of steps) {
    chart.append(svg("line", { class: "rule", x1: left, x2: width - right, y1: y(value), y2: y(value) }));
    const label = svg("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" });
    label.textContent = `${Math.round(100 * value)}`;
    chart.append(label);
  }
  chart.append(svg("polygon", { class: "band", points: [...upper, ...lower].join(" ") }));
  chart.append(svg("polyline", { class: "line", points: points.map((p) => at(p.labels, p.value)).join(" ") }));
  for (const p of points) {
    const dot = svg("circle", { class: "point", cx: x(p.labels), cy: y(p.value), r: detailed ? 3.5 : 2.5 });
    const title = svg("title");
    title.textContent = `${p.labels} labels: ${(100 * p.value).toFixed(1)} % (${(100 * p.low).toFixed(0)} to ${(100 * p.high).toFixed(0)})`;
    dot.append(title);
    chart.append(dot);
  }
  const ends = detailed ? [points[0].labels, Math.round(last / 2), last] : [points[0].labels, last];
  for (const labels of new Set(ends)) {
    const label = svg("text", { x: x(labels), y: height - bottom + 16, "text-anchor": labels === last ? "end" : "middle" });
    label.textContent = labels;
    chart.append(label);
  }
  if (detailed) {
    const axis = svg("text", { x: (left + width - right) / 2, y: height - 4, "text-anchor": "middle" });
    axis.textContent = "labels";
    chart.append(axis);
  }
  return chart;
}
