// How far users are from their targets, before and after.

import { byId, shape } from "./dom.js";
import { makeFigure, scale, ticks } from "./figures.js";
import { compact, decimal, whole } from "./numbers.js";
import { nothingYet, present, store, when } from "./store.js";
import { counted, summarise } from "./summary.js";

const BINS = 20;

export function makeHistogram() {
  const made = makeFigure(byId("histogram"), "Users by deviation from their target", drawHistogram, describeHistogram);
  when(["figures", "aim"], made.redraw);
}

function drawHistogram(svg, width) {
  const height = Math.max(260, Math.round(width * 0.62));
  const figures = present();
  if (!figures || figures.counted === 0) return figures?.complete ? 40 : height;
  const inner = { left: 50, right: width - 10, top: 30, bottom: height - 44 };
  const { deviation, deviation_before: before } = figures.columns;
  const largest = Math.max(0.05, ...before.filter((value) => !Number.isNaN(value)), ...deviation.filter((value) => !Number.isNaN(value))) * 1.0001;
  const [was, now] = [counted(before, BINS, largest), counted(deviation, BINS, largest)];
  const x = scale(0, largest, inner.left, inner.right);
  const y = scale(0, Math.max(...was, ...now) * 1.05, inner.bottom, inner.top);
  for (const value of ticks(0, Math.max(...was, ...now), 5)) {
    svg.append(shape("line", { class: "grid", x1: inner.left, x2: inner.right, y1: y(value), y2: y(value) }));
    svg.append(shape("text", { class: "tick", x: inner.left - 6, y: y(value) + 4, "text-anchor": "end" }, whole(value)));
  }
  for (const value of ticks(0, largest, width < 400 ? 4 : 6)) {
    svg.append(shape("text", { class: "tick", x: x(value), y: inner.bottom + 16, "text-anchor": "middle" }, compact(value, 3)));
  }
  const wide = (inner.right - inner.left) / BINS;
  const bar = (kind, count, left) => shape("rect", { class: kind, x: left, y: y(count), width: wide / 2 - 1, height: inner.bottom - y(count) });
  was.forEach((count, at) => svg.append(bar("bar-before", count, inner.left + at * wide)));
  now.forEach((count, at) => svg.append(bar("bar-after", count, inner.left + at * wide + wide / 2 - 0.5)));
  svg.append(
    shape("line", { class: "base", x1: inner.left, x2: inner.right, y1: inner.bottom, y2: inner.bottom }),
    shape("text", { class: "axis", x: (inner.left + inner.right) / 2, y: height - 8, "text-anchor": "middle" }, "deviation from the target"),
    shape("rect", { class: "bar-before", x: inner.right - 150, y: 6, width: 18, height: 9 }),
    shape("text", { class: "key", x: inner.right - 128, y: 15 }, "before"),
    shape("rect", { class: "bar-after", x: inner.right - 72, y: 6, width: 18, height: 9 }),
    shape("text", { class: "key", x: inner.right - 50, y: 15 }, "after"),
  );
  return height;
}

function describeHistogram() {
  const figures = present();
  if (!figures || figures.counted === 0) return nothingYet();
  const [was, now] = [summarise(figures.columns.deviation_before), summarise(figures.columns.deviation)];
  const users = figures.complete ? `${whole(figures.counted)} users` : `${whole(figures.counted)} users so far of ${whole(store.about.sample.length)}`;
  return `On average ${decimal(was.mean)} by score alone and ${decimal(now.mean)} in expectation now, over ${users}.`;
}
