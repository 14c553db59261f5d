// The lowest contrast of any visible text with what is behind it, as WCAG defines it.
() => {
  const parse = (color) => {
    const parts = color.match(/[\d.]+/g).map(Number);
    return parts.length < 4 ? [...parts, 1] : parts;
  };
  const over = (top, ground) => [0, 1, 2].map((k) => top[k] * top[3] + ground[k] * (1 - top[3]));
  const linear = (value) => (value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
  const luminance = (color) => {
    const [red, green, blue] = color.map((value) => linear(value / 255));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const behind = (element) => {
    const layers = [];
    for (let e = element; e; e = e.parentElement) layers.push(parse(getComputedStyle(e).backgroundColor));
    return layers.reverse().reduce((ground, layer) => over(layer, ground), [255, 255, 255]);
  };
  const hasText = (e) => [...e.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
  let lowest = 99;
  for (const element of document.querySelectorAll("body *")) {
    if (!hasText(element) || !element.checkVisibility()) continue;
    if (element.closest(":disabled, .unseen, .skip, svg")) continue;
    const ground = behind(element);
    const ink = over(parse(getComputedStyle(element).color), ground);
    const [light, dark] = [luminance(ink), luminance(ground)].sort((a, b) => b - a);
    lowest = Math.min(lowest, (light + 0.05) / (dark + 0.05));
  }
  return lowest;
};
