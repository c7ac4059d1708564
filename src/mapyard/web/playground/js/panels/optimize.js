// The shortest round through all points.

import { post } from "../api.js";
import { PointList } from "../points.js";
import { debounce, formatDistance, formatDuration, h, segmented } from "../ui.js";
import { MODES } from "./route.js";

export default {
  id: "optimize", name: "Round trip", title: "Round trip", icon: "optimize",
  paths: ["/api/v1/optimize"],
  hint: "Click three or more places: they are put in the order of the shortest round.",

  open(content, page) {
    this.mode = "auto";
    this.ask = debounce(150, () => this.update(page));
    this.points = new PointList({ map: page.map, min: 3, max: 20, onchange: () => this.ask() });
    this.round = h("input", { type: "checkbox", checked: true, onchange: () => this.ask() });
    this.output = h("div");
    content.append(segmented("Mode", MODES, this.mode, (mode) => { this.mode = mode; this.ask(); }), this.points.element,
      h("label.check", {}, this.round, "come back to the start"), this.output);
  },

  click(point) { this.points.place(point); },

  async update(page) {
    this.output.replaceChildren();
    page.map.show(null);
    if (!this.points.isComplete) return;
    const waypoints = { type: "MultiPoint", coordinates: this.points.filled.map((p) => p.map((v) => Number(v.toFixed(6)))) };
    const result = await page.run(post("/api/v1/optimize", { waypoints, mode: this.mode, roundtrip: this.round.checked }));
    if (!result) return;
    const trip = result.json;
    if (trip.route) {
      page.map.show({ ...trip.route, properties: { _width: 5 } });
      page.map.fit(trip.route);
    }
    const order = trip.waypoint_order ?? [];
    this.output.replaceChildren(
      h("div.choices", {}, h("div.choice", {}, h("b", {}, formatDuration(trip.duration_s ?? trip.total_cost_s)), h("span", {}, formatDistance(trip.distance_m)))),
      h("p.order", {}, order.map((i) => "ABCDEFGHIJKLMNOPQRST"[i]).join(" → ")));
  },
};
