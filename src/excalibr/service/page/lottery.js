// The rankings of the lottery with their probabilities, to look at one after another.

import { categoryMark } from "./categories.js";
import { element } from "./dom.js";
import { decimal, percent, whole } from "./numbers.js";
import { changed, store } from "./store.js";

const MOST_MARKS = 12;

export function makeLottery(person, names) {
  const items = new Map(person.items.map((item) => [item.candidate, item]));
  const rows = person.rankings.map((ranking, at) => lotteryRow(person, ranking, at, items, names));
  const many = person.rankings.length;
  const words = many === 1 ? "One ranking, always shown." : `${whole(many)} rankings; each visit draws one of them by its probability.`;
  return element("div", { class: "lottery" }, element("p", { class: "quiet" }, words), element("div", { class: "rankings", role: "group", "aria-label": "Rankings of the lottery" }, rows));
}

function lotteryRow(person, ranking, at, items, names) {
  const marks = ranking.slice(0, MOST_MARKS).map((candidate) => categoryMark(mainCategory(items.get(candidate))));
  const bar = element("progress", { max: 1, value: person.weights[at], "aria-hidden": "true" });
  const today = at === person.drawn ? element("span", { class: "today" }, "today") : null;
  const label = `Ranking ${at + 1}, probability ${percent(person.weights[at])}, deviation ${decimal(person.draw_deviations[at])}${today ? ", drawn today" : ""}; first ${items.get(ranking[0]).title}`;
  return element(
    "button",
    { type: "button", class: "ranking", "aria-pressed": String(at === (store.ranking ?? person.drawn)), "aria-label": label, onclick: () => chooseRanking(at) },
    element("span", { class: "probability" }, percent(person.weights[at])),
    bar,
    element("span", { class: "marks" }, marks),
    element("span", { class: "quiet" }, `deviation ${decimal(person.draw_deviations[at])}`),
    today,
  );
}

function chooseRanking(at) {
  store.ranking = at;
  changed("ranking");
}

// The category that an item has most of.
export function mainCategory(item) {
  return item.categories.reduce((most, each) => (each[1] > most[1] ? each : most), item.categories[0])[0];
}
