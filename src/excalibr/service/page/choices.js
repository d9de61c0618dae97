// How to rank, beside the trade-off: each choice with what the library says of it beneath.

import { ask, isSaved } from "./api.js";
import { byId, element, newId, show } from "./dom.js";
import { changed, store, when } from "./store.js";

const WORDS = {
  l1: "L1, the paper's",
  kl: "KL",
  lottery: "a lottery of rankings",
  single: "one good ranking",
  even: "even: every draw near the target",
  log: "1 / log(rank + 1)",
  sqrt: "1 / √rank",
  reciprocal: "1 / rank",
  uniform: "all alike",
};

export function makeChoices() {
  const form = element("form", { class: "form", onsubmit: (event) => event.preventDefault() });
  byId("choices").append(form);
  if (isSaved) form.append(element("p", { class: "note", id: "saved-note" }, "This is a saved page. Its curve and its stored users can be looked at; other choices need a running `excalibr explore`."));
  form.append(
    field("k", "Slots (k)", element("input", { type: "number", min: 1, max: store.about.most_slots, step: 1, value: store.choices.k, onchange: (event) => Number.isInteger(event.target.valueAsNumber) && choose({ k: event.target.valueAsNumber }) })),
    field("divergence", "Distance from the target", select("divergence")),
    field("draws", "What is shown", select("draws")),
    field("position_weights", "Attention to each slot", select("position_weights")),
  );
  if (store.about.attributes.length > 1) form.append(attributeWeights());
  form.append(limits("floors", "Floors", "at least", "of what is seen is"), limits("caps", "Caps", "at most", "of what is seen is"), limits("at_most", "Slots per category", "at most", "slots for"), pinChooser());
  if (isSaved) for (const each of form.querySelectorAll("input, select, button")) each.disabled = true;
}

function choose(changes) {
  store.choices = { ...store.choices, ...changes };
  changed("choices");
}

function field(name, title, input) {
  input.id = `choice-${name}`;
  return element("div", { class: "field" }, element("label", { for: input.id }, title), input, problemOf(name, input));
}

function problemOf(name, input = null) {
  const place = element("p", { class: "problem", id: `problem-${name}`, role: "alert" });
  if (input) input.setAttribute("aria-describedby", place.id);
  when(["refusals"], () => {
    const text = store.refusals.get(name) ?? "";
    if (place.textContent !== text) place.textContent = text;
    if (input) input.setAttribute("aria-invalid", String(text !== ""));
  });
  return place;
}

function select(name) {
  const options = store.about.names[name].map((value) => element("option", { value }, WORDS[value] ?? value));
  const made = element("select", { onchange: () => choose({ [name]: made.value }) }, options);
  made.value = store.choices[name];
  return made;
}

function attributeWeights() {
  const rows = store.about.attributes.map((attribute) => {
    const value = store.choices.attribute_weights[attribute.name] ?? 1;
    const change = (event) => {
      const number = event.target.valueAsNumber;
      if (!Number.isNaN(number)) choose({ attribute_weights: { ...store.choices.attribute_weights, [attribute.name]: number } });
    };
    const input = element("input", { type: "number", min: 0, step: "any", value, id: newId("weight"), onchange: change });
    return element("div", { class: "limit" }, element("label", { for: input.id }, attribute.name), input);
  });
  return element("fieldset", {}, element("legend", {}, "Weight of each attribute"), rows, problemOf("attribute_weights"));
}

// A list of limits by category, with a row to add one.
function limits(name, title, before, after) {
  const rows = element("div", { class: "limits" });
  const asShare = name !== "at_most";
  const amount = element("input", { type: "number", min: 0, max: asShare ? 100 : null, step: asShare ? "any" : 1, value: asShare ? 10 : 2, "aria-label": `${title}: ${asShare ? "percent" : "slots"}` });
  const category = element("select", { "aria-label": `${title}: category` }, categoryOptions());
  const add = () => {
    if (Number.isNaN(amount.valueAsNumber)) return;
    const [attribute, label] = JSON.parse(category.value);
    const kept = store.choices[name].filter((each) => each.category !== label || each.attribute !== attribute);
    choose({ [name]: [...kept, { category: label, attribute, amount: asShare ? amount.valueAsNumber / 100 : amount.valueAsNumber }] });
  };
  const redraw = () => show(rows, store.choices[name].map((each) => limitRow(name, each, asShare, before)));
  when(["choices"], redraw);
  redraw();
  const button = element("button", { type: "button", class: "small", id: `add-${name}`, onclick: add }, "Add");
  const adding = element("div", { class: "adding" }, element("span", {}, before), amount, element("span", {}, asShare ? `% ${after}` : after), category, button);
  const box = element("details", { class: `limit-box ${name}` }, element("summary", {}, title), rows, adding);
  box.open = store.choices[name].length > 0;
  return element("div", { class: "field" }, box, problemOf(name));
}

function limitRow(name, limit, asShare, before) {
  const text = `${before} ${asShare ? `${Number((100 * limit.amount).toPrecision(6))}%` : limit.amount} ${limit.category}`;
  const drop = () => choose({ [name]: store.choices[name].filter((each) => each !== limit) });
  return element("p", { class: "limit" }, element("bdi", {}, text), element("button", { type: "button", class: "small", "aria-label": `Remove: ${text}`, onclick: drop }, "Remove"));
}

function categoryOptions() {
  return store.about.attributes.flatMap((attribute) =>
    attribute.categories.map((label) => element("option", { value: JSON.stringify([attribute.name, label]) }, attribute.name ? `${attribute.name}: ${label}` : label)),
  );
}

function pinChooser() {
  const found = element("ul", { class: "found" });
  const rank = element("input", { type: "number", min: 1, step: 1, value: 1, "aria-label": "Pinned item: rank" });
  const state = element("div");
  const search = element("input", { type: "search", autocomplete: "off", placeholder: "title", "aria-label": "Pinned item: title", oninput: () => findItems(search, rank, found) });
  const redraw = () => show(state, store.choices.pinned ? pinRow() : null);
  when(["choices"], redraw);
  redraw();
  const box = element("details", { class: "limit-box pinned" }, element("summary", {}, "Pinned item"), state, element("div", { class: "adding" }, search, element("span", {}, "at rank"), rank), found);
  return element("div", { class: "field" }, box, problemOf("pinned"));
}

let pinnedLabel = "";

async function findItems(search, rank, list) {
  if (search.value.trim() === "") return show(list);
  const { found } = await ask("find", { what: "items", text: search.value });
  const rows = found.slice(0, 6).map(({ number, label }) => {
    const pin = () => {
      pinnedLabel = label;
      choose({ pinned: { item: number, rank: rank.valueAsNumber || 1 } });
      show(list);
    };
    return element("li", {}, element("button", { type: "button", class: "user", onclick: pin }, element("bdi", {}, label)));
  });
  show(list, rows.length ? rows : element("li", { class: "quiet" }, "No item has this title."));
}

function pinRow() {
  const text = `${pinnedLabel || `item ${store.choices.pinned.item}`} at rank ${store.choices.pinned.rank}, for users who have it to offer`;
  return element("p", { class: "limit" }, element("bdi", {}, text), element("button", { type: "button", class: "small", onclick: () => choose({ pinned: null }) }, "Remove"));
}
