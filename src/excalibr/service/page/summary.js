// From values of users to what is shown of all of them.

function known(values, mask) {
  const found = [];
  for (let at = 0; at < values.length; at += 1) {
    if (!Number.isNaN(values[at]) && (!mask || mask(at))) found.push(values[at]);
  }
  return found;
}

// The mean, its standard error, and the ends of the middle 80%; nobody has a value: nothing but nan.
export function summarise(values, mask = null) {
  const found = known(values, mask);
  const count = found.length;
  if (count === 0) return { mean: NaN, error: NaN, low: NaN, high: NaN, count };
  const mean = found.reduce((sum, value) => sum + value, 0) / count;
  const squares = found.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  const error = count > 1 ? Math.sqrt(squares / (count * (count - 1))) : NaN;
  found.sort((one, other) => one - other);
  return { mean, error, low: quantile(found, 0.1), high: quantile(found, 0.9), count };
}

function quantile(sorted, part) {
  const place = part * (sorted.length - 1);
  const below = Math.floor(place);
  const above = Math.min(below + 1, sorted.length - 1);
  return sorted[below] + (place - below) * (sorted[above] - sorted[below]);
}

// How many values lie in each of the bins from 0 to the largest.
export function counted(values, bins, largest) {
  const counts = new Array(bins).fill(0);
  for (const value of known(values)) {
    counts[Math.min(bins - 1, Math.floor((bins * value) / largest))] += 1;
  }
  return counts;
}
