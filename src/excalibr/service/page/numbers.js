// Numbers as the reader's browser writes them.

const formats = new Map();

function format(value, options) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  const key = JSON.stringify(options);
  if (!formats.has(key)) formats.set(key, new Intl.NumberFormat(undefined, options));
  return formats.get(key).format(Object.is(value, -0) ? 0 : value);
}

export function whole(value) {
  return format(value, { maximumFractionDigits: 0 });
}

export function decimal(value, digits = 3) {
  return format(value, { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

// With as many digits as a small number needs to be told from zero.
export function compact(value, digits = 2) {
  return format(value, { maximumSignificantDigits: digits });
}

export function percent(value, digits = 1) {
  return format(value, { style: "percent", minimumFractionDigits: digits, maximumFractionDigits: digits });
}

// What is wanted of a category: a share, or anything within a band.
export function wantedWords(low, high) {
  return high - low < 0.0005 ? percent(low) : `${percent(low)} to ${percent(high)}`;
}

// A budget or a trade-off, which must not look rounder than it is.
export function percentExact(value) {
  return format(value, { style: "percent", maximumFractionDigits: 2 });
}

export function exact(value) {
  return format(value, { maximumFractionDigits: 6 });
}

// A number that is almost nothing, such as a gap, as the power of ten that it is within.
export function tiny(value) {
  const power = String(Math.ceil(Math.log10(Math.max(value, 1e-16)) - 1e-9));
  const raised = [...power].map((digit) => (digit === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(digit)])).join("");
  return `10${raised}`;
}
