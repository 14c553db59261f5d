// A map on a canvas: points, names, panning and zooming, pointing and drawing around points.

const LEVELS = [1.7, 4]; // zoom from which finer names are shown
const DRAG = 4; // pixels from which a press is a drag

/** What is drawn is read from `scene` each time: {n, x, y, colour(k), state(k), lit, ring, names}. */
export class MapCanvas {
  constructor(canvas, scene, { moved = () => {}, pointed = () => {}, pressed = () => {}, enclosed = () => {} }) {
    Object.assign(this, { canvas, scene, moved, pointed, pressed, enclosed });
    this.view = { x: 0.5, y: 0.5, zoom: 1 };
    this.lasso = null;
    this.lassoing = false;
    this.paint = canvas.getContext("2d", { willReadFrequently: true });
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(canvas);
    this.listen();
  }

  close() {
    this.observer.disconnect();
    cancelAnimationFrame(this.frame);
  }

  // -- where things are ----------------------------------------------------------------------

  resize() {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    const dense = Math.min(devicePixelRatio || 1, 2);
    if (!width || !height) return;
    this.canvas.width = Math.round(width * dense);
    this.canvas.height = Math.round(height * dense);
    this.dense = dense;
    this.draw();
  }

  get size() {
    this.extent ||= extent(this.scene());
    const [wide, tall] = this.extent;
    return Math.min(this.canvas.width / wide, this.canvas.height / tall) * 0.9 * this.view.zoom;
  }

  /** From the unit square to pixels of the canvas, and back. */
  at(x, y, size = this.size) {
    return [this.canvas.width / 2 + (x - this.view.x) * size, this.canvas.height / 2 + (this.view.y - y) * size];
  }

  from(px, py) {
    const size = this.size;
    return [this.view.x + (px - this.canvas.width / 2) / size, this.view.y - (py - this.canvas.height / 2) / size];
  }

  go(view) {
    const zoom = Math.min(60, Math.max(0.7, view.zoom ?? this.view.zoom));
    const clamp = (value) => Math.min(1.1, Math.max(-0.1, value));
    this.view = { x: clamp(view.x ?? this.view.x), y: clamp(view.y ?? this.view.y), zoom };
    this.draw();
    clearTimeout(this.settling);
    this.settling = setTimeout(() => this.moved(this.view), 250);
  }

  zoomBy(factor, px = this.canvas.width / 2, py = this.canvas.height / 2) {
    const [x, y] = this.from(px, py);
    const zoom = Math.min(60, Math.max(0.7, this.view.zoom * factor));
    const change = this.view.zoom / zoom;
    this.go({ x: x + (this.view.x - x) * change, y: y + (this.view.y - y) * change, zoom });
  }

  /** The nearest point within some pixels; -1 if there is none. */
  nearest(px, py, reach = 12 * this.dense) {
    const { n, x, y, state } = this.scene();
    const size = this.size;
    let best = reach * reach, found = -1;
    for (let k = 0; k < n; k++) {
      if (!state(k)) continue;
      const [qx, qy] = this.at(x[k], y[k], size);
      const square = (qx - px) ** 2 + (qy - py) ** 2;
      if (square < best) [best, found] = [square, k];
    }
    return found;
  }

  // -- drawing -------------------------------------------------------------------------------

