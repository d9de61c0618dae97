// The picture of everybody: relevance kept against deviation left, point by point, with a dot to drag along it.

import { setAim, aimText } from "./aim.js";
import { byId, element, shape } from "./dom.js";
import { makeFigure, scale, ticks } from "./figures.js";
import { compact, decimal, percent } from "./numbers.js";
import { gridOf, nothingYet, present, store, when } from "./store.js";
import { summarise } from "./summary.js";

const MARGIN = { top: 18, bottom: 46, left: 58 };

// The points of the curve that are complete, or the present one as far as it is known.
export function curve() {
  const found = [];
  for (const value of gridOf(store.aim.kind)) {
    const figures = store.figures.get(value);
    if (!figures || figures.counted === 0 || !(figures.complete || value === store.aim.value)) continue;
    const { columns } = figures;
    found.push({
      value,
      counted: figures.counted,
      deviation: summarise(columns.deviation),
      kept: summarise(columns.kept),
      ndcg: columns.ndcg && summarise(columns.ndcg, isShown),
      recall: columns.recall && summarise(columns.recall, isShown),
      tuned: columns.ndcg && summarise(columns.ndcg, isTuned),
    });
  }
  return found;
}

const isTuned = (at) => store.about.tuning[at];
const isShown = (at) => !store.about.tuning[at];

// The point that the tuning half of the users would choose by NDCG, once all points are known.
export function tunedPoint(points) {
  if (points.length < gridOf(store.aim.kind).length) return null;
  const known = points.filter((point) => point.tuned && point.tuned.count > 0);
  return known.reduce((best, point) => (!best || point.tuned.mean > best.tuned.mean ? point : best), null);
}

export function makeFrontier() {
  const rows = element("tbody");
  const head = ["point", "relevance kept", "middle 80%", "deviation left", "NDCG", "recall"];
  const heading = element("tr", {}, head.slice(0, store.about.truth ? 6 : 4).map((name) => element("th", { scope: "col" }, name)));
  const scroller = element("div", { class: "scroller", tabindex: 0, role: "region", "aria-label": "The points of the picture" }, element("table", {}, element("thead", {}, heading), rows));
  const table = element("details", {}, element("summary", {}, "The points as a table"), scroller);
  const made = makeFigure(byId("frontier"), "Relevance kept against deviation left", drawFrontier, describeFrontier, [table]);
  made.svg.setAttribute("role", "group");
  let waiting = false;
  const later = () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      const focused = document.activeElement?.classList.contains("dot");
      made.redraw();
      if (focused) made.svg.querySelector(".dot")?.focus();
      rows.replaceChildren(...curve().map(pointRow));
    });
  };
  when(["figures", "aim"], later);
}

function pointRow(point) {
  const cells = [
    aimText({ kind: store.aim.kind, value: point.value }),
    percent(point.kept.mean),
    `${percent(point.kept.low)} to ${percent(point.kept.high)}`,
    decimal(point.deviation.mean),
  ];
  if (store.about.truth) cells.push(withError(point.ndcg), withError(point.recall));
  return element("tr", {}, cells.map((cell, at) => element(at ? "td" : "th", at ? {} : { scope: "row" }, cell)));
}

export function withError(summary) {
  return `${decimal(summary.mean, 4)} ± ${decimal(summary.error, 4)}`;
}

function describeFrontier() {
  const points = curve();
  if (points.length === 0) return nothingYet();
  const here = points.find((point) => point.value === store.aim.value);
  const text = here
    ? `At ${aimText(store.aim)}, on average ${percent(here.kept.mean)} of the relevance is kept and a deviation of ${decimal(here.deviation.mean)} is left.`
    : "";
  const band = "The band holds the middle 80% of users.";
  const truth = store.about.truth ? " NDCG and recall, with standard errors, are of the half of the users that tuning does not see." : "";
  return `${text} ${band}${truth}`;
}

