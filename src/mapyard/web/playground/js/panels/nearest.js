// The nearest road of a point.

import { get } from "../api.js";
import { PointList } from "../points.js";
import { debounce, formatDistance, h } from "../ui.js";
import { t } from "../words.js";

export default {
  id: "nearest", name: t("Nearest"), title: t("Nearest road"), icon: "nearest",
  paths: ["/api/v1/nearest"],
  hint: t("Click anywhere: the point is moved onto the nearest road."),

  open(content, page) {
    this.ask = debounce(60, () => this.update(page));
    this.points = new PointList({ page, names: [t("Point")], onchange: () => this.ask() });
    const value = (this.shown = h("output", {}, "500 m"));
    this.radius = h("input", { type: "range", min: 50, max: 5000, step: 50, value: 500, "aria-label": t("Search radius, metres"),
      oninput: (event) => { value.textContent = formatDistance(Number(event.target.value)); this.ask(); } });
    this.output = h("div");
    content.append(this.points.element, h("div.slider", {}, h("span", {}, t("Radius")), this.radius, value), this.output);
  },

  state() { return { p: this.points.text, radius: this.radius.value === "500" ? "" : this.radius.value }; },

  restore({ p, radius }) {
    if (radius) { this.radius.value = radius; this.shown.textContent = formatDistance(Number(this.radius.value)); }
    if (p) this.points.text = p;
  },

  click(point) { this.points.set(0, point); },

  async update(page) {
    page.remember();
    this.output.replaceChildren();
    const [point] = this.points.filled;
    if (!point) return page.map.show(null);
    const result = await page.run(get("/api/v1/nearest", { lat: point[1].toFixed(6), lng: point[0].toFixed(6), radius: this.radius.value }));
    if (!result) return page.map.show(null);
    const found = result.json, p = found.properties;
    page.map.show({ type: "FeatureCollection", features: [
      { type: "Feature", geometry: { type: "LineString", coordinates: [point, found.geometry.coordinates] }, properties: { _width: 2.5 } },
      { ...found, properties: { ...p, _label: p.name ?? "" } }] });
    const rows = [[t("Distance"), formatDistance(p.distance_m)], [t("Kind"), p.highway], [t("Surface"), p.surface], [t("Way"), p.osm_way_id], [t("Edge"), p.edge_id], [t("Length"), p.edge_length_m && formatDistance(p.edge_length_m)]];
    this.output.replaceChildren(h("article.card", {}, h("h3", { dir: "auto" }, p.name || t("Road without a name")),
      h("table.tags", {}, h("tbody", {}, rows.filter(([, v]) => v !== undefined && v !== null).map(([k, v]) => h("tr", {}, h("th", { scope: "row" }, k), h("td", {}, String(v))))))));
  },
};
