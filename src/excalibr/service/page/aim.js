// The slider, which reads as λ, as relevance to give up or as a distance from the target.

import { isSaved } from "./api.js";
import { byId, element, show } from "./dom.js";
import { exact, percentExact } from "./numbers.js";
import { addPoint, changed, gridOf, store, when } from "./store.js";

const KINDS = {
  trade_off: { name: "λ, the trade-off", unit: 1, step: "any", most: 1 },
  relevance_loss: { name: "give up at most … of relevance", unit: 100, step: "any", most: 100 },
  max_deviation: { name: "be within … of the target", unit: 1, step: "any", most: 1000 },
};

export function aimText(aim) {
  if (aim.kind === "trade_off") return `λ = ${exact(aim.value)}`;
  if (aim.kind === "relevance_loss") return `give up at most ${percentExact(aim.value)} of relevance`;
  return `be within ${exact(aim.value)} of the target`;
}

export function setAim(aim) {
  if (aim.kind === store.aim.kind && aim.value === store.aim.value) return;
  addPoint(aim.kind, aim.value);
  store.aim = aim;
  changed("aim");
}

export function makeAim() {
  const readings = element("div", { class: "segments", role: "radiogroup", "aria-label": "Read the slider as" });
  const slider = element("input", { type: "range", min: 0, step: 1, id: "aim-slider", oninput: moved, "aria-label": "Trade-off" });
  const number = element("input", { type: "number", id: "aim-number", min: 0, onchange: typed, "aria-label": "Value" });
  const unit = element("span", { class: "unit" });
  const problem = element("p", { class: "problem", id: "aim-problem", role: "alert" });
  show(
    byId("aim"),
    readings,
    element("div", { class: "slider-row" }, element("span", { class: "end" }, "relevance"), slider, element("span", { class: "end" }, "calibration"), element("label", { class: "exactly" }, number, unit)),
    problem,
  );
  for (const [kind, { name }] of Object.entries(KINDS)) {
    const input = element("input", { type: "radio", name: "kind", value: kind, disabled: store.about.grids[kind] === undefined, onchange: () => chooseKind(kind) });
    readings.append(element("label", {}, input, element("span", {}, name)));
  }
  number.disabled = isSaved;
  const redraw = () => {
    const grid = gridOf(store.aim.kind);
    slider.max = grid.length - 1;
    slider.value = grid.indexOf(store.aim.value);
    slider.setAttribute("aria-valuetext", aimText(store.aim));
    const { unit: times, step, most } = KINDS[store.aim.kind];
    number.value = Number((store.aim.value * times).toPrecision(6));
    number.step = step;
    number.max = most;
    unit.textContent = times === 100 ? "%" : "";
    number.setAttribute("aria-label", KINDS[store.aim.kind].name);
    for (const input of readings.querySelectorAll("input")) input.checked = input.value === store.aim.kind;
  };
  when(["aim", "figures"], redraw);
  when(["refusals"], () => (problem.textContent = store.refusals.get("aim") ?? ""));
  redraw();
}

function moved(event) {
  setAim({ kind: store.aim.kind, value: gridOf(store.aim.kind)[Number(event.target.value)] });
}

function typed(event) {
  const value = event.target.valueAsNumber / KINDS[store.aim.kind].unit;
  if (!Number.isNaN(value)) setAim({ kind: store.aim.kind, value });
}

// A middle point of the other reading, near to what it was.
function chooseKind(kind) {
  const grid = gridOf(kind);
  const middle = { trade_off: 0.5, relevance_loss: 0.02, max_deviation: 0.1 }[kind];
  const near = grid.reduce((best, value) => (Math.abs(value - middle) < Math.abs(best - middle) ? value : best), grid[0]);
  store.figures = new Map();
  store.aim = { kind, value: near };
  changed("aim");
}
