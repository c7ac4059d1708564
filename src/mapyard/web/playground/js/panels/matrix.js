// Times and distances between all points.

import { post } from "../api.js";
import { saveFile } from "../download.js";
import { PointList } from "../points.js";
import { debounce, formatDistance, formatDuration, h, segmented } from "../ui.js";
import { MODES } from "./route.js";
import { t } from "../words.js";

const LETTERS = "ABCDEFGHIJ";

export default {
  id: "matrix", name: t("Matrix"), title: t("Matrix"), icon: "matrix",
  paths: ["/api/v1/matrix"],
  hint: t("Click two to ten places: times and distances between all of them."),

  open(content, page) {
    this.mode = "auto";
    this.what = "durations";
    this.ask = debounce(120, () => this.update(page));
    this.points = new PointList({ page, min: 2, max: 10, onchange: () => this.ask() });
    this.output = h("div");
    content.append(
      (this.modePlace = h("div.mode-place")),
      this.points.element,
      segmented(t("Values"), [["durations", t("Times")], ["distances", t("Distances")]], this.what, (what) => { this.what = what; this.draw(); }),
      this.output);
    this.result = null;
    this.drawModes();
  },

  drawModes() { this.modePlace.replaceChildren(segmented(t("Mode"), MODES, this.mode, (mode) => { this.mode = mode; this.ask(); })); },

  state() { return { p: this.points.text, mode: this.mode === "auto" ? "" : this.mode }; },

  restore({ p, mode }) {
    if (MODES.some(([id]) => id === mode)) { this.mode = mode; this.drawModes(); }
    if (p) this.points.text = p;
  },

  click(point) { this.points.place(point); },

  async update(page) {
    page.remember();
    const points = this.points.filled;
    this.result = null;
    this.output.replaceChildren();
    if (points.length < 2) return;
    const places = { type: "MultiPoint", coordinates: points.map((p) => p.map((v) => Number(v.toFixed(6)))) };
    const result = await page.run(post("/api/v1/matrix", { origins: places, destinations: places, mode: this.mode }));
    this.result = result?.json ?? null;
    this.draw();
  },

  /** One row per pair: both figures, as a table that programs read. */
  download() {
    const points = this.points.filled;
    const rows = points.flatMap((from, i) => points.map((to, j) => [LETTERS[i], LETTERS[j], from[1], from[0], to[1], to[0], this.result.durations?.[i]?.[j] ?? "", this.result.distances?.[i]?.[j] ?? ""].join(",")));
    saveFile("matrix.csv", `from,to,from_lat,from_lon,to_lat,to_lon,duration_s,distance_m\r\n${rows.join("\r\n")}\r\n`);
  },

  draw() {
    if (!this.result) return;
    const rows = this.result[this.what];
    const largest = Math.max(1, ...rows.flat().filter((v) => v !== null));
    const format = this.what === "durations" ? formatDuration : formatDistance;
    this.output.replaceChildren(h("button.small.quiet", { type: "button", onclick: () => this.download() }, t("Download CSV")), h("div.scroll", {}, h("table.matrix", {},
      h("thead", {}, h("tr", {}, h("td"), rows.map((_, i) => h("th", { scope: "col" }, LETTERS[i])))),
      h("tbody", {}, rows.map((row, i) => h("tr", {}, h("th", { scope: "row" }, LETTERS[i]), row.map((value, j) => {
        const cell = h("td", {}, i === j ? "" : format(value));
        if (value !== null && i !== j) cell.style.setProperty("--share", `${Math.round((value / largest) * 60)}%`);
        return cell;
      })))))));
  },
};
