// Charts as SVG with a cursor: an elevation profile that shows its place on the map, and counts
// over days.

import { formatDistance, h, svg } from "./ui.js";
import { language, number, t } from "./words.js";

const WIDTH = 320, HEIGHT = 130, LEFT = 38, RIGHT = 6, BOTTOM = 18, TOP = 8;
const DAY_MS = 86_400_000;

/** Metres between two [lng, lat]. */
export function distanceBetween([lng1, lat1], [lng2, lat2]) {
  const rad = Math.PI / 180;
  const a = Math.sin(((lat2 - lat1) * rad) / 2) ** 2 + Math.cos(lat1 * rad) * Math.cos(lat2 * rad) * Math.sin(((lng2 - lng1) * rad) / 2) ** 2;
  return 2 * 6371008.8 * Math.asin(Math.sqrt(a));
}

/** coordinates: [lng, lat, height or null]; onpoint([lng, lat] | null). */
export function profileChart(coordinates, onpoint) {
  let along = 0;
  const samples = coordinates.map((at, i) => {
    if (i) along += distanceBetween(coordinates[i - 1], at);
    return { at, m: along, height: at[2] ?? null };
  });
  const known = samples.filter((s) => s.height !== null);
  if (!known.length) return h("p.empty", {}, t("No elevation data covers this line."));
  const low = Math.min(...known.map((s) => s.height)), high = Math.max(...known.map((s) => s.height));
  const scale = scales(along, low, Math.max(high - low, 10));
  let line = "", pen = "M";
  for (const sample of samples) {
    if (sample.height === null) { pen = "M"; continue; }
    line += `${pen}${scale.x(sample.m).toFixed(1)} ${scale.y(sample.height).toFixed(1)}`;
    pen = "L";
  }
  const { chart, point } = draw(scale, {
    line, ends: ["0", formatDistance(along)],
    label: t("Elevation from {low} to {high} metres over {distance}; arrow keys move along it", { low: number(low), high: number(high), distance: formatDistance(along) }),
    places: known.map((s) => [s.m, s.height]),
    say: (i) => t("{height} m at {distance}", { height: number(known[i].height), distance: formatDistance(known[i].m) }),
    onpoint: (i) => onpoint(known[i]?.at ?? null),
  });
  /** Point at the sample that is nearest to [lng, lat], as pointing at the chart does; null leaves. */
  chart.pointAt = (place) => point(place ? nearest(known, (s) => distanceBetween(s.at, place)) : -1);
  return chart;
}

/** days: {date, count} in order, each of which holds until the next. */
export function countChart(days) {
  const first = Date.parse(days[0].date);
  const places = days.map((day) => [(Date.parse(day.date) - first) / DAY_MS, day.count]);
  const counts = days.map((day) => day.count);
  const low = Math.min(...counts), high = Math.max(...counts);
  const scale = scales(places.at(-1)[0], low, Math.max(high - low, 4));
  const at = (day, count) => `${scale.x(day).toFixed(1)} ${scale.y(count).toFixed(1)}`;
  const line = places.map(([day, count], i) => (i ? `L${at(day, places[i - 1][1])}L${at(day, count)}` : `M${at(day, count)}`)).join("");
  const date = (day) => new Date(day.date).toLocaleDateString(language, { dateStyle: "medium", timeZone: "UTC" });
  return draw(scale, {
    line, ends: [date(days[0]), date(days.at(-1))],
    label: t("From {before} on {first} to {now} on {last}; arrow keys move along it", { before: number(counts[0]), first: date(days[0]), now: number(counts.at(-1)), last: date(days.at(-1)) }),
    places, say: (i) => t("{count} on {date}", { count: number(counts[i]), date: date(days[i]) }), onpoint: () => {},
  }).chart;
}

/** Where values lie in a drawing of 0…length along and low…low + span upwards. */
const scales = (length, low, span) => ({
  low, span,
  x: (value) => LEFT + (value / (length || 1)) * (WIDTH - LEFT - RIGHT),
  y: (value) => TOP + (1 - (value - low) / span) * (HEIGHT - TOP - BOTTOM),
});

/** Draw a line, and a cursor that goes to `places` ([x, y] in values) by pointer and arrow keys. */
function draw({ low, span, x, y }, { line, ends, label, places, say, onpoint }) {
  const base = HEIGHT - BOTTOM;
  const area = `${line}L${x(places.at(-1)[0]).toFixed(1)} ${base}L${x(places[0][0]).toFixed(1)} ${base}Z`;
  const cursor = svg("line", { class: "cursor", x1: 0, x2: 0, y1: TOP, y2: base, visibility: "hidden" });
  const dot = svg("circle", { class: "dot", r: 4, visibility: "hidden" });
  const text = svg("text", { class: "value", y: TOP + 8, visibility: "hidden" });
  const ticks = [low, low + span / 2, low + span].map((v) => svg("g", {},
    svg("line", { class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: y(v), y2: y(v) }),
    svg("text", { x: LEFT - 6, y: y(v) + 3.5, "text-anchor": "end" }, short(v, span))));
  const chart = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "profile", role: "img", tabindex: "0", "aria-label": label },
    ...ticks, svg("path", { class: "area", d: area }), svg("path", { class: "line", d: line }),
    svg("text", { x: LEFT, y: HEIGHT - 4 }, ends[0]),
    svg("text", { x: WIDTH - RIGHT, y: HEIGHT - 4, "text-anchor": "end" }, ends[1]),
    cursor, dot, text);
  let index = -1;
  const point = (i) => {
    index = i;
    const place = places[i];
    for (const part of [cursor, dot, text]) part.setAttribute("visibility", place ? "visible" : "hidden");
    if (!place) return onpoint(-1);
    const across = x(place[0]);
    cursor.setAttribute("x1", across);
    cursor.setAttribute("x2", across);
    dot.setAttribute("cx", across);
    dot.setAttribute("cy", y(place[1]));
    const right = across > WIDTH * 0.6;
    text.setAttribute("x", across + (right ? -6 : 6));
    text.setAttribute("text-anchor", right ? "end" : "start");
    text.textContent = say(i);
    onpoint(i);
  };
  chart.addEventListener("pointermove", (event) => {
    const box = chart.getBoundingClientRect();
    const across = ((event.clientX - box.left) / box.width) * WIDTH;
    point(nearest(places, (place) => Math.abs(x(place[0]) - across)));
  });
  chart.addEventListener("pointerleave", () => point(-1));
  chart.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const stride = Math.max(1, Math.round(places.length / 60));
    point(Math.min(places.length - 1, Math.max(0, index + step * stride)));
  });
  return { chart, point };
}

/** The number of the item with the smallest distance. */
function nearest(items, distance) {
  let best = 0;
  items.forEach((item, i) => { if (distance(item) < distance(items[best])) best = i; });
  return best;
}

/** A number that fits beside the axis, and is told apart from its neighbors there. */
function short(value, span) {
  if (value < 100_000) return number(Math.round(value));
  const unit = value < 1e6 ? 1e3 : 1e6;
  return value.toLocaleString(language, { notation: "compact", maximumFractionDigits: Math.min(3, Math.max(0, Math.ceil(Math.log10((2 * unit) / span)))) });
}
