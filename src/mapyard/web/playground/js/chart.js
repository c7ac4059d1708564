// An elevation profile as an SVG chart; pointing at it shows the place on the map.

import { formatDistance, h, svg } from "./ui.js";
import { number, t } from "./words.js";

const WIDTH = 320, HEIGHT = 130, LEFT = 38, BOTTOM = 18, TOP = 8;

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
  const span = Math.max(high - low, 10);
  const x = (m) => LEFT + (m / (along || 1)) * (WIDTH - LEFT - 6);
  const y = (v) => TOP + (1 - (v - low) / span) * (HEIGHT - TOP - BOTTOM);
  let line = "", pen = "M";
  for (const sample of samples) {
    if (sample.height === null) { pen = "M"; continue; }
    line += `${pen}${x(sample.m).toFixed(1)} ${y(sample.height).toFixed(1)}`;
    pen = "L";
  }
  const base = HEIGHT - BOTTOM;
  const area = `${line}L${x(known.at(-1).m).toFixed(1)} ${base}L${x(known[0].m).toFixed(1)} ${base}Z`;
  const cursor = svg("line", { class: "cursor", x1: 0, x2: 0, y1: TOP, y2: base, visibility: "hidden" });
  const dot = svg("circle", { class: "dot", r: 4, visibility: "hidden" });
  const text = svg("text", { class: "value", y: TOP + 8, visibility: "hidden" });
  const ticks = [low, low + span / 2, low + span].map((v) => svg("g", {},
    svg("line", { class: "grid", x1: LEFT, x2: WIDTH - 6, y1: y(v), y2: y(v) }),
    svg("text", { x: LEFT - 6, y: y(v) + 3.5, "text-anchor": "end" }, `${Math.round(v)}`)));
  const chart = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "profile", role: "img", tabindex: "0",
    "aria-label": t("Elevation from {low} to {high} metres over {distance}; arrow keys move along it", { low: number(low), high: number(high), distance: formatDistance(along) }) },
    ...ticks, svg("path", { class: "area", d: area }), svg("path", { class: "line", d: line }),
    svg("text", { x: LEFT, y: HEIGHT - 4 }, "0"),
    svg("text", { x: WIDTH - 6, y: HEIGHT - 4, "text-anchor": "end" }, formatDistance(along)),
    cursor, dot, text);
  let index = -1;
  const point = (i) => {
    index = i;
    const sample = known[i];
    for (const part of [cursor, dot, text]) part.setAttribute("visibility", sample ? "visible" : "hidden");
    if (!sample) return onpoint(null);
    cursor.setAttribute("x1", x(sample.m));
    cursor.setAttribute("x2", x(sample.m));
    dot.setAttribute("cx", x(sample.m));
    dot.setAttribute("cy", y(sample.height));
    const right = x(sample.m) > WIDTH * 0.6;
    text.setAttribute("x", x(sample.m) + (right ? -6 : 6));
    text.setAttribute("text-anchor", right ? "end" : "start");
    text.textContent = t("{height} m at {distance}", { height: number(sample.height), distance: formatDistance(sample.m) });
    onpoint(sample.at);
  };
  chart.addEventListener("pointermove", (event) => {
    const box = chart.getBoundingClientRect();
    const m = (((event.clientX - box.left) / box.width) * WIDTH - LEFT) / (WIDTH - LEFT - 6) * along;
    let best = 0;
    known.forEach((s, i) => { if (Math.abs(s.m - m) < Math.abs(known[best].m - m)) best = i; });
    point(best);
  });
  chart.addEventListener("pointerleave", () => point(-1));
  chart.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const stride = Math.max(1, Math.round(known.length / 60));
    point(Math.min(known.length - 1, Math.max(0, index + step * stride)));
  });
  /** Point at the sample that is nearest to [lng, lat], as pointing at the chart does; null leaves. */
  chart.pointAt = (place) => {
    if (!place) return point(-1);
    let best = 0;
    known.forEach((s, i) => { if (distanceBetween(s.at, place) < distanceBetween(known[best].at, place)) best = i; });
    point(best);
  };
  return chart;
}