  draw() {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.drawNow());
  }

  drawNow() {
    const { width, height } = this.canvas;
    if (!width) return;
    const scene = this.scene();
    const style = getComputedStyle(this.canvas);
    this.paint.fillStyle = style.backgroundColor;
    this.paint.fillRect(0, 0, width, height);
    this.drawPoints(scene, [1, 2]);
    this.drawNames(scene, style);
    if (scene.lit) this.drawPoints(scene, [3]); // over the names
    if (this.lasso?.length > 1) this.drawLasso(style);
    this.canvas.dataset.drawn = String(scene.n);
  }

  /** Straight into the pixels: a million points take a tenth of a second. */
  drawPoints({ n, x, y, colour, state, ring }, levels) {
    const { width, height } = this.canvas;
    const image = this.paint.getImageData(0, 0, width, height);
    const crowd = Math.sqrt(20000 / Math.max(n, 1));
    const radius = Math.min(7, Math.max(0.8, 2.1 * crowd ** 0.5 * this.view.zoom ** 0.35)) * this.dense;
    const discs = [disc(Math.max(0.7, radius * 0.75)), disc(radius), disc(radius * 1.4)];
    const edge = disc(radius * 1.4 + 1.5 * this.dense); // around those that stand out
    const ink = getComputedStyle(this.canvas).color.match(/\d+/g).slice(0, 3).map(Number);
    const size = this.size;
    const alphas = [0.22, n > 50000 ? 0.55 : 0.72, 1];
    for (const level of levels) {
      for (let k = 0; k < n; k++) {
        if (state(k) !== level) continue;
        const [px, py] = this.at(x[k], y[k], size);
        if (px < -9 || py < -9 || px > width + 9 || py > height + 9) continue;
        if (level === 3) splat(image, Math.round(px), Math.round(py), edge, ink, 1);
        splat(image, Math.round(px), Math.round(py), discs[level - 1], colour(k), alphas[level - 1]);
      }
    }
    this.paint.putImageData(image, 0, 0);
    if (ring >= 0) {
      const [px, py] = this.at(x[ring], y[ring]);
      this.paint.strokeStyle = getComputedStyle(this.canvas).color;
      this.paint.lineWidth = 2 * this.dense;
      this.paint.beginPath();
      this.paint.arc(px, py, radius + 5 * this.dense, 0, 7);
      this.paint.stroke();
    }
  }

  /** Names that fit, the largest first, then finer ones where there is room; finer as one zooms in. */
  drawNames({ names, words }, style) {
    const finest = Math.max(0, ...names.map((one) => one.level));
    const level = Math.min(finest, LEVELS.filter((zoom) => this.view.zoom >= zoom).length);
    const taken = [], said = new Set();
    const paint = this.paint;
    paint.textAlign = "center";
    paint.textBaseline = "middle";
    paint.lineJoin = "round";
    for (const one of names) {
      if (!words && (one.level < level || one.level > level + 1 || said.has(one.words[0]))) continue;
      let [px, py] = this.at(one.x, one.y);
      if (px < 0 || py < 0 || px > this.canvas.width || py > this.canvas.height) continue;
      const big = (words ? 12 : [15, 13.5, 12.5][one.level]) * this.dense;
      paint.font = `${words || one.level > level ? 500 : 650} ${big}px ${style.fontFamily}`;
      const lines = words ? [one.text] : [one.words.slice(0, 2).join(", "), one.words[2]].filter(Boolean);
      const wide = Math.max(...lines.map((line) => paint.measureText(line).width)) / 2 + 4;
      const tall = (lines.length * big * 1.2) / 2 + 2;
      const buttons = py < 140 * this.dense ? 56 * this.dense : 0; // the zoom buttons are at the top right
      px = Math.min(Math.max(px, wide), this.canvas.width - wide - buttons);
      py = Math.min(Math.max(py, tall), this.canvas.height - tall);
      if (taken.some(([x, y, w, t]) => Math.abs(x - px) < w + wide && Math.abs(y - py) < t + tall)) continue;
      taken.push([px, py, wide, tall]);
      for (const word of one.words || []) said.add(word);
      paint.lineWidth = 4 * this.dense;
      paint.strokeStyle = style.backgroundColor;
      paint.fillStyle = style.color;
      lines.forEach((line, k) => {
        const top = py + (k - (lines.length - 1) / 2) * big * 1.2;
        paint.strokeText(line, px, top);
        paint.fillText(line, px, top);
      });
    }
  }

  drawLasso(style) {
    const paint = this.paint;
    paint.beginPath();
    for (const [x, y] of this.lasso) paint.lineTo(...this.at(x, y));
    paint.closePath();
    paint.strokeStyle = style.getPropertyValue("--accent");
    paint.lineWidth = 2 * this.dense;
    paint.setLineDash([6 * this.dense, 4 * this.dense]);
    paint.stroke();
    paint.setLineDash([]);
    paint.globalAlpha = 0.08;
    paint.fillStyle = paint.strokeStyle;
    paint.fill();
    paint.globalAlpha = 1;
  }

  // -- hands ---------------------------------------------------------------------------------

  listen() {
    const canvas = this.canvas;
    const pointers = new Map();
    let start = null, drawing = false, apart = 0;
    const place = (event) => {
      const box = canvas.getBoundingClientRect();
      return [(event.clientX - box.left) * this.dense, (event.clientY - box.top) * this.dense];
    };
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.zoomBy(Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.0016)), ...place(event));
    }, { passive: false });
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      pointers.set(event.pointerId, place(event));
      start = { at: place(event), view: this.view, dragged: false };
      drawing = this.lassoing || event.shiftKey;
      if (drawing) this.lasso = [this.from(...start.at)];
      apart = 0;
    });
    canvas.addEventListener("pointermove", (event) => {
      const here = place(event);
      if (!pointers.has(event.pointerId)) return this.pointed(this.nearest(...here), here);
      pointers.set(event.pointerId, here);
      if (pointers.size === 2) {
        const [one, two] = [...pointers.values()];
        const now = Math.hypot(one[0] - two[0], one[1] - two[1]);
        if (apart) this.zoomBy(now / apart, (one[0] + two[0]) / 2, (one[1] + two[1]) / 2);
        apart = now;
        start.dragged = true;
        return;
      }
      const [dx, dy] = [here[0] - start.at[0], here[1] - start.at[1]];
      if (Math.hypot(dx, dy) > DRAG * this.dense) start.dragged = true;
      if (drawing) {
        this.lasso.push(this.from(...here));
        this.draw();
      } else if (start.dragged) this.go({ x: start.view.x - dx / this.size, y: start.view.y + dy / this.size });
    });
    const end = (event) => {
      if (!pointers.delete(event.pointerId) || pointers.size) return;
      if (drawing && this.lasso.length > 3) this.enclosed(this.lasso);
      else if (drawing) this.lasso = null;
      else if (!start.dragged) this.pressed(this.nearest(...place(event)));
      drawing = false;
      this.draw();
    };
    canvas.addEventListener("pointerup", end);
    canvas.addEventListener("pointercancel", end);
    canvas.addEventListener("pointerleave", () => this.pointed(-1, [0, 0]));
    canvas.addEventListener("keydown", (event) => {
      const step = 0.12 / this.view.zoom;
      const moves = { ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, step], ArrowDown: [0, -step] };
      if (moves[event.key]) this.go({ x: this.view.x + moves[event.key][0], y: this.view.y + moves[event.key][1] });
      else if (event.key === "+" || event.key === "=") this.zoomBy(1.4);
      else if (event.key === "-") this.zoomBy(1 / 1.4);
      else if (event.key === "0") this.go({ x: 0.5, y: 0.5, zoom: 1 });
      else if (event.key === "Enter") this.pressed(this.nearest(this.canvas.width / 2, this.canvas.height / 2, 1e9));
      else return;
      event.preventDefault();
    });
  }
}

