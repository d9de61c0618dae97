// Two slates side by side, with a line from each item's old place to its new one.

import { categoryLabel } from "./categories.js";
import { element, shape } from "./dom.js";
import { percent, whole } from "./numbers.js";
import { reasonFor } from "./reasons.js";

// before and after are candidates in slot order; items has them by candidate.
export function makeSlates(person, after, names) {
  const items = new Map(person.items.map((item) => [item.candidate, item]));
  const oldSlots = new Map(person.before.map((candidate, at) => [candidate, at + 1]));
  const newSlots = new Map(after.map((candidate, at) => [candidate, at + 1]));
  const left = person.before.map((candidate, at) => entry(items.get(candidate), at + 1, leaving(at + 1, newSlots.get(candidate)), names, person));
  const right = after.map((candidate, at) => entry(items.get(candidate), at + 1, coming(oldSlots.get(candidate), at + 1), names, person));
  const lines = shape("svg", { class: "moves", viewBox: `0 0 100 ${after.length}`, preserveAspectRatio: "none", "aria-hidden": "true" });
  for (const [candidate, to] of newSlots) {
    const from = oldSlots.get(candidate);
    if (from !== undefined) lines.append(moveLine(from, to));
  }
  return element(
    "div",
    { class: "slates" },
    element("h4", { class: "before-title", id: "before-title" }, "Before: by score alone"),
    element("h4", { class: "after-title", id: "after-title" }, "After: this draw"),
    element("ol", { class: "slate before", "aria-labelledby": "before-title" }, left),
    lines,
    element("ol", { class: "slate after", "aria-labelledby": "after-title" }, right),
  );
}

function entry(item, slot, move, names, person) {
  const chips = element("span", { class: "chips" }, item.categories.map(([category]) => categoryLabel(names, category)));
  const held = person.held_out.includes(item.candidate) ? element("span", { class: "liked", title: "held out: the user went on to like it" }, "♥ held out") : null;
  return element(
    "li",
    { class: `entry ${move.kind}` },
    element("span", { class: "slot", "aria-hidden": "true" }, whole(slot)),
    element("span", { class: "what" }, element("bdi", { class: "title", title: item.title }, item.title), chips),
    element("span", { class: "move" }, held, move.text),
  );
}

function leaving(slot, to) {
  if (to === undefined) return { kind: "gone", text: "dropped" };
  return { kind: to < slot ? "up" : to > slot ? "down" : "same", text: "" };
}

function coming(from, slot) {
  if (from === undefined) return { kind: "new", text: "new" };
  if (from === slot) return { kind: "same", text: "=" };
  return from > slot ? { kind: "up", text: `▲${from - slot}` } : { kind: "down", text: `▼${slot - from}` };
}

function moveLine(from, to) {
  const kind = to < from ? "up" : to > from ? "down" : "same";
  return shape("path", { class: `line ${kind}`, d: `M0 ${from - 0.5}C50 ${from - 0.5} 50 ${to - 0.5} 100 ${to - 0.5}`, "vector-effect": "non-scaling-stroke" });
}

// A sentence for each item that moved, came or went.
export function makeReasons(person, after, names) {
  const slots = new Map(after.map((candidate, at) => [candidate, at + 1]));
  const items = person.items.filter((item) => slots.has(item.candidate) || person.before.includes(item.candidate));
  const place = (item) => slots.get(item.candidate) ?? 1000 + item.old_rank;
  items.sort((one, other) => place(one) - place(other));
  const rows = items.map((item) => {
    const slot = slots.get(item.candidate) ?? null;
    return element("li", {}, element("bdi", { class: "title" }, item.title), ` ${reasonFor(item, slot, person, names)}`);
  });
  const moved = items.filter((item) => slots.get(item.candidate) !== item.old_rank).length;
  return element("details", { class: "reasons" }, element("summary", {}, `Why: ${whole(moved)} items moved, came or went`), element("ul", {}, rows));
}

export function sharedWords(person) {
  return `${percent(person.kept)} of the relevance kept`;
}
