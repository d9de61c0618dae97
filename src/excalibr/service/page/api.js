// Questions to the server, or in a saved page to the answers that it was saved with.

const kept = document.getElementById("stored");
const saved = kept === null ? null : JSON.parse(kept.textContent);

export const isSaved = saved !== null;

export class Refused extends Error {
  constructor(message, field) {
    super(message);
    this.field = field;
  }
}

export async function ask(question, body = {}, signal = undefined) {
  if (isSaved) return recalled(question, body);
  const reply = await fetch(`/explore/${question}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
    signal,
  });
  if (reply.ok && !reply.headers.get("Content-Type").startsWith("application/json")) return reply.blob();
  const said = await reply.json().catch(() => ({ error: { message: `The server answered ${reply.status}.` } }));
  if (said.error === undefined) return said;
  throw new Refused(said.error.message, (said.error.path ?? "").replace("$.choices.", "").replace("$.", ""));
}

function recalled(question, body) {
  const point = body.aim === undefined ? -1 : saved.about.grids[body.aim.kind].indexOf(body.aim.value);
  if (question === "about") return saved.about;
  if (question === "sample") return saved.figures[point];
  if (question === "settings") return saved.settings[point];
  if (question === "find") return foundIn(saved.labels, body.text);
  const person = saved.people[body.user]?.[point];
  if (person === undefined) throw new Refused("This user was not saved with the page.", "");
  if (person.error) throw new Refused(person.error.message, "");
  return person;
}

function foundIn(labels, text) {
  const wanted = text.trim().toLowerCase();
  const found = Object.entries(labels).filter(([, label]) => label.toLowerCase().includes(wanted));
  return { found: found.map(([number, label]) => ({ number: Number(number), label })), count: found.length };
}

// The users that can be shown: all of the tables, or those that were saved.
export function knownUsers() {
  return isSaved ? Object.keys(saved.labels).map(Number) : null;
}

export function savedLabel(user) {
  return saved.labels[user];
}
