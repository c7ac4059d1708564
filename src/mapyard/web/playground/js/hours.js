// Whether a place is open now, by the common forms of opening_hours; other forms are only shown.
// https://wiki.openstreetmap.org/wiki/Key:opening_hours/specification

const DAYS = ["Su", "Mo", "Tu", "We", "Th", "Fr", "Sa"];

/** Return {state: "open" | "closed" | "unknown", until: "18:00" or ""}; at: a Date in the place's time. */
export function openState(text, at) {
  const rules = parseHours(text);
  if (!rules) return { state: "unknown", until: "" };
  const now = at.getHours() * 60 + at.getMinutes();
  const today = spansOf(rules, at.getDay()), yesterday = spansOf(rules, (at.getDay() + 6) % 7);
  if (today === null || yesterday === null) return { state: "unknown", until: "" };
  for (const [spans, shift] of [[yesterday, 1440], [today, 0]]) {
    const span = spans.find(([from, to]) => from - shift <= now && now < to - shift);
    if (span) return { state: "open", until: span[1] - span[0] >= 1440 ? "" : clock(span[1] - shift) };
  }
  const next = today.map(([from]) => from).filter((from) => from > now).sort((a, b) => a - b)[0];
  return { state: "closed", until: next === undefined ? "" : clock(next) };
}

/** Return a Date whose local fields are what clocks show in a time zone now. */
export function nowIn(zone, now = new Date()) {
  const parts = Object.fromEntries(new Intl.DateTimeFormat("en-GB", { timeZone: zone, hourCycle: "h23", year: "numeric", month: "numeric", day: "numeric", hour: "numeric", minute: "numeric" })
    .formatToParts(now).map((part) => [part.type, Number(part.value)]));
  return new Date(parts.year, parts.month - 1, parts.day, parts.hour, parts.minute);
}

const clock = (minutes) => `${String(Math.floor(minutes / 60) % 24).padStart(2, "0")}:${String(minutes % 60).padStart(2, "0")}`;

/** The spans of a day in minutes; a later rule replaces an earlier one for its days. */
function spansOf(rules, day) {
  let spans = [];
  for (const rule of rules) if (rule.days.has(day)) spans = rule.spans;
  return spans;
}

/** Read rules of days and times; null where a text has months, weeks, holidays alone, sunrise or comments. */
export function parseHours(text) {
  const rules = [];
  for (const part of text.split(/\s*;\s*/)) {
    const rule = part.trim();
    if (!rule) continue;
    if (/^(PH|SH)(,(PH|SH))*(\s|$)/.test(rule)) continue; // holidays are not known here
    if (rule === "24/7") { rules.push({ days: new Set(DAYS.keys()), spans: [[0, 1440]] }); continue; }
    const found = rule.match(/^((?:(?:Mo|Tu|We|Th|Fr|Sa|Su|PH|SH)(?:\s*-\s*(?:Mo|Tu|We|Th|Fr|Sa|Su))?\s*,?\s*)*):?\s*(off|closed|open|(?:\d{1,2}:\d{2}\s*-\s*\d{1,2}:\d{2}\+?\s*,?\s*)*)$/);
    if (!found || (!found[1] && !found[2])) return null;
    const days = readDays(found[1]);
    const spans = /^(off|closed)$/.test(found[2]) ? [] : found[2] === "open" || !found[2] ? [[0, 1440]] : readSpans(found[2]);
    if (!spans) return null;
    rules.push({ days, spans });
  }
  return rules.length ? rules : null;
}

function readDays(text) {
  const days = new Set();
  for (const part of text.split(",").map((p) => p.trim()).filter(Boolean)) {
    if (part === "PH" || part === "SH") continue;
    const [from, to = from] = part.split(/\s*-\s*/).map((name) => DAYS.indexOf(name));
    for (let day = from; ; day = (day + 1) % 7) { days.add(day); if (day === to) break; }
  }
  return text.trim() ? days : new Set(DAYS.keys());
}

function readSpans(text) {
  const spans = [];
  for (const part of text.split(",").map((p) => p.trim()).filter(Boolean)) {
    const [from, to] = part.replace("+", "").split("-").map((time) => {
      const [hour, minute] = time.trim().split(":").map(Number);
      return hour * 60 + minute;
    });
    if (![from, to].every((m) => m >= 0 && m <= 2880)) return null;
    spans.push([from, to <= from ? to + 1440 : to]);
  }
  return spans;
}
