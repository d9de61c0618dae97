// Elements from a tag, attributes and children; text is always text, whatever it says.

const SVG = "http://www.w3.org/2000/svg";

export function element(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

export function shape(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

export function show(parent, ...children) {
  parent.replaceChildren(...children.flat().filter((child) => child !== null && child !== undefined));
}

function filled(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked" || name === "disabled") made[name] = value;
    else made.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat()) {
    if (child !== null && child !== undefined) made.append(child instanceof Node ? child : String(child));
  }
  return made;
}

export function byId(id) {
  return document.getElementById(id);
}

let numbered = 0;

export function newId(prefix) {
  numbered += 1;
  return `${prefix}-${numbered}`;
}