function drawFrontier(svg, width) {
  const height = Math.max(260, Math.min(420, Math.round(width * 0.5)));
  const points = curve();
  const right = store.about.truth ? 72 : 18;
  const inner = { left: MARGIN.left, right: width - right, top: MARGIN.top, bottom: height - MARGIN.bottom };
  if (points.length === 0) return present()?.complete ? 40 : height;
  const x = scale(0, Math.max(0.05, ...points.map((point) => point.deviation.mean)) * 1.04, inner.left, inner.right);
  const least = Math.min(...points.map((point) => point.kept.low));
  const y = scale(Math.max(0, least - 0.04 * (1 - least) - 0.002), 1.0, inner.bottom, inner.top);
  drawAxes(svg, inner, x, y, width);
  const line = points.filter((point) => point.counted > 0);
  const above = line.map((point) => `${x(point.deviation.mean)},${y(point.kept.high)}`);
  const below = line.map((point) => `${x(point.deviation.mean)},${y(point.kept.low)}`).reverse();
  svg.append(shape("polygon", { class: "band", points: [...above, ...below].join(" ") }));
  if (store.about.truth) drawTruth(svg, inner, x, line);
  svg.append(shape("polyline", { class: "curve", points: line.map((point) => `${x(point.deviation.mean)},${y(point.kept.mean)}`).join(" ") }));
  for (const point of line) svg.append(shape("circle", { class: "point", cx: x(point.deviation.mean), cy: y(point.kept.mean), r: 3.5 }));
  drawDot(svg, line, x, y);
  return height;
}

function drawAxes(svg, inner, x, y, width) {
  const [low, high] = [invert(y, inner.bottom, inner.top), 1];
  for (const value of ticks(low, high, 5)) {
    svg.append(shape("line", { class: "grid", x1: inner.left, x2: inner.right, y1: y(value), y2: y(value) }));
    svg.append(shape("text", { class: "tick", x: inner.left - 8, y: y(value) + 4, "text-anchor": "end" }, percent(value, high - low < 0.06 ? 1 : 0)));
  }
  const most = invert(x, inner.right, inner.left, inner.right);
  for (const value of ticks(0, most, width < 480 ? 4 : 8)) {
    svg.append(shape("line", { class: "grid", x1: x(value), x2: x(value), y1: inner.top, y2: inner.bottom }));
    svg.append(shape("text", { class: "tick", x: x(value), y: inner.bottom + 17, "text-anchor": "middle" }, compact(value, 3)));
  }
  svg.append(shape("text", { class: "axis", x: (inner.left + inner.right) / 2, y: inner.bottom + 38, "text-anchor": "middle" }, "deviation left, on average"));
  const middle = (inner.top + inner.bottom) / 2;
  svg.append(shape("text", { class: "axis", x: 14, y: middle, "text-anchor": "middle", transform: `rotate(-90 14 ${middle})` }, "relevance kept"));
}

// Of a linear scale, the value at a place.
function invert(along, at) {
  const zero = along(0);
  return (at - zero) / (along(1) - zero);
}

function drawTruth(svg, inner, x, points) {
  const known = points.filter((point) => point.ndcg && point.ndcg.count > 1);
  if (known.length === 0) return;
  const values = known.flatMap((point) => [point.ndcg, point.recall].flatMap((each) => [each.mean - each.error, each.mean + each.error]));
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const pad = 0.1 * (high - low || 0.01);
  const y = scale(low - pad, high + pad, inner.bottom, inner.top);
  for (const value of ticks(low - pad, high + pad, 5)) {
    svg.append(shape("text", { class: "tick truth-tick", x: inner.right + 8, y: y(value) + 4 }, decimal(value, 2)));
  }
  const side = inner.right + 60;
  const middle = (inner.top + inner.bottom) / 2;
  svg.append(shape("text", { class: "axis truth-tick", x: side, y: middle, "text-anchor": "middle", transform: `rotate(90 ${side} ${middle})` }, "held-out items found"));
  drawMetric(svg, known, "ndcg", x, y, "NDCG");
  drawMetric(svg, known, "recall", x, y, "recall");
  const best = tunedPoint(points);
  if (best) {
    const [cx, cy] = [x(best.deviation.mean), y(best.ndcg.mean)];
    svg.append(shape("path", { class: "tuned", d: `M${cx} ${cy - 9}L${cx + 9} ${cy}L${cx} ${cy + 9}L${cx - 9} ${cy}Z` }, shape("title", {}, "best NDCG on the tuning half")));
  }
}

