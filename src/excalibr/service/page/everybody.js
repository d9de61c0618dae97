// The figures of the sample in numbers and pictures.

import { isSaved } from "./api.js";
import { aimText, setAim } from "./aim.js";
import { describeBars, drawBars } from "./bars.js";
import { byId, element, show } from "./dom.js";
import { makeFigure } from "./figures.js";
import { curve, makeFrontier, tunedPoint, withError } from "./frontier.js";
import { makeHistogram } from "./histogram.js";
import { decimal, percent, whole } from "./numbers.js";
import { nothingYet, present, store, when } from "./store.js";
import { summarise } from "./summary.js";

export function makeEverybody() {
  makeFrontier();
  for (const attribute of store.about.attributes) makeShares(attribute);
  makeHistogram();
  when(["figures", "aim"], showReadings);
  when(["progress"], showProgress);
}

function makeShares(attribute) {
  const title = attribute.name ? `Shares of what is seen: ${attribute.name}` : "Shares of what is seen, by category";
  const made = makeFigure(
    byId("everybody-shares"),
    title,
    (svg, width) => (averages(attribute) ? drawBars(svg, width, averages(attribute)) : present()?.complete ? 40 : 260),
    () => (averages(attribute) ? describeBars(averages(attribute)) : nothingYet()),
  );
  when(["figures", "aim"], made.redraw);
}

function averages(attribute) {
  const figures = present();
  if (!figures || figures.counted === 0) return null;
  const own = (sums) => sums.slice(attribute.first, attribute.first + attribute.categories.length).map((sum) => sum / figures.counted);
  return { names: attribute.categories, target: own(figures.target), high: own(figures.target_high), before: own(figures.before), after: own(figures.after), offset: attribute.first };
}

function showReadings() {
  const figures = present();
  if (!figures || figures.counted === 0) {
    show(byId("truth-readings"));
    show(byId("readings"), element("p", { class: "quiet" }, nothingYet()));
    return;
  }
  const { columns } = figures;
  const mean = (name) => summarise(columns[name]).mean;
  const cells = [
    reading("relevance kept", percent(mean("kept")), `mean relevance ${decimal(mean("relevance_before"))} → ${decimal(mean("relevance"))}`, "kept"),
    reading("deviation left", decimal(mean("deviation")), `${decimal(mean("deviation_before"))} by score alone`, "deviation"),
    reading("of a single draw", decimal(mean("draw_deviation")), "deviation of one ranking, on average", "draw-deviation"),
    reading("slates that change", percent(mean("changed"), 0), `${decimal(mean("new_items"), 1)} new items of ${whole(store.choices.k)} in each, on average`, "changed"),
  ];
  if (columns.kl) cells.push(reading("KL left", decimal(mean("kl"), 4), "of the expectation, in nats", "kl"));
  show(byId("readings"), cells);
  show(byId("truth-readings"), truthReadings());
}

function reading(name, value, more, id) {
  const [main, error] = value.split(" ± ");
  const figure = element("strong", { id: `reading-${id}` }, main, error ? element("small", {}, ` ± ${error}`) : null);
  return element("div", { class: "reading" }, element("span", { class: "name" }, name), figure, element("span", { class: "quiet" }, more));
}

function truthReadings() {
  const points = store.about.truth ? curve() : [];
  const here = points.find((point) => point.value === store.aim.value);
  if (!here?.ndcg) return [];
  const before = present().columns;
  const half = (at) => !store.about.tuning[at];
  const found = [
    reading("NDCG, held-out items", withError(here.ndcg), `${withError(summarise(before.ndcg_before, half))} by score alone`, "ndcg"),
    reading("recall", withError(here.recall), `${withError(summarise(before.recall_before, half))} by score alone`, "recall"),
  ];
  const best = tunedPoint(points);
  if (best) {
    const value = aimText({ kind: store.aim.kind, value: best.value });
    const button = element("button", { type: "button", class: "small", id: "take-tuned", onclick: () => setAim({ kind: store.aim.kind, value: best.value }) }, "take it");
    const other = `${withError(best.ndcg)} on the other half`;
    const tuned = reading("best NDCG, tuned on one half", value, other, "tuned");
    tuned.append(button);
    found.push(tuned);
  }
  return found;
}

function showProgress() {
  const { done, total } = store.progress;
  const place = byId("progress");
  if (total === 0) {
    place.removeAttribute("data-busy");
    show(place, element("span", {}, isSaved ? "a saved page" : `${whole(store.about.sample.length)} of ${whole(store.about.users)} users averaged`));
    return;
  }
  place.setAttribute("data-busy", "");
  const bar = element("progress", { max: total, value: done, "aria-label": "Solving the sample" });
  bar.value = done;
  show(place, element("span", {}, `solving ${whole(store.about.sample.length)} users`), bar);
}
