// How far one gets in a given time.

import { post } from "../api.js";
import { downloadMenu } from "../download.js";
import { PointList } from "../points.js";
import { debounce, h, segmented } from "../ui.js";
import { asPoint, MODES } from "./route.js";
import { number, t } from "../words.js";

const COLORS = ["#0a7d57", "#3a9a4d", "#a5a52c", "#d98b2b", "#c8553d"];

export default {
  id: "isochrone", name: t("Reach"), title: t("Isochrone"), icon: "isochrone",
  paths: ["/api/v1/isochrone"],
  hint: t("Click the map: the areas that can be reached in the chosen times."),

  open(content, page) {
    this.mode = "foot";
    this.minutes = 15;
    this.ask = debounce(150, () => this.update(page));
    this.points = new PointList({ page, names: [t("Start")], onchange: () => this.ask() });
    const value = h("output", {}, `${this.minutes} min`);
    const slider = h("input", { type: "range", min: 5, max: 60, step: 5, value: this.minutes, "aria-label": t("Longest time, minutes"),
      oninput: (event) => { this.minutes = Number(event.target.value); value.textContent = `${this.minutes} min`; this.ask(); } });
    this.output = h("div");
    this.modePlace = h("div.mode-place");
    this.slider = slider;
    this.shown = value;
    this.drawModes();
    content.append(this.modePlace, this.points.element,
      h("div.slider", {}, h("span", {}, t("Within")), slider, value), this.output);
  },

  drawModes() { this.modePlace.replaceChildren(segmented(t("Mode"), MODES, this.mode, (mode) => { this.mode = mode; this.ask(); })); },

  state() { return { p: this.points.text, mode: this.mode === "foot" ? "" : this.mode, min: this.minutes === 15 ? "" : this.minutes }; },

  restore({ p, mode, min }) {
    if (MODES.some(([id]) => id === mode)) { this.mode = mode; this.drawModes(); }
    if (min >= 1 && min <= 60) { this.minutes = Number(min); this.slider.value = min; this.shown.textContent = `${min} min`; }
    if (p) this.points.text = p;
  },

  click(point) { this.points.place(point); },

  async update(page) {
    page.remember();
    this.output.replaceChildren();
    const [point] = this.points.filled;
    if (!point) return page.map.show(null);
    const times = [1, 2, 3].map((third) => Math.round((this.minutes * 60 * third) / 3));
    const result = await page.run(post("/api/v1/isochrone", { geometry: asPoint(point), time: times, mode: this.mode }));
    if (!result) return page.map.show(null);
    const areas = result.json.features.toSorted((a, b) => b.properties.time_seconds - a.properties.time_seconds);
    const colored = areas.map((f, i) => ({ ...f, properties: { ...f.properties, _color: COLORS[(areas.length - 1 - i) * 2] ?? COLORS[4], _opacity: 0.2 } }));
    page.map.show({ type: "FeatureCollection", features: colored });
    page.map.fit(result.json);
    this.output.replaceChildren(downloadMenu("reach", () => result.json.features), h("ul.legend", {}, colored.toReversed().map((f) => {
      const swatch = h("span.swatch");
      swatch.style.background = f.properties._color;
      const area = f.properties.area_m2;
      return h("li", {}, swatch, h("b", {}, `${Math.round(f.properties.time_seconds / 60)} min`), h("span", {}, area ? `${number(area / 1e6, area < 1e7 ? 1 : 0)} km²` : ""));
    })));
  },
};
