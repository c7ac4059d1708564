// A route: addresses or clicks, ends and line dragged, modes compared, heights, areas to avoid, files.

import { writePoints, readPoints } from "../address.js";
import { post, send } from "../api.js";
import { profileChart } from "../chart.js";
import { downloadMenu } from "../download.js";
import { readGpx } from "../gpx.js";
import { nearestIndex } from "../lines.js";
import { PointList } from "../points.js";
import { debounce, formatDistance, formatDuration, h, icon, iconButton, segmented, toast } from "../ui.js";
import { language, number, t } from "../words.js";

export const MODES = [["auto", t("Drive"), "car"], ["bicycle", t("Cycle"), "bicycle"], ["foot", t("Walk"), "foot"]];
export const asPoint = ([lng, lat]) => ({ type: "Point", coordinates: [Number(lng.toFixed(6)), Number(lat.toFixed(6))] });
const AVOIDABLE = [["toll", t("no toll")], ["motorway", t("no motorway")], ["ferry", t("no ferry")], ["unpaved", t("no unpaved road")], ["tunnel", t("no tunnel")], ["bridge", t("no bridge")]];

export default {
  id: "route", name: t("Route"), title: t("Route"), icon: "route",
  paths: ["/api/v1/route"],
  hint: t("Write addresses or click the map. Drag pins, or the line itself."),

  open(content, page) {
    this.page = page;
    this.mode = "auto";
    this.avoid = new Set();
    this.area = []; // corners of the area to avoid
    this.drawing = false;
    this.routes = [];
    this.ask = debounce(60, () => this.update(page));
    this.points = new PointList({ page, names: [t("From"), t("To")], min: 2, max: 10, addText: t("Add a stop"), onchange: () => this.ask() });
    this.alternatives = h("input", { type: "checkbox", onchange: () => this.ask() });
    this.avoidBoxes = Object.fromEntries(AVOIDABLE.map(([what]) => [what, h("input", { type: "checkbox", onchange: (event) => { event.target.checked ? this.avoid.add(what) : this.avoid.delete(what); this.ask(); } })]));
    this.areaButton = h("button.small.quiet", { type: "button", onclick: () => this.drawArea(page) }, t("Draw an area to avoid"));
    const file = h("input", { type: "file", accept: ".gpx,application/gpx+xml", "aria-label": t("GPX file with stops"), onchange: async () => { if (file.files[0]) this.load(await file.files[0].text(), file.files[0].name, page); file.value = ""; } });
    this.options = h("details.options", {}, h("summary", {}, t("Options")), h("div.row.wrap", {},
      h("label.check", {}, this.alternatives, t("alternatives")), AVOIDABLE.map(([what, text]) => h("label.check", {}, this.avoidBoxes[what], text)),
      this.areaButton, h("label.small.quiet.button.file", {}, t("Stops from GPX"), file)));
    this.output = h("div");
    this.modePlace = h("div.mode-place");
    this.drawModes();
    content.append(
      h("div.row.spread", {}, this.modePlace, iconButton("swap", t("Swap the ends"), () => this.points.reverse())),
      this.points.element, this.options, this.output);
    this.offDrag = page.map.onLineDrag(() => this.routes[this.chosen]?.geometry.coordinates, (from, to) => this.addVia(to, from));
  },

  close(page) {
    this.offDrag?.();
    page.map.showCursor(null);
  },

  drawModes() {
    this.modePlace.replaceChildren(segmented(t("Mode"), MODES, this.mode, (mode) => { this.mode = mode; this.ask(); }));
  },

  state() {
    return { p: this.points.text, mode: this.mode === "auto" ? "" : this.mode, avoid: [...this.avoid].join(","), alternatives: this.alternatives.checked ? "1" : "", area: writePoints(this.area) };
  },

  restore({ p, mode, avoid, alternatives, area }) {
    if (MODES.some(([id]) => id === mode)) { this.mode = mode; this.drawModes(); }
    for (const what of (avoid ?? "").split(",")) if (this.avoidBoxes[what]) { this.avoid.add(what); this.avoidBoxes[what].checked = true; }
    this.alternatives.checked = Boolean(alternatives);
    this.area = readPoints(area).filter(Boolean);
    this.options.open = Boolean(avoid || alternatives || area);
    this.nameArea();
    if (p) this.points.text = p;
  },

  click(point, page, event) {
    if (this.drawing) {
      this.area.push(point);
      return this.draw(page);
    }
    const other = this.routes.length > 1 && page.map.resultsAt(event.point).find((hit) => hit.properties._route !== undefined);
    if (other) { this.chosen = other.properties._route; return this.draw(page); }
    this.points.place(point);
  },

  /** Put a stop between those between which the way passes a place. */
  addVia(point, near = point) {
    const line = this.routes[this.chosen]?.geometry.coordinates;
    const filled = this.points.points;
    let index = filled.length - 1;
    if (line) {
      const at = nearestIndex(line, near);
      index = 1 + filled.slice(1, -1).filter((p) => p && nearestIndex(line, p) <= at).length;
    }
    this.points.insert(index, point);
  },

  drawArea(page) {
    if (this.drawing || this.area.length) {
      const isDone = this.drawing && this.area.length > 2;
      if (!isDone) this.area = [];
      this.drawing = false;
      this.nameArea();
      this.draw(page);
      return this.ask();
    }
    this.drawing = true;
    this.nameArea();
    page.say(t("Click the corners of the area, then press Done."));
  },

  nameArea() { this.areaButton.textContent = this.drawing ? t("Done") : this.area.length ? t("Remove the area") : t("Draw an area to avoid"); },

  load(text, name, page) {
    try {
      const points = readGpx(text);
      const step = Math.max(1, Math.ceil((points.length - 1) / 9));
      const few = points.filter((_, i) => i % step === 0 || i === points.length - 1).slice(0, 10);
      if (few.length < points.length) toast(t("{name} has {count} points; {few} of them are the stops. To follow a whole trace, use Match.", { name, count: number(points.length), few: few.length }));
      this.points.setAll(few);
    } catch (error) { page.say(`${name}: ${error.message}`, "error"); }
  },

  body(mode, ends) {
    return {
      origin: asPoint(ends[0]),
      destination: asPoint(ends.at(-1)),
      mode,
      waypoints: ends.length > 2 ? ends.slice(1, -1).map(asPoint) : undefined,
      exclude: this.avoid.size ? [...this.avoid].join(",") : undefined,
      avoid_polygons: this.area.length > 2 ? { type: "Polygon", coordinates: [[...this.area, this.area[0]].map((p) => p.map((v) => Number(v.toFixed(6))))] } : undefined,
    };
  },

  async update(page) {
    if (this.drawing) return;
    page.remember();
    this.output.replaceChildren();
    this.routes = [];
    if (!this.points.isComplete) return this.draw(page);
    const ends = this.points.filled;
    const result = await page.run(post("/api/v1/route", {
      ...this.body(this.mode, ends),
      alternatives: this.alternatives.checked && ends.length === 2 ? 2 : undefined,
      steps: true,
      lang: language === "en" ? undefined : language,
    }));
    if (!result) return this.draw(page);
    this.routes = result.json.type === "FeatureCollection" ? result.json.features : [result.json];
    this.chosen = 0;
    this.draw(page);
    page.map.fit({ type: "FeatureCollection", features: this.routes });
  },

  draw(page) {
    const { routes, chosen } = this;
    const area = this.area.length ? [{ type: "Feature", geometry: this.area.length > 2 ? { type: "Polygon", coordinates: [[...this.area, this.area[0]]] } : { type: "LineString", coordinates: this.area.length > 1 ? this.area : [this.area[0], this.area[0]] }, properties: { _color: "#c8553d", _opacity: 0.25, _width: 2 } }] : [];
    if (!routes.length) return page.map.show({ type: "FeatureCollection", features: area });
    const route = routes[chosen];
    const others = routes.map((f, i) => ({ ...f, properties: { _color: "#8a958e", _width: 4, _opacity: 0.8, _route: i } })).filter((_, i) => i !== chosen);
    // From each pin to where its way begins or passes on the road.
    const ties = (route.properties.waypoints ?? []).map((waypoint, i) => ({ type: "Feature", geometry: { type: "LineString", coordinates: [this.points.filled[i] ?? waypoint.location, waypoint.location] }, properties: { _tie: true } }));
    page.map.show({ type: "FeatureCollection", features: [...area, ...others, { ...route, properties: { _width: 5.5, _route: chosen } }, ...ties] });
    page.shared.line = route.geometry;
    const steps = route.properties.steps ?? [];
    this.heights = h("div");
    this.modes = h("div");
    this.output.replaceChildren(
      h("div.choices", {}, routes.map((one, i) => h("button.choice", { type: "button", "aria-pressed": String(i === chosen), onclick: () => { this.chosen = i; this.draw(page); } },
        h("b", {}, formatDuration(one.properties.duration_s)), h("span", {}, formatDistance(one.properties.distance_m))))),
      h("div.row.wrap", {},
        h("button.small.quiet", { type: "button", onclick: () => this.compare(page) }, t("Compare modes")),
        h("button.small.quiet", { type: "button", onclick: () => this.showHeights(page) }, t("Heights")),
        downloadMenu("route", () => [{ ...route, properties: { ...route.properties, name: t("Route"), steps: undefined, waypoints: undefined, legs: undefined } }])),
      this.modes, this.heights,
      steps.length ? h("ol.steps", {}, steps.map((step) => h("li", {}, h("button.step", { type: "button",
        onpointerenter: () => this.point(step, page), onpointerleave: () => page.map.highlight(null), onfocus: () => this.point(step, page), onblur: () => page.map.highlight(null),
        onclick: () => page.map.fly(route.geometry.coordinates[step.geometry_index?.[0] ?? 0], 17) },
        h("span", {}, step.instruction), h("small", {}, step.distance_m ? formatDistance(step.distance_m) : ""))))) : "");
  },

  /** Show on the map which part of the way a step is. */
  point(step, page) {
    const [from, to] = step.geometry_index ?? [];
    const line = this.routes[this.chosen].geometry.coordinates;
    if (from !== undefined) page.map.highlight({ type: "LineString", coordinates: from === to ? [line[from], line[from]] : line.slice(from, to + 1) });
  },

  /** Ask for the same way in all modes, and show them side by side. */
  async compare(page) {
    const ends = this.points.filled;
    this.modes.replaceChildren(h("p.empty", {}, t("Asking for all modes …")));
    const found = await Promise.all(MODES.map(([mode]) => send(post("/api/v1/route", { ...this.body(mode, ends), overview: "false" })).then((r) => r.json.properties, () => null)));
    const longest = Math.max(1, ...found.map((p) => p?.duration_s ?? 0));
    this.modes.replaceChildren(h("table.compare", {}, h("caption", {}, t("By mode")), h("tbody", {}, MODES.map(([mode, text, symbol], i) => {
      const p = found[i];
      const bar = h("span.bar");
      bar.style.width = `${Math.round(((p?.duration_s ?? 0) / longest) * 100)}%`;
      return h("tr", {}, h("th", { scope: "row" }, h("button.link", { type: "button", onclick: () => { this.mode = mode; this.drawModes(); this.ask(); } }, icon(symbol), text)),
        h("td.bars", {}, bar), h("td", {}, p ? formatDuration(p.duration_s) : t("no way")), h("td", {}, p ? formatDistance(p.distance_m) : ""));
    }))));
  },

  async showHeights(page) {
    const line = this.routes[this.chosen].geometry.coordinates;
    const result = await page.run(post("/api/v1/route", { ...this.body(this.mode, this.points.filled), elevation: true }), { quiet: true });
    if (!result) return;
    const coordinates = this.chosen === 0 ? result.json.geometry.coordinates : line;
    const chart = profileChart(coordinates, (at) => page.map.showCursor(at && at.slice(0, 2)));
    page.map.onLineHover = (at) => chart.pointAt?.(at);
    this.heights.replaceChildren(chart);
  },
};