function drawMetric(svg, points, name, x, y, label) {
  svg.append(shape("polyline", { class: `truth ${name}`, points: points.map((point) => `${x(point.deviation.mean)},${y(point[name].mean)}`).join(" ") }));
  for (const point of points) {
    const at = x(point.deviation.mean) + (name === "ndcg" ? -2 : 2);
    const { mean, error } = point[name];
    svg.append(shape("line", { class: `truth-error ${name}`, x1: at, x2: at, y1: y(mean - error), y2: y(mean + error) }));
  }
  const last = points.reduce((far, point) => (point.deviation.mean > far.deviation.mean ? point : far));
  svg.append(shape("text", { class: `truth-label ${name}`, x: x(last.deviation.mean) - 4, y: y(last[name].mean) + (name === "ndcg" ? -10 : 18), "text-anchor": "end" }, label));
}

function drawDot(svg, points, x, y) {
  const here = points.find((point) => point.value === store.aim.value);
  if (!here) return;
  const dot = shape("g", {
    class: "dot",
    tabindex: 0,
    role: "slider",
    "aria-label": "The present choice, to drag along the curve",
    "aria-valuemin": 0,
    "aria-valuemax": gridOf(store.aim.kind).length - 1,
    "aria-valuenow": gridOf(store.aim.kind).indexOf(store.aim.value),
    "aria-valuetext": `${aimText(store.aim)}: ${percent(here.kept.mean)} kept, deviation ${decimal(here.deviation.mean)}`,
    transform: `translate(${x(here.deviation.mean)} ${y(here.kept.mean)})`,
    onkeydown: byKey,
    onpointerdown: (event) => startDrag(event, svg),
  });
  dot.append(shape("circle", { class: "dot-reach", r: 22 }), shape("circle", { class: "dot-ring", r: 11 }), shape("circle", { class: "dot-core", r: 7 }));
  svg.append(dot);
}

function byKey(event) {
  const step = { ArrowRight: -1, ArrowUp: -1, ArrowLeft: 1, ArrowDown: 1, Home: -Infinity, End: Infinity }[event.key];
  if (step === undefined) return;
  event.preventDefault();
  const grid = gridOf(store.aim.kind);
  const at = Math.max(0, Math.min(grid.length - 1, grid.indexOf(store.aim.value) + step));
  setAim({ kind: store.aim.kind, value: grid[at] });
}

// To the point of the curve that is nearest to the pointer, until it is let go.
function startDrag(event, svg) {
  event.preventDefault();
  const move = (moved) => {
    const place = svg.getBoundingClientRect();
    const near = [...svg.querySelectorAll(".point")].map((circle, at) => {
      const far = Math.hypot(place.left + circle.cx.baseVal.value - moved.clientX, place.top + circle.cy.baseVal.value - moved.clientY);
      return { at, far };
    });
    const nearest = near.reduce((best, each) => (each.far < best.far ? each : best));
    setAim({ kind: store.aim.kind, value: curve()[nearest.at].value });
  };
  const end = () => {
    window.removeEventListener("pointermove", move);
    window.removeEventListener("pointerup", end);
    svg.querySelector(".dot")?.focus();
  };
  window.addEventListener("pointermove", move);
  window.addEventListener("pointerup", end);
}
