// The settings to copy, and the page as a file to send.

import { ask, isSaved } from "./api.js";
import { byId, element, show } from "./dom.js";
import { download } from "./figures.js";
import { store, when } from "./store.js";

const FORMS = { python: "Python", command: "Command line", profile: "Profile for excalibr serve" };
let asked = 0;

export function makeSettings() {
  const boxes = Object.entries(FORMS).map(([name, title]) => settingsBox(name, title));
  const save = element("button", { type: "button", id: "save-page", onclick: savePage }, "Save this page as one file");
  const state = element("p", { class: "quiet", id: "save-state", role: "status" });
  byId("settings").append(...boxes, ...(isSaved ? [] : [save, state]));
  when(["aim", "choices"], showSettings);
  showSettings();
}

function settingsBox(name, title) {
  const text = element("pre", { id: `settings-${name}`, tabindex: 0, role: "region", "aria-label": `${title}: settings` });
  const copy = element("button", { type: "button", class: "small", id: `copy-${name}`, onclick: () => copyText(name, copy) }, "Copy");
  copy.setAttribute("aria-label", `Copy the settings: ${title}`);
  const box = element("details", { class: `settings-${name}` }, element("summary", {}, title), element("div", { class: "code" }, copy, text));
  box.open = name === "python";
  return box;
}

async function showSettings() {
  asked += 1;
  const mine = asked;
  const why = (error) => Object.fromEntries(Object.keys(FORMS).map((name) => [name, `# ${error.message}\n`]));
  const found = await ask("settings", { choices: store.choices, aim: store.aim }).catch(why);
  if (mine !== asked) return;
  for (const name of Object.keys(FORMS)) byId(`settings-${name}`).textContent = found[name];
}

async function copyText(name, button) {
  const shown = byId(`settings-${name}`);
  try {
    await navigator.clipboard.writeText(shown.textContent);
    button.textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(shown);
    button.textContent = "Press Ctrl-C";
  }
  setTimeout(() => (button.textContent = "Copy"), 2000);
}

async function savePage() {
  const state = byId("save-state");
  show(state, "Making the file …");
  try {
    download(await ask("save", { choices: store.choices, aim: store.aim }), "excalibr.html");
    show(state, "Saved: it opens anywhere, without a server.");
  } catch (error) {
    show(state, error.message);
  }
}
