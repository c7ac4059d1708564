// The shortest round through all points.

import { get, post, send } from "../api.js";
import { downloadMenu } from "../download.js";
import { readGpx } from "../gpx.js";
import { PointList } from "../points.js";
import { readCsv } from "../results.js";
import { debounce, formatDistance, formatDuration, h, segmented, toast } from "../ui.js";
import { MODES } from "./route.js";
import { t, tn } from "../words.js";

async function findAddress(q) {
  const result = await send(get("/api/v1/geocode", { q, limit: 1 })).catch(() => null);
  return result?.json.features[0]?.geometry.coordinates ?? null;
}

export default {
  id: "optimize", name: t("Round trip"), title: t("Round trip"), icon: "optimize",
  paths: ["/api/v1/optimize"],
  hint: t("Click three or more places: they are put in the order of the shortest round."),

  open(content, page) {
    this.mode = "auto";
    this.ask = debounce(150, () => this.update(page));
    this.points = new PointList({ page, min: 3, max: 20, onchange: () => this.ask() });
    this.round = h("input", { type: "checkbox", checked: true, onchange: () => this.ask() });
    this.output = h("div");
    this.modePlace = h("div.mode-place");
    this.drawModes();
    const file = h("input", { type: "file", accept: ".csv,text/csv,.gpx", "aria-label": t("File of stops"), onchange: async () => { if (file.files[0]) this.load(await file.files[0].text(), file.files[0].name, page); file.value = ""; } });
    content.append(h("label.drop", {}, h("b", {}, t("Choose a CSV of stops")), h("span", {}, t("with columns lat and lon, or address; or click the map")), file), this.modePlace, this.points.element,
      h("label.check", {}, this.round, t("come back to the start")), this.output);
  },

  drawModes() { this.modePlace.replaceChildren(segmented(t("Mode"), MODES, this.mode, (mode) => { this.mode = mode; this.ask(); })); },

  state() { return { p: this.points.text, mode: this.mode === "auto" ? "" : this.mode, round: this.round.checked ? "" : "0" }; },

  restore({ p, mode, round }) {
    if (MODES.some(([id]) => id === mode)) { this.mode = mode; this.drawModes(); }
    this.round.checked = round !== "0";
    if (p) this.points.text = p;
  },

  /** Take the stops of a file: positions, or addresses, which are looked up. */
  async load(text, name, page) {
    try {
      const rows = /\.gpx$/i.test(name) ? readGpx(text).map((coordinates) => ({ geometry: { coordinates } })) : readCsv(text, /^[^\n,]*;/.test(text) ? ";" : ",");
      const wanted = rows.slice(0, this.points.max);
      const found = await Promise.all(wanted.map(async (row) => row.geometry?.coordinates ?? (row.properties.address ? await findAddress(row.properties.address) : null)));
      const points = found.filter(Boolean);
      if (!points.length) throw new Error(t("no row has columns lat and lon, or an address that was found"));
      this.points.setAll(points);
      const left = wanted.length - points.length, cut = rows.length - wanted.length;
      if (left || cut) toast([left ? tn(left, "{n} row has no place", "{n} rows have no place") : "", cut ? tn(cut, "{n} row is more than the {max} of this page: POST /api/v1/tours takes 1,000", "{n} rows are more than the {max} of this page: POST /api/v1/tours takes 1,000", { max: this.points.max }) : ""].filter(Boolean).join("; "));
    } catch (error) { page.say(`${name}: ${error.message}`, "error"); }
  },

  click(point) { this.points.place(point); },

  async update(page) {
    page.remember();
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
      trip.route ? downloadMenu("round", () => [{ ...trip.route, properties: { name: t("Round trip") } }]) : "",
      h("p.order", {}, order.map((i) => "ABCDEFGHIJKLMNOPQRST"[i]).join(" → ")));
  },
};