/** How far points reach from the middle of the unit square, twice. */
function extent({ x, y }) {
  const reach = (values) => Math.max(0.2, 2 * values.reduce((most, value) => Math.max(most, Math.abs(value - 0.5)), 0));
  return [reach(x), reach(y)];
}

/** Pixels of a disc with soft edges: [dx, dy, cover]. */
function disc(radius) {
  const found = [];
  const reach = Math.ceil(radius);
  for (let dy = -reach; dy <= reach; dy++) {
    for (let dx = -reach; dx <= reach; dx++) {
      const cover = Math.min(1, Math.max(0, radius + 0.5 - Math.hypot(dx, dy)));
      if (cover > 0) found.push([dx, dy, cover]);
    }
  }
  return found;
}

function splat({ data, width, height }, px, py, pixels, [red, green, blue], alpha) {
  for (const [dx, dy, cover] of pixels) {
    const x = px + dx, y = py + dy;
    if (x < 0 || y < 0 || x >= width || y >= height) continue;
    const place = 4 * (y * width + x);
    const share = alpha * cover;
    data[place] += (red - data[place]) * share;
    data[place + 1] += (green - data[place + 1]) * share;
    data[place + 2] += (blue - data[place + 2]) * share;
  }
}

/** Whether a point lies inside a polygon. */
export function inside(x, y, polygon) {
  let within = false;
  for (let i = 0, j = polygon.length - 1; i < polygon.length; j = i++) {
    const [ax, ay] = polygon[i], [bx, by] = polygon[j];
    if (ay > y !== by > y && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) within = !within;
  }
  return within;
}
