// Put a GPS trace on the roads it was driven on.

import { readPoints, writePoints } from "../address.js";
import { post } from "../api.js";
import { downloadMenu } from "../download.js";
import { readGpx } from "../gpx.js";
import { formatDistance, formatDuration, h } from "../ui.js";
import { t, tn } from "../words.js";

export default {
  id: "match", name: t("Match"), title: t("Map matching"), icon: "match",
  paths: ["/api/v1/map-match"],
  hint: t("Drop a GPX file on the map, or click a trace point by point."),

  open(content, page) {
    this.trace = [];
    const file = h("input", { type: "file", accept: ".gpx,application/gpx+xml,text/xml", "aria-label": t("GPX file"),
      onchange: async () => file.files[0] && this.load(await file.files[0].text(), file.files[0].name, page) });
    this.status = h("p.empty", {}, t("No trace yet."));
    this.output = h("div");
    content.append(
      h("label.drop", {}, h("b", {}, t("Choose a GPX file")), h("span", {}, t("or drop it anywhere on the page")), file),
      h("div.row", {}, h("button", { type: "button", onclick: () => this.update(page) }, t("Match")),
        h("button.quiet", { type: "button", onclick: () => { this.trace = []; this.draw(page); } }, t("Clear"))),
      this.status, this.output);
    this.draw(page);
  },

  load(text, name, page) {
    try {
      this.trace = readGpx(text);
    } catch (error) {
      return page.say(`${name}: ${error.message}`, "error");
    }
    this.draw(page);
    page.map.fit({ type: "LineString", coordinates: this.trace });
    return this.update(page);
  },

  state() { return { line: this.trace.length > 300 ? "" : writePoints(this.trace) }; },

  restore({ line }, page) {
    this.trace = readPoints(line).filter(Boolean);
    this.draw(page);
    if (this.trace.length > 1) this.update(page);
  },

  click(point, page) {
    this.trace.push(point);
    this.draw(page);
  },

  draw(page, matched = null) {
    this.status.textContent = this.trace.length ? tn(this.trace.length, "{n} trace point", "{n} trace points") : t("No trace yet.");
    this.output.replaceChildren();
    const features = this.trace.map((p) => ({ type: "Feature", geometry: { type: "Point", coordinates: p }, properties: { _color: "#c8553d" } }));
    if (matched) features.unshift({ ...matched, properties: { _width: 6 } });
    page.map.show({ type: "FeatureCollection", features });
  },

  async update(page) {
    if (this.trace.length < 2) return page.say(t("A trace needs two points or more."), "error");
    page.remember();
    const trace = { type: "LineString", coordinates: this.trace.map((p) => p.map((v) => Number(v.toFixed(6)))) };
    const result = await page.run(post("/api/v1/map-match", { trace }));
    if (!result) return;
    const { properties: p, legs = [] } = result.json;
    this.draw(page, result.json);
    page.map.fit(result.json);
    const names = [...new Set(legs.flatMap((leg) => leg.names ?? []).filter(Boolean))];
    this.output.replaceChildren(
      h("div.choices", {},
        h("div.choice", {}, h("b", {}, formatDistance(p.distance)), h("span", {}, t("matched"))),
        h("div.choice", {}, h("b", {}, formatDuration(p.duration)), h("span", {}, t("driving"))),
        h("div.choice", {}, h("b", {}, `${Math.round((p.confidence ?? 0) * 100)} %`), h("span", {}, t("confidence")))),
      downloadMenu("matched", () => [{ ...result.json, legs: undefined, properties: { ...p, name: t("Matched") } }]),
      names.length ? h("p", {}, t("Along {roads}", { roads: `${names.slice(0, 12).join(", ")}${names.length > 12 ? " …" : ""}` })) : "");
  },
};
