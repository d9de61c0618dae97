// Why an item is where it is, in a sentence.

import { compact, decimal, percent, wantedWords, whole } from "./numbers.js";
import { store } from "./store.js";

export function placeWords(item, slot) {
  if (slot === null) return `drops out from place ${whole(item.old_rank)}`;
  if (slot === item.old_rank) return `stays at ${whole(slot)}`;
  return `${slot < item.old_rank ? "up" : "down"} from ${whole(item.old_rank)} to ${whole(slot)}`;
}

// slot is the place in the ranking that is looked at, or null where the item is not in it.
export function reasonFor(item, slot, person, names) {
  const shift = store.about.attributes.reduce((sum, attribute) => sum + averagePrice(person, attribute), 0);
  const charge = item.gain - item.group_price - item.adjusted - shift;
  const counts = `its score of ${decimal(item.score)} counts for ${decimal(item.gain)} at λ = ${compact(person.trade_off, 3)}`;
  const group = item.group_price === 0 ? "" : `, its group ${priceWords(item.group_price)}`;
  const pays = `${namesOf(item, names)} ${priceWords(charge)}`;
  const often = item.probability >= 0.9995 ? "always shown" : item.probability > 0 ? `shown in ${percent(item.probability)} of draws` : "never shown";
  return `${placeWords(item, slot)}: ${counts}${group}, ${pays}, which leaves ${decimal(item.adjusted + shift)} to sort by; ${often}. ${balance(item, slot, person, names)}`;
}

function priceWords(price) {
  return `${price >= 0 ? "costs" : "adds"} ${decimal(Math.abs(price))}`;
}

// Prices of an attribute count from what a slate on target pays: only their differences matter.
function averagePrice(person, { first, categories }) {
  return categories.reduce((sum, _, at) => sum + person.prices[first + at] * person.target_low[first + at], 0);
}

function priceOf(person, category) {
  const own = store.about.attributes.find(({ first, categories }) => category < first + categories.length);
  return person.prices[category] - averagePrice(person, own);
}

function namesOf(item, names) {
  return item.categories.map(([category]) => names[category]).join(" + ");
}

// The category that moved it: for an item that comes up its scarcest, for one that goes down its dearest.
function balance(item, slot, person, names) {
  const up = slot !== null && slot < item.old_rank;
  const worth = ([category, share]) => share * (up ? -1 : 1) * priceOf(person, category);
  const [category] = item.categories.reduce((best, each) => (worth(each) > worth(best) ? each : best));
  const [share, low, high] = [person.shares_before, person.target_low, person.target_high].map((values) => values[category]);
  const way = share > high + 0.0005 ? "too much" : share < low - 0.0005 ? "too little" : "as much as wanted";
  return `By score alone there is ${way} of ${names[category]}: ${percent(share)}, and ${wantedWords(low, high)} is wanted.`;
}
