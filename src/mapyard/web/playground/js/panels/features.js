// All elements with a tag: in what is in view, or inside a shape that is drawn.

import { readPoints, writePoints } from "../address.js";
import { get } from "../api.js";
import { Results } from "../results.js";
import { debounce, field, h, segmented } from "../ui.js";
import { t } from "../words.js";

const EXAMPLES = ["amenity=restaurant", "amenity=cafe|bar|pub", "shop=*", "tourism=hotel", "natural=tree", "highway=bus_stop", "building=*", "historic=*"];
const SHAPES = [["view", t("In view")], ["box", t("Box")], ["circle", t("Circle")], ["area", t("Area")]];
const HINTS = { box: t("Click two corners on the map."), circle: t("Click the middle, then a point of the rim."), area: t("Click the corners of the area, then press Find.") };
const MOST = 20_000;

export default {
  id: "features", name: t("Features"), title: t("Features by tag"), icon: "features",
  paths: ["/api/v1/features"],
  hint: t("Everything with a tag in view, or inside a shape that you draw."),

  open(content, page) {
    this.page = page;
    this.shape = "view";
    this.corners = [];
    this.hasRun = false;
    this.input = h("input", { type: "text", value: "amenity=restaurant", spellcheck: false, autocomplete: "off" });
    this.input.setAttribute("list", "tag-examples");
    this.examples = h("datalist", { id: "tag-examples" }, EXAMPLES.map((value) => h("option", { value })));
    this.input.addEventListener("input", debounce(200, () => this.complete()));
    this.shapePlace = h("div");
    this.results = new Results(page, "features");
    this.drawShapes();
    content.append(
      h("form", { onsubmit: (event) => { event.preventDefault(); this.update(page); } },
        field(t("Tag"), this.input, t("key=value, key=a|b, key=* or key=~regex")), this.examples,
        h("div.row.wrap", {}, EXAMPLES.slice(0, 6).map((text) => h("button.chip", { type: "button", onclick: () => { this.input.value = text; this.update(page); } }, text))),
        this.shapePlace,
        h("button.primary", {}, t("Find"))),
      this.results.element);
  },

  drawShapes() {
    this.shapePlace.replaceChildren(segmented(t("Where"), SHAPES, this.shape, (shape) => {
      this.shape = shape;
      this.corners = [];
      this.page.map.show(null);
      this.results.show([]);
      this.page.say(HINTS[shape] ?? "");
    }));
  },

  /** Offer keys, and the values of a key, as the data has them. */
  async complete() {
    const [key, ...rest] = this.input.value.trim().split("=");
    const call = rest.length ? get("/api/v1/tags", { key, prefix: rest.join("="), limit: 30 }) : get("/api/v1/tags", { prefix: key, limit: 30 });
    const result = await this.page.ask(call);
    if (result) this.examples.replaceChildren(...result.json.tags.map((tag) => h("option", { value: tag.value === undefined ? `${tag.key}=*` : `${tag.key}=${tag.value}` })));
  },

  state() { return { tag: this.input.value.trim(), shape: this.shape === "view" ? "" : this.shape, corners: writePoints(this.corners), run: this.hasRun ? "1" : "" }; },

  restore({ tag, shape, corners, run }, page) {
    if (tag) this.input.value = tag;
    if (SHAPES.some(([id]) => id === shape)) { this.shape = shape; this.drawShapes(); }
    this.corners = readPoints(corners).filter(Boolean);
    if (run) this.update(page);
  },

  /** The filter of place, as the endpoint takes it; null where the shape is not drawn yet. */
  where(page) {
    const c = this.corners;
    if (this.shape === "view") return { bbox: page.map.view.join(",") };
    if (this.shape === "box" && c.length === 2) {
      const [lngs, lats] = [0, 1].map((axis) => c.map((p) => p[axis]).sort((a, b) => a - b));
      return { bbox: [lats[0], lngs[0], lats[1], lngs[1]].map((v) => v.toFixed(6)).join(",") };
    }
    if (this.shape === "circle" && c.length === 2) return { around: `${c[0][1].toFixed(6)},${c[0][0].toFixed(6)}`, radius: Math.max(1, Math.round(page.map.distance(c[0], c[1]))) };
    if (this.shape === "area" && c.length > 2) return { within: JSON.stringify({ type: "Polygon", coordinates: [[...c, c[0]].map((p) => p.map((v) => Number(v.toFixed(6))))] }) };
    return null;
  },

  outline(page) {
    const c = this.corners;
    if (!c.length) return [];
    const color = { _color: "#c8553d", _opacity: 0.08, _width: 2 };
    const polygon = (ring) => [{ type: "Feature", geometry: { type: "Polygon", coordinates: [[...ring, ring[0]]] }, properties: color }];
    if (this.shape === "box" && c.length === 2) return polygon([c[0], [c[1][0], c[0][1]], c[1], [c[0][0], c[1][1]]]);
    if (this.shape === "circle" && c.length === 2) return polygon(page.map.circle(c[0], page.map.distance(c[0], c[1])));
    if (this.shape === "area" && c.length > 2) return polygon(c);
    return c.map((at) => ({ type: "Feature", geometry: { type: "Point", coordinates: at }, properties: color }));
  },

  async update(page) {
    const [key, ...rest] = this.input.value.trim().split("=");
    if (!key) return;
    const where = this.where(page);
    if (!where) return page.say(HINTS[this.shape], "error");
    this.hasRun = true;
    page.remember();
    const query = { [`tags[${key}]`]: rest.join("=") || "*", ...where, limit: 1000 };
    const result = await page.run(get("/api/v1/features", query));
    if (!result) return;
    this.show(result.json.features, query, result.headers, page, this.shape !== "view");
    if (!result.json.features.length) page.say(t("Nothing with this tag is there."));
  },

  show(found, query, headers, page, move) {
    const cursor = headers.get("X-Has-More") === "true" && found.length < MOST ? headers.get("X-Next-Cursor") : null;
    this.results.under = this.outline(page);
    this.results.show(found, { move, more: cursor && (async () => {
      const result = await page.run(get("/api/v1/features", { ...query, cursor }));
      if (result) this.show([...found, ...result.json.features], query, result.headers, page, false);
    }) });
  },

  click(point, page, event) {
    if (this.shape !== "view" && !(this.results.features.length && this.results.click(event))) {
      const most = this.shape === "area" ? 100 : 2;
      if (this.corners.length >= most) this.corners = [];
      this.corners.push(point);
      page.map.show({ type: "FeatureCollection", features: this.outline(page) });
      if (this.shape !== "area" && this.corners.length === 2) this.update(page);
    } else if (this.shape === "view") this.results.click(event);
  },
};
