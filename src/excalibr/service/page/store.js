// What the page shows, and who wants to know when a part of it changes.

export const store = {
  about: null,
  choices: null,
  aim: null,
  // By value of the aim: what the sample's users get there, as far as it is known.
  figures: new Map(),
  progress: { done: 0, total: 0 },
  person: null,
  personError: null,
  ranking: null,
  // By choice: what the library says of it.
  refusals: new Map(),
};

const listeners = new Map();

export function when(parts, listener) {
  for (const part of parts) listeners.set(part, [...(listeners.get(part) ?? []), listener]);
}

export function changed(...parts) {
  const called = new Set(parts.flatMap((part) => listeners.get(part) ?? []));
  for (const listener of called) listener();
}

// The points of the curve, from relevance to calibration.
export function gridOf(kind) {
  return store.about.grids[kind] ?? [];
}

// A point that the curve does not have yet.
export function addPoint(kind, value) {
  const grid = gridOf(kind);
  if (grid.includes(value)) return;
  grid.push(value);
  grid.sort((one, other) => (kind === "max_deviation" ? other - one : one - other));
}

// Why there is nothing to draw.
export function nothingYet() {
  return present()?.complete ? "Nobody can be calibrated with these choices." : "The sample is being solved.";
}

export function present() {
  return store.figures.get(store.aim.value);
}
