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
  return element(
    "button",
    { type: "button", class: "ranking", "aria-pressed": String(at === (store.ranking ?? person.drawn)), onclick: () => chooseRanking(at) },
    element("span", { class: "probability" }, element("span", { class: "unseen" }, `Ranking ${at + 1}, probability `), percent(person.weights[at])),
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

// The category of the first attribute that an item has most of.
export function mainCategory(item) {
  const first = store.about.attributes[0].categories.length;
  const own = item.categories.filter(([category]) => category < first);
  return own.reduce((most, each) => (each[1] > most[1] ? each : most))[0];
}
