// Category shares as bars: what is wanted, what scores alone show, what is shown now.

import { markShape } from "./categories.js";
import { shape } from "./dom.js";
import { cut, scale, ticks } from "./figures.js";
import { percent, wantedWords } from "./numbers.js";

const MOST_BARS = 24;

// shares: { names, target, high, before, after }, one entry a category each; returns the height.
export function drawBars(svg, width, shares) {
  const narrow = width < 430;
  const left = narrow ? 114 : 146;
  const each = 34;
  const order = largestFirst(shares);
  const bottom = 34 + order.length * each;
  const most = Math.max(0.05, ...order.map((at) => Math.max(shares.high[at], shares.before[at], shares.after[at])));
  const x = scale(0, most, left, width - 12);
  for (const value of ticks(0, most, narrow ? 3 : 5)) {
    svg.append(shape("line", { class: "grid", x1: x(value), x2: x(value), y1: 26, y2: bottom }));
    svg.append(shape("text", { class: "tick", x: x(value), y: bottom + 16, "text-anchor": "middle" }, percent(value, 0)));
  }
  drawKey(svg, left);
  order.forEach((category, row) => drawCategory(svg, shares, category, 32 + row * each, left, x, narrow ? 12 : 16));
  return bottom + 24;
}

// The categories with the largest shares anywhere; the rest is told in words by whoever draws.
export function largestFirst(shares) {
  const size = (at) => Math.max(shares.target[at], shares.before[at], shares.after[at]);
  const order = shares.names.map((_, at) => at).filter((at) => size(at) > 0.0005);
  order.sort((one, other) => shares.target[other] - shares.target[one] || size(other) - size(one));
  return order.slice(0, MOST_BARS);
}

function drawCategory(svg, shares, category, top, left, x, letters) {
  const mark = markShape(shares.offset + category, 11);
  const place = shape("g", { transform: `translate(${left - 12} ${top + 12})` }, mark);
  const name = shape("text", { class: "name", x: left - 24, y: top + 16, "text-anchor": "end" }, cut(shares.names[category], letters));
  name.append(shape("title", {}, shares.names[category]));
  svg.append(name, place);
  const length = (value) => Math.max(0, x(value) - x(0));
  svg.append(
    shape("rect", { class: "bar-before", x: left, y: top + 2, width: length(shares.before[category]), height: 9 }, shape("title", {}, `before: ${percent(shares.before[category])}`)),
    shape("rect", { class: "bar-after", x: left, y: top + 14, width: length(shares.after[category]), height: 9 }, shape("title", {}, `after: ${percent(shares.after[category])}`)),
    shape("line", { class: "bar-target", x1: x(shares.target[category]), x2: x(shares.target[category]), y1: top - 2, y2: top + 27 }),
  );
  if (shares.high[category] > shares.target[category]) {
    svg.append(shape("line", { class: "bar-target", x1: x(shares.high[category]), x2: x(shares.high[category]), y1: top - 2, y2: top + 27 }));
  }
}

function drawKey(svg, left) {
  svg.append(
    shape("line", { class: "bar-target", x1: left + 4, x2: left + 4, y1: 2, y2: 18 }),
    shape("text", { class: "key", x: left + 12, y: 14 }, "target"),
    shape("rect", { class: "bar-before", x: left + 62, y: 5, width: 18, height: 9 }),
    shape("text", { class: "key", x: left + 84, y: 14 }, "before"),
    shape("rect", { class: "bar-after", x: left + 138, y: 5, width: 18, height: 9 }),
    shape("text", { class: "key", x: left + 160, y: 14 }, "after"),
  );
}

// The category whose share comes nearer to its target than any other, in words.
export function describeBars(shares) {
  const order = largestFirst(shares);
  if (order.length === 0) return "";
  const outside = (at, share) => Math.max(shares.target[at] - share, share - shares.high[at], 0);
  const off = (at) => outside(at, shares.before[at]) - outside(at, shares.after[at]);
  const most = order.reduce((best, at) => (off(at) > off(best) ? at : best), order[0]);
  const left = shares.names.length > order.length ? " Categories with hardly a share are not drawn." : "";
  if (off(most) < 0.0005) return `The shares hardly change.${left}`;
  return `${shares.names[most]} moves most: ${wantedWords(shares.target[most], shares.high[most])} is wanted, ${percent(shares.before[most])} by score alone, ${percent(shares.after[most])} now.${left}`;
}
