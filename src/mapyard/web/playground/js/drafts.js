// Queries that this browser keeps: what was being written, what was run, what was given a name.

const KEY = "mapyard-queries";
const MOST_RUN = 50, MOST_SAVED = 200, MOST_CHARACTERS = 20_000;

function read() {
  try { return { drafts: {}, run: [], saved: [], ...JSON.parse(localStorage.getItem(KEY) ?? "{}") }; } catch { return { drafts: {}, run: [], saved: [] }; }
}

function change(edit) {
  const kept = read();
  edit(kept);
  try { localStorage.setItem(KEY, JSON.stringify(kept)); } catch { /* storage is full or off: for this visit only */ }
}

export const draftOf = (tool) => read().drafts[tool];
export const keepDraft = (tool, text) => text.length <= MOST_CHARACTERS && change((kept) => { kept.drafts[tool] = text; });

/** Queries that were run with a tool, the last one first: [{text, at}]. */
export const runsOf = (tool) => read().run.filter((one) => one.tool === tool);
export const keepRun = (tool, text) => text.length <= MOST_CHARACTERS && change((kept) => {
  kept.run = [{ tool, text, at: Date.now() }, ...kept.run.filter((one) => one.tool !== tool || one.text !== text)].slice(0, MOST_RUN);
});

/** Queries with a name: [{name, text}]. */
export const savedOf = (tool) => read().saved.filter((one) => one.tool === tool);
export const save = (tool, name, text) => change((kept) => {
  kept.saved = [{ tool, name, text }, ...kept.saved.filter((one) => one.tool !== tool || one.name !== name)].slice(0, MOST_SAVED);
});
export const unsave = (tool, name) => change((kept) => { kept.saved = kept.saved.filter((one) => one.tool !== tool || one.name !== name); });
