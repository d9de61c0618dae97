// The sample solved at every point of the curve, a piece at a time: the present point first, then ever finer between.
// The next change ends it: what is under way is not waited for, and no more of it is asked.

import { Refused, ask } from "./api.js";
import { changed, gridOf, present, store } from "./store.js";

const WANTED = 200;
let current = null;
let pieceSize = 16;
let askedFor = "";

// Solve what is not known yet at the present choices and kind of aim.
export async function sweep() {
  current?.abort();
  const control = new AbortController();
  current = control;
  forgetOthers();
  const points = inOrder(gridOf(store.aim.kind), store.aim.value).filter((value) => !store.figures.get(value)?.complete);
  const total = points.length * store.about.sample.length;
  store.progress = { done: 0, total };
  changed("progress");
  try {
    for (const value of points) await solvePoint(value, control);
  } catch (error) {
    if (error.name === "AbortError" || control.signal.aborted) return;
    if (!(error instanceof Refused)) throw error;
    store.refusals.set(error.field || "aim", error.message);
    changed("refusals");
  }
  store.progress = { done: 0, total: 0 };
  changed("progress", "figures");
}

// Figures belong to choices and a kind of aim; those of others are of no more use.
function forgetOthers() {
  const asked = JSON.stringify([store.choices, store.aim.kind]);
  if (asked === askedFor) return;
  askedFor = asked;
  pieceSize = 16;
  store.figures = new Map();
  store.refusals = new Map();
  changed("refusals");
}

async function solvePoint(value, control) {
  const all = store.about.sample.length;
  const figures = store.figures.get(value) ?? emptyFigures(all);
  store.figures.set(value, figures);
  while (!figures.complete) {
    const last = Math.min(all, figures.done + pieceSize);
    const start = performance.now();
    const aim = { kind: store.aim.kind, value };
    const asked = { choices: store.choices, aim, first: figures.done, last };
    const found = await ask("sample", asked, control.signal);
    if (control.signal.aborted) throw new DOMException("another change came", "AbortError");
    take(figures, found, all);
    pieceSize = Math.max(4, Math.min(all, Math.round((pieceSize * WANTED) / Math.max(performance.now() - start, 1)), 4 * pieceSize));
    store.progress.done += figures.done - asked.first;
    noteRefusals(value);
    changed("progress", "figures");
  }
}

function emptyFigures(all) {
  return { done: 0, counted: 0, complete: false, columns: {}, target: [], target_high: [], before: [], after: [], refused: [], all };
}

function take(figures, found, all) {
  for (const [name, values] of Object.entries(found.columns)) {
    figures.columns[name] ??= new Float64Array(all).fill(NaN);
    values.forEach((value, at) => {
      figures.columns[name][found.first + at] = value === null ? NaN : value;
    });
    figures.done = found.first + values.length;
  }
  for (const part of ["target", "target_high", "before", "after"]) {
    found[part].forEach((value, at) => {
      figures[part][at] = (figures[part][at] ?? 0) + value;
    });
  }
  figures.counted += found.counted;
  for (const refusal of found.refused) {
    const same = figures.refused.find((each) => each.field === refusal.field);
    if (same) same.users += refusal.users;
    else figures.refused.push({ ...refusal });
  }
  figures.complete = figures.done >= all;
}

// What the library says at the present point, where the choice was made.
export function noteRefusals(value) {
  if (value !== store.aim.value) return;
  store.refusals = new Map();
  const figures = present();
  for (const refusal of figures?.refused ?? []) {
    const those = refusal.users === figures.all ? "Nobody can have this" : `${refusal.users} of ${figures.done} users cannot have this`;
    store.refusals.set(refusal.field || "aim", `${those}. For one of them: ${refusal.message}`);
  }
  changed("refusals");
}

// The present point, then every eighth, fourth, second and then all, so that the curve is whole early.
function inOrder(grid, first) {
  const found = [first];
  for (const step of [8, 4, 2, 1]) {
    for (let at = 0; at < grid.length; at += step) if (!found.includes(grid[at])) found.push(grid[at]);
    const end = grid[grid.length - 1];
    if (!found.includes(end)) found.push(end);
  }
  return found;
}
