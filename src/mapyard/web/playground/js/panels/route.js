// A route: ends and stops can be dragged, modes compared.

import { post } from "../api.js";
import { PointList } from "../points.js";
import { debounce, field, formatDistance, formatDuration, h, iconButton, segmented } from "../ui.js";

export const MODES = [["auto", "Drive", "car"], ["bicycle", "Cycle", "bicycle"], ["foot", "Walk", "foot"]];
export const asPoint = ([lng, lat]) => ({ type: "Point", coordinates: [Number(lng.toFixed(6)), Number(lat.toFixed(6))] });

export default {
  id: "route", name: "Route", title: "Route", icon: "route",
  paths: ["/api/v1/route"],
  hint: "Click two places on the map. Drag the pins to change the way.",

  open(content, page) {
    this.mode = "auto";
    this.avoid = new Set();
    this.ask = debounce(60, () => this.update(page));
    this.points = new PointList({ map: page.map, names: ["From", "To"], min: 2, max: 10, addText: "Add a stop", onchange: () => this.ask() });
    const alternatives = h("input", { type: "checkbox", onchange: () => this.ask() });
    this.alternatives = alternatives;
    const avoid = ["toll", "motorway", "ferry", "unpaved"].map((what) =>
      h("label.check", {}, h("input", { type: "checkbox", onchange: (event) => { event.target.checked ? this.avoid.add(what) : this.avoid.delete(what); this.ask(); } }), what));
    this.output = h("div");
    content.append(
      h("div.row.spread", {}, segmented("Mode", MODES, this.mode, (mode) => { this.mode = mode; this.ask(); }), iconButton("swap", "Swap the ends", () => this.points.reverse())),
      this.points.element,
      h("details.options", {}, h("summary", {}, "Options"), h("div.row.wrap", {}, h("label.check", {}, alternatives, "alternatives"), avoid.map((a) => a))),
      this.output);
  },

  click(point) { this.points.place(point); },

  async update(page) {
    this.output.replaceChildren();
    if (!this.points.isComplete) return page.map.show(null);
    const ends = this.points.filled;
    const result = await page.run(post("/api/v1/route", {
      origin: asPoint(ends[0]),
      destination: asPoint(ends.at(-1)),
      mode: this.mode,
      waypoints: ends.length > 2 ? ends.slice(1, -1).map(asPoint) : undefined,
      alternatives: this.alternatives.checked && ends.length === 2 ? 2 : undefined,
      exclude: this.avoid.size ? [...this.avoid].join(",") : undefined,
      steps: true,
    }));
    if (!result) return page.map.show(null);
    const routes = result.json.type === "FeatureCollection" ? result.json.features : [result.json];
    this.draw(routes, 0, page);
    page.map.fit({ type: "FeatureCollection", features: routes });
  },

  draw(routes, chosen, page) {
    const others = routes.filter((_, i) => i !== chosen).map((f) => ({ ...f, properties: { _color: "#8a958e", _width: 4, _opacity: 0.8 } }));
    page.map.show({ type: "FeatureCollection", features: [...others, { ...routes[chosen], properties: { _width: 5.5 } }] });
    page.shared.line = routes[chosen].geometry;
    const steps = (routes[chosen].properties.steps ?? []).flat();
    const profile = page.tools.find((tool) => tool.id === "elevation");
    this.output.replaceChildren(
      h("div.choices", {}, routes.map((route, i) => h("button.choice", { type: "button", "aria-pressed": String(i === chosen), onclick: () => this.draw(routes, i, page) },
        h("b", {}, formatDuration(route.properties.duration_s ?? route.properties.duration)), h("span", {}, formatDistance(route.properties.distance_m ?? route.properties.distance))))),
      profile ? h("button.link", { type: "button", onclick: () => profile.openLine(page) }, "Elevation along this route") : "",
      steps.length ? h("ol.steps", {}, steps.map((step) => h("li", {}, h("span", {}, step.instruction), h("small", {}, step.distance_m ? formatDistance(step.distance_m) : "")))) : "");
  },
};
