// Categories as text with a mark: a colour and a shape together, so that nobody has to tell colours apart.

import { element, shape } from "./dom.js";

const HUES = 8;
const SHAPES = [
  (size) => shape("circle", { cx: 0, cy: 0, r: size * 0.5 }),
  (size) => shape("rect", { x: -size * 0.45, y: -size * 0.45, width: size * 0.9, height: size * 0.9 }),
  (size) => shape("path", { d: `M0 ${-size * 0.55}L${size * 0.55} ${size * 0.45}H${-size * 0.55}Z` }),
  (size) => shape("path", { d: `M0 ${-size * 0.6}L${size * 0.6} 0L0 ${size * 0.6}L${-size * 0.6} 0Z` }),
  (size) => shape("path", { d: `M0 ${size * 0.55}L${size * 0.55} ${-size * 0.45}H${-size * 0.55}Z` }),
  (size) => shape("path", { d: cross(size * 0.55, size * 0.2) }),
];

function cross(reach, half) {
  return `M${-half} ${-reach}H${half}V${-half}H${reach}V${half}H${half}V${reach}H${-half}V${half}H${-reach}V${-half}H${-half}Z`;
}

export function hueOf(category) {
  return category % HUES;
}

// A mark for drawings, centred on 0, 0.
export function markShape(category, size = 10) {
  const made = SHAPES[(hueOf(category) + Math.floor(category / HUES)) % SHAPES.length](size);
  made.setAttribute("class", `mark hue-${hueOf(category)}`);
  return made;
}

export function categoryMark(category) {
  return shape(
    "svg",
    { class: "mark-box", viewBox: "-7 -7 14 14", width: 14, height: 14, "aria-hidden": "true" },
    markShape(category, 11),
  );
}

export function categoryLabel(names, category) {
  return element("span", { class: "chip", title: names[category] }, categoryMark(category), element("bdi", {}, names[category]));
}

// All categories one after the other, as the answers have them.
export function categoryNames(about) {
  return about.attributes.flatMap((attribute) => attribute.categories);
}
