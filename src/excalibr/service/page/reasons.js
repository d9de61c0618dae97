// Why an item is where it is, in a sentence.

import { compact, decimal, percent, whole } from "./numbers.js";

export function placeWords(item, slot) {
  if (slot === null) return `leaves the slate from place ${whole(item.old_rank)}`;
  if (slot === item.old_rank) return `stays at ${whole(slot)}`;
  return `${slot < item.old_rank ? "up" : "down"} from ${whole(item.old_rank)} to ${whole(slot)}`;
}

// slot is the place in the ranking that is looked at, or null where the item is not in it.
export function reasonFor(item, slot, person, names) {
  const shift = averagePrice(person);
  const charge = item.gain - item.group_price - item.adjusted - shift;
  const counts = `its score of ${decimal(item.score)} counts ${decimal(item.gain)} at λ = ${compact(person.trade_off, 3)}`;
  const group = item.group_price === 0 ? "" : `, its group ${priceWords(item.group_price)}`;
  const pays = `${namesOf(item, names)} ${priceWords(charge)}`;
  const often = item.probability >= 0.9995 ? "always shown" : item.probability > 0 ? `shown in ${percent(item.probability)} of draws` : "never shown";
  return `${placeWords(item, slot)}: ${counts}${group}, ${pays}, which leaves ${decimal(item.adjusted + shift)} to sort by; ${often}. ${balance(item, slot, person, names)}`;
}

function priceWords(price) {
  return `${price >= 0 ? "costs" : "adds"} ${decimal(Math.abs(price))}`;
}

// Prices count from what a slate on target pays: only their differences matter.
function averagePrice(person) {
  return person.prices.reduce((sum, price, category) => sum + price * person.target_low[category], 0);
}

function namesOf(item, names) {
  return item.categories.map(([category]) => names[category]).join(" + ");
}

// The category that moved it: for an item that comes up its scarcest, for one that goes down its dearest.
function balance(item, slot, person, names) {
  const up = slot !== null && slot < item.old_rank;
  const better = (one, other) => (up ? person.prices[one] < person.prices[other] : person.prices[one] > person.prices[other]);
  const category = item.categories.map(([each]) => each).reduce((best, each) => (better(each, best) ? each : best));
  const off = person.shares_before[category] - person.target_low[category];
  const way = off > 0.0005 ? "too much" : off < -0.0005 ? "too little" : "as much as wanted";
  return `By score alone there is ${way} of ${names[category]}: ${percent(person.shares_before[category])}, and ${percent(person.target_low[category])} is wanted.`;
}
