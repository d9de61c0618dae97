// Why an item is where it is, in a sentence.

import { decimal, percent, whole } from "./numbers.js";

export function placeWords(item, slot) {
  if (slot === null) return `leaves the slate from place ${whole(item.old_rank)}`;
  if (slot === item.old_rank) return `stays at ${whole(slot)}`;
  return `${slot < item.old_rank ? "up" : "down"} from ${whole(item.old_rank)} to ${whole(slot)}`;
}

// slot is the place in the ranking that is looked at, or null where the item is not in it.
export function reasonFor(item, slot, person, names) {
  const charge = item.gain - item.adjusted;
  const counts = `its score of ${decimal(item.score)} counts ${decimal(item.gain)} at λ = ${decimal(person.trade_off)}`;
  const pays = `${namesOf(item, names)} ${charge >= 0 ? "costs" : "earns"} ${decimal(Math.abs(charge))}`;
  const often = item.probability >= 0.9995 ? "always shown" : item.probability > 0 ? `shown in ${percent(item.probability)} of draws` : "never shown";
  return `${placeWords(item, slot)}: ${counts}, ${pays}, which leaves ${decimal(item.adjusted)}; ${often}. ${balance(item, person, names)}`;
}

function namesOf(item, names) {
  return item.categories.map(([category]) => names[category]).join(" + ");
}

// The item's category that the order by scores has most too much or too little of.
function balance(item, person, names) {
  const off = (category) => person.shares_before[category] - person.target_low[category];
  const [category] = item.categories.reduce((most, each) => (Math.abs(off(each[0])) > Math.abs(off(most[0])) ? each : most), item.categories[0]);
  const way = off(category) > 0.0005 ? "too much" : off(category) < -0.0005 ? "too little" : "as much as wanted";
  return `By score alone there is ${way} of ${names[category]}: ${percent(person.shares_before[category])}, and ${percent(person.target_low[category])} is wanted.`;
}
