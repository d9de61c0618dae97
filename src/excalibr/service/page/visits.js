// A week of visits: what each one shows, slot by slot, and how near all of them together come to the target.

import { categoryMark } from "./categories.js";
import { element } from "./dom.js";
import { mainCategory } from "./lottery.js";
import { decimal, whole } from "./numbers.js";

const MOST_SLOTS = 10;

export function makeVisits(person, names) {
  const items = new Map(person.items.map((item) => [item.candidate, item]));
  const days = person.visits.map((visit, at) => day(person.rankings[visit.ranking], visit, at, items, names));
  const last = person.visits[person.visits.length - 1];
  const words = `Seven visits, each drawn with the lottery's probabilities and balancing those before. Together they are ${decimal(last.deviation)} from the target.`;
  return element("div", { class: "visits" }, element("p", { class: "quiet" }, words), element("ol", { class: "week", tabindex: 0, "aria-label": "A week of visits" }, days));
}

function day(ranking, visit, at, items, names) {
  const cells = ranking.slice(0, MOST_SLOTS).map((candidate) => {
    const item = items.get(candidate);
    const main = mainCategory(item);
    const text = `${item.title} (${names[main]})`;
    return element("span", { class: "cell", title: text }, categoryMark(main), element("bdi", { class: "cell-text" }, item.title));
  });
  return element(
    "li",
    { class: "day" },
    element("strong", {}, `Visit ${whole(at + 1)}`),
    cells,
    element("span", { class: "quiet" }, `so far ${decimal(visit.deviation)}`),
  );
}
