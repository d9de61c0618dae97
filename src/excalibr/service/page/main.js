// Begin: what the tables hold first, then the choices, everybody and one user.

import { ask, isSaved } from "./api.js";
import { makeAim } from "./aim.js";
import { makeChoices } from "./choices.js";
import { byId, element, show } from "./dom.js";
import { makeEverybody } from "./everybody.js";
import { makePerson } from "./person.js";
import { makeSettings } from "./settings.js";
import { store, when } from "./store.js";
import { noteRefusals, sweep } from "./sweep.js";

async function begin() {
  store.about = await ask("about");
  store.choices = store.about.choices;
  store.aim = store.about.aim;
  show(byId("understood"), store.about.understood);
  show(byId("notes"), store.about.notes.map((note) => element("p", { class: "note" }, note)));
  show(byId("footer"), `excalibr ${store.about.version}${isSaved ? ", a saved page: it asks no server." : ""}`);
  makeAim();
  makeChoices();
  makeEverybody();
  makePerson();
  makeSettings();
  when(["choices"], sweep);
  when(["aim"], aimed);
  await sweep();
}

// Most points are known already; one that is not is solved.
function aimed() {
  noteRefusals(store.aim.value);
  if (!store.figures.get(store.aim.value)?.complete) sweep();
}

begin().catch((error) => {
  byId("understood").textContent = `The page could not begin: ${error.message}`;
  throw error;
});
