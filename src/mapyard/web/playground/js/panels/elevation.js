// The heights along a line, as a chart.

import { readPoints, writePoints } from "../address.js";
import { post } from "../api.js";
import { distanceBetween, profileChart } from "../chart.js";
import { downloadMenu } from "../download.js";
import { formatDistance, h } from "../ui.js";
import { number, t } from "../words.js";

const PATH = "/api/v1/elevation/profile";

export default {
  id: "elevation", name: t("Elevation"), title: t("Elevation profile"), icon: "elevation",
  paths: [PATH],
  hint: t("Click a line point by point, or take the route that you made."),

  open(content, page) {
    this.line = [];
    this.output = h("div");
    this.marker = null;
    content.append(
      h("div.row.wrap", {},
        page.shared.line ? h("button", { type: "button", onclick: () => this.openLine(page) }, t("Take my route")) : null,
        h("button.quiet", { type: "button", onclick: () => { this.line.pop(); this.update(page); } }, t("Undo")),
        h("button.quiet", { type: "button", onclick: () => { this.line = []; this.update(page); } }, t("Clear"))),
      this.output);
  },

  openLine(page) {
    if (page.current !== this) page.open(this);
    const { type, coordinates } = page.shared.line;
    this.line = thin(type === "MultiLineString" ? coordinates.flat() : coordinates, 600);
    this.update(page);
    page.map.fit({ type: "LineString", coordinates: this.line });
  },

  click(point, page) {
    this.line.push(point);
    this.update(page);
  },

  close() { this.marker = null; },

  state() { return { line: this.line.length > 300 ? "" : writePoints(this.line) }; },

  restore({ line }, page) {
    this.line = readPoints(line).filter(Boolean);
    if (this.line.length) this.update(page);
  },

  async update(page) {
    page.remember();
    this.output.replaceChildren();
    page.map.clear();
    if (this.line.length === 1) page.map.show({ type: "Feature", geometry: { type: "Point", coordinates: this.line[0] }, properties: {} });
    if (this.line.length < 2) return;
    const geometry = { type: "LineString", coordinates: fill(this.line).map((p) => p.map((v) => Number(v.toFixed(6)))) };
    page.map.show({ type: "Feature", geometry, properties: {} });
    const result = await page.run(post(PATH, { geometry }));
    if (!result) return;
    const p = result.json.properties;
    const figure = (value, text) => h("div.choice", {}, h("b", {}, value === null || value === undefined ? "–" : `${number(value)} m`), h("span", {}, text));
    this.output.replaceChildren(
      profileChart(result.json.geometry.coordinates, (at) => this.point(at, page)),
      h("div.choices", {}, figure(p.min_elevation_m, t("lowest")), figure(p.max_elevation_m, t("highest")), figure(p.total_ascent_m, t("up")), figure(p.total_descent_m, t("down"))),
      downloadMenu("profile", () => [{ ...result.json, properties: { name: t("Profile") } }]),
      p.distance_m ? h("p", {}, t("{distance} in all", { distance: formatDistance(p.distance_m) })) : "");
  },

  point(at, page) {
    if (!at) {
      page.map.clearMarkers();
      this.marker = null;
    } else if (this.marker) this.marker.setLngLat(at.slice(0, 2));
    else this.marker = page.map.addMarker(at.slice(0, 2), "");
  },
};

/** Put further points on long pieces, so that the profile has some 200. */
function fill(line) {
  const lengths = line.slice(1).map((at, i) => distanceBetween(line[i], at));
  const step = Math.max(10, lengths.reduce((a, b) => a + b, 0) / 200);
  return line.flatMap((at, i) => {
    if (!i) return [at.slice(0, 2)];
    const from = line[i - 1], parts = Math.max(1, Math.round(lengths[i - 1] / step));
    return Array.from({ length: parts }, (_, k) => [0, 1].map((j) => from[j] + ((at[j] - from[j]) * (k + 1)) / parts));
  });
}

/** Keep every n-th point and the last one. */
function thin(points, most) {
  const step = Math.ceil(points.length / most);
  return points.filter((_, i) => i % step === 0 || i === points.length - 1);
}
