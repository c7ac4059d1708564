// Features of an answer: on the map, as a list, a table and as they came; colored, downloaded, chosen.

import { downloadMenu, saveFile } from "./download.js";
import { featureCenter, featureItem } from "./features.js";
import { inspector } from "./inspect.js";
import { colorBy } from "./styling.js";
import { columnsOf, sortedTable } from "./table.js";
import { h } from "./ui.js";
import { language, t, tn } from "./words.js";

const SHOWN_IN_LIST = 100, SHOWN_RAW = 60_000;
const COLOR_KEYS = 30;

export class Results {
  /** name: of downloads; page: the page; more: called for the next rows, if there are some. */
  constructor(page, name) {
    Object.assign(this, { page, name, features: [], placed: [], tab: "list", color: "", paint: null, more: null, under: [] });
    this.element = h("div.results");
    this.chosen = null;
  }

  /** Show features; raw: the text as it came; values: elements to show above; paint: feature → properties. */
  show(features, { raw = "", rawKind = "json", values = [], paint = null, more = null, move = true } = {}) {
    Object.assign(this, { features, raw, rawKind, values, paint, more, chosen: null });
    this.placed = features.filter((f) => f.geometry);
    if (features.length && this.tab === "raw") this.tab = "list";
    if (this.color && !features.some((f) => f.properties?.[this.color] !== undefined)) this.color = "";
    if (!this.tabs().some(([id]) => id === this.tab)) this.tab = this.tabs()[0][0];
    this.drawMap();
    this.draw();
    if (move && this.placed.length) this.page.map.fit({ type: "FeatureCollection", features: this.placed });
  }

  tabs() {
    return [
      ...(this.placed.length || !(this.features.length || this.raw) ? [["list", t("List")]] : []),
      ...(this.features.length ? [["table", t("Table")]] : []),
      ...(this.raw ? [["raw", t("Raw")]] : []),
    ];
  }

  drawMap() {
    const colored = this.color ? colorBy(this.features, this.color) : null;
    this.legend = colored?.legend ?? [];
    this.page.map.show({ type: "FeatureCollection", features: [...this.under, ...this.placed.map((f) => ({
      ...f, properties: { _label: f.properties?.name ?? undefined, ...(this.paint?.(f) ?? {}), ...(colored?.paint(f) ?? {}) } }))] });
  }

  draw() {
    const count = this.features.length;
    const bar = h("div.row.wrap.results-bar", {},
      h("div.tabs", { role: "tablist", "aria-label": t("Show results as") }, this.tabs().map(([id, text]) =>
        h("button", { type: "button", role: "tab", "aria-selected": String(id === this.tab), dataset: { show: id }, onclick: () => { this.tab = id; this.draw(); } }, text))),
      this.placed.length > 1 ? this.colorMenu() : null,
      count ? downloadMenu(this.name, () => this.features) : this.raw ? h("button.small.quiet", { type: "button", onclick: () => saveFile(`${this.name}.${this.rawKind}`, this.raw) }, t("Download")) : null);
    const more = this.more ? h("button.small.quiet", { type: "button", onclick: () => this.more() }, t("Load more")) : null;
    this.element.replaceChildren(...[
      ...this.values,
      count || this.raw ? bar : null,
      count ? h("p.count", { role: "status" }, `${[tn(count, "{n} result", "{n} results"), this.more ? t("there are more") : "", this.placed.length < count ? tn(this.placed.length, "{n} on the map", "{n} on the map") : ""].filter(Boolean).join(", ")} `, more) : null,
      this.legend.length ? h("ul.legend", { "aria-label": t("Colors of {key}", { key: this.color }) }, this.legend.map(([color, text, n]) => {
        const swatch = h("span.swatch");
        swatch.style.background = color;
        return h("li", {}, swatch, h("b", { dir: "auto" }, text), h("span", {}, n.toLocaleString(language)));
      })) : null,
      this.body(),
    ].filter(Boolean));
  }

  body() {
    if (this.tab === "raw" && this.raw) return h("pre.code.raw", { tabIndex: 0, "aria-label": t("Answer") }, this.raw.length > SHOWN_RAW ? `${this.raw.slice(0, SHOWN_RAW)}\n…` : this.raw);
    if (!this.features.length) return null;
    if (this.tab === "table") return this.table();
    return h("div", {},
      h("ul.list", {}, this.placed.slice(0, SHOWN_IN_LIST).map((f) => featureItem(f, () => this.choose(f)))),
      this.placed.length > SHOWN_IN_LIST ? h("p.empty", {}, t("The list holds the first 100; the map and the table show all.")) : null);
  }

  table() {
    const columns = columnsOf(this.features);
    const hasIds = this.features.some((f) => f.id !== undefined);
    const rows = this.features.map((f) => ({ ...f.properties, ...(hasIds ? { "@id": f.id } : {}) }));
    return sortedTable(hasIds ? [columns[0] === "name" ? "name" : "@id", ...columns.filter((c) => c !== "name"), ...(columns[0] === "name" ? ["@id"] : [])] : columns, rows,
      { onchoose: this.placed.length ? (index) => this.choose(this.features[index]) : undefined });
  }

  colorMenu() {
    const keys = columnsOf(this.features).slice(0, COLOR_KEYS);
    const select = h("select.download", { "aria-label": t("Color by"), onchange: () => { this.color = select.value; this.drawMap(); this.draw(); } },
      h("option", { value: "" }, t("Color by")), keys.map((key) => h("option", { value: key, selected: key === this.color }, key)));
    return select;
  }

  choose(feature) {
    const { map } = this.page;
    this.chosen = feature;
    if (featureCenter(feature)) {
      if (feature.geometry.type === "Point") map.fly(feature.geometry.coordinates, 17);
      else map.fit(feature, 18);
    }
    this.element.replaceChildren(h("button.link", { type: "button", onclick: () => { this.chosen = null; this.draw(); } }, t("← all results")), inspector(feature, this.page));
  }

  click(event) {
    const [hit] = this.page.map.resultsAt(event.point);
    const feature = hit && this.placed[hit.properties._index - this.under.length];
    if (feature) this.choose(feature);
    return Boolean(feature);
  }
}

/** Read CSV as features without places, or with them where it has columns of positions. */
export function readCsv(text, separator = ",") {
  const rows = [[]];
  let field = "", quoted = false;
  const end = () => { rows.at(-1).push(field); field = ""; };
  for (let i = 0; i < text.length; i += 1) {
    const c = text[i];
    if (quoted) {
      if (c !== '"') field += c;
      else if (text[i + 1] === '"') { field += '"'; i += 1; } else quoted = false;
    } else if (c === '"') quoted = true;
    else if (c === separator) end();
    else if (c === "\n") { end(); rows.push([]); } else if (c !== "\r") field += c;
  }
  end();
  const [head, ...body] = rows.filter((row) => row.length > 1 || row[0] !== "");
  if (!head) return [];
  const [lat, lon] = [["@lat", "lat", "latitude"], ["@lon", "lon", "lng", "longitude"]].map((names) => head.findIndex((name) => names.includes(name.toLowerCase())));
  return body.map((row) => ({
    type: "Feature",
    geometry: lat >= 0 && lon >= 0 && row[lat] !== "" && row[lon] !== "" ? { type: "Point", coordinates: [Number(row[lon]), Number(row[lat])] } : null,
    properties: Object.fromEntries(head.map((name, i) => [name || t("column {number}", { number: i + 1 }), row[i] ?? ""])),
  }));
}
