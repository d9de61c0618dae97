// One user: found by id, at random or among the worst calibrated; then everything about the slate.

import { Refused, ask, isSaved, knownUsers, savedLabel } from "./api.js";
import { describeBars, drawBars } from "./bars.js";
import { categoryNames } from "./categories.js";
import { byId, element, newId, show } from "./dom.js";
import { makeFigure } from "./figures.js";
import { makeLottery } from "./lottery.js";
import { compact, decimal, percent, tiny, whole } from "./numbers.js";
import { makeReasons, makeSlates } from "./slates.js";
import { changed, present, store, when } from "./store.js";
import { makeVisits } from "./visits.js";

const WORST = 8;
let asking = null;
let shownUser = null;
let searched = "";

export function makePerson() {
  makeFinder();
  when(["aim", "choices"], () => lookAt(shownUser));
  when(["person", "ranking"], showPerson);
  const users = knownUsers();
  lookAt(users ? users[0] : store.about.sample[0]);
}

export async function lookAt(user) {
  if (user === null) return;
  asking?.abort();
  const control = new AbortController();
  asking = control;
  if (user !== shownUser) store.ranking = null;
  shownUser = user;
  try {
    const found = await ask("person", { choices: store.choices, aim: store.aim, user }, control.signal);
    if (control.signal.aborted) return;
    store.person = found;
    store.personError = null;
    if (store.ranking !== null && store.ranking >= found.rankings.length) store.ranking = null;
  } catch (error) {
    if (error.name === "AbortError" || control.signal.aborted) return;
    if (!(error instanceof Refused)) throw error;
    store.personError = error.message;
  }
  changed("person");
}

function makeFinder() {
  const list = element("ul", { class: "found", id: "found" });
  const search = element("input", { type: "search", id: "user-search", autocomplete: "off", placeholder: "id", oninput: () => findUsers(search.value, list) });
  const random = element("button", { type: "button", id: "random-user", onclick: atRandom }, "At random");
  const worst = element("ul", { class: "worst", id: "worst-list" });
  const box = element("details", { class: "worst-box" }, element("summary", {}, "The worst calibrated before, with their deviation"), worst);
  show(byId("finder"), element("div", { class: "finder" }, element("label", { for: "user-search" }, isSaved ? "Find a saved user" : "Find a user"), search, random, box), list);
  when(["figures"], () => showWorst(worst));
}

async function findUsers(text, list) {
  searched = text;
  if (text.trim() === "") return show(list);
  const { found, count } = await ask("find", { what: "users", text });
  if (searched !== text) return;
  const rows = found.slice(0, 8).map(({ number, label }) => element("li", {}, userButton(number, label)));
  if (count === 0) rows.push(element("li", { class: "quiet" }, "No user has this id."));
  else if (count > 8) rows.push(element("li", { class: "quiet" }, `and ${whole(count - 8)} more`));
  show(list, rows);
}

function userButton(user, label, more = "") {
  return element("button", { type: "button", class: "user", onclick: () => lookAt(user) }, element("bdi", {}, label), more);
}

function atRandom() {
  const users = knownUsers();
  const among = users ? users.length : store.about.users;
  const pick = Math.floor(Math.random() * among);
  lookAt(users ? users[pick] : pick);
}

// Of the sample, and in a saved page of those that it holds.
function showWorst(list) {
  const before = present()?.columns.deviation_before;
  if (!before) return;
  const users = knownUsers();
  const rows = store.about.sample
    .map((user, at) => ({ user, label: store.about.labels[at], deviation: before[at] }))
    .filter(({ user, deviation }) => !Number.isNaN(deviation) && (!users || users.includes(user)));
  rows.sort((one, other) => other.deviation - one.deviation);
  const made = rows.slice(0, WORST).map(({ user, label, deviation }) => element("li", {}, userButton(user, users ? savedLabel(user) : label, ` ${decimal(deviation)}`)));
  show(list, made);
}

function showPerson() {
  const body = byId("person-body");
  if (store.personError !== null) return show(body, element("p", { class: "problem", role: "alert" }, store.personError));
  const person = store.person;
  const names = categoryNames(store.about);
  const at = store.ranking ?? person.drawn;
  const after = person.rankings[at];
  const open = new Set([...body.querySelectorAll("details[open]")].map((each) => each.className));
  const focused = document.activeElement?.classList.contains("ranking") ? [...body.querySelectorAll(".ranking")].indexOf(document.activeElement) : -1;
  show(
    body,
    headline(person),
    makeSlates(person, after, names),
    makeReasons(person, after, names),
    element("div", { class: "pair" }, sharesBox(person), element("div", {}, element("h3", {}, "The lottery"), makeLottery(person, names))),
    element("h3", {}, "A week of visits"),
    makeVisits(person, names),
  );
  for (const each of body.querySelectorAll("details")) each.open = open.has(each.className);
  if (focused >= 0) body.querySelectorAll(".ranking")[focused]?.focus();
  drawShares(person);
}

function headline(person) {
  const proof = Number.isFinite(person.gap) ? `; proven within ${tiny(person.gap)} of the best` : "";
  return element(
    "p",
    { class: "headline" },
    element("strong", { id: "person-id" }, element("bdi", {}, person.id)),
    `: ${percent(person.kept)} of the relevance kept, deviation ${decimal(person.deviation_before)} → ${decimal(person.deviation)} in expectation. `,
    element("span", { class: "quiet" }, `${whole(person.k)} of ${whole(person.n)} candidates, λ = ${compact(person.trade_off, 3)}${proof}`),
  );
}

function sharesBox() {
  return element("div", { id: newId("person-shares"), class: "person-shares" });
}

function drawShares(person) {
  for (const attribute of store.about.attributes) {
    const own = (values) => values.slice(attribute.first, attribute.first + attribute.categories.length);
    const shares = {
      names: attribute.categories,
      target: own(person.target_low),
      high: own(person.target_high),
      before: own(person.shares_before),
      after: own(person.shares),
      offset: attribute.first,
    };
    const title = attribute.name ? `This user's shares: ${attribute.name}` : "This user's shares";
    makeFigure(document.querySelector(".person-shares"), title, (svg, width) => drawBars(svg, width, shares), () => describeBars(shares));
  }
}
