// A figure: a drawing that fits the width it has, a caption, and a button that saves it as SVG.

import { element, shape } from "./dom.js";

const PROPERTIES = [
  ...["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-opacity", "opacity"],
  ...["font-family", "font-size", "font-weight", "text-anchor", "dominant-baseline", "stroke-linejoin"],
];

// draw(svg, width) fills the drawing and returns its height; describe() says in words what it shows.
export function makeFigure(parent, title, draw, describe, extra = []) {
  const svg = shape("svg", { class: "drawing", role: "img" });
  const box = element("div", { class: "canvas" }, svg);
  const words = element("p", { class: "words quiet" });
  const button = element("button", { type: "button", class: "small", onclick: () => saveFigure(svg, title) }, "SVG");
  button.setAttribute("aria-label", `Save “${title}” as SVG`);
  const caption = element("figcaption", {}, element("h3", {}, title), button);
  parent.append(element("figure", {}, caption, box, words, ...extra));
  const redraw = () => {
    const width = Math.max(240, Math.floor(box.clientWidth));
    svg.replaceChildren();
    const height = draw(svg, width);
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.setAttribute("width", width);
    svg.setAttribute("height", height);
    const said = describe();
    words.textContent = said;
    svg.setAttribute("aria-label", `${title}. ${said}`);
  };
  let last = 0;
  new ResizeObserver(() => {
    if (Math.abs(box.clientWidth - last) > 1) {
      last = box.clientWidth;
      redraw();
    }
  }).observe(box);
  return { redraw, svg };
}

function saveFigure(svg, title) {
  const copy = svg.cloneNode(true);
  const originals = [svg, ...svg.querySelectorAll("*")];
  const copies = [copy, ...copy.querySelectorAll("*")];
  originals.forEach((original, at) => {
    const style = getComputedStyle(original);
    for (const property of PROPERTIES) copies[at].setAttribute(property, style.getPropertyValue(property));
    copies[at].removeAttribute("class");
    copies[at].removeAttribute("tabindex");
  });
  const ground = shape("rect", { width: "100%", height: "100%", fill: getComputedStyle(document.body).backgroundColor });
  copy.prepend(ground);
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  const text = new XMLSerializer().serializeToString(copy);
  download(new Blob([text], { type: "image/svg+xml" }), `${title.toLowerCase().replace(/[^a-z0-9]+/g, "-")}.svg`);
}

export function download(blob, name) {
  const address = URL.createObjectURL(blob);
  const link = element("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

// Round numbers between two ends, about so many.
export function ticks(low, high, count) {
  const span = high - low || 1;
  const rough = span / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((times) => times * power).find((each) => span / each <= count + 0.5);
  const found = [];
  for (let value = Math.ceil(low / step - 1e-9) * step; value <= high + 1e-9 * span; value += step) found.push(value);
  return found;
}

export function scale(low, high, from, to) {
  const span = high - low || 1;
  return (value) => from + ((value - low) / span) * (to - from);
}

// Text with a title of its own where it had to be cut.
export function cut(text, length) {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`;
}
