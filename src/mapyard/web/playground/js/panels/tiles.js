// What is in the tiles: features under the pointer, layers of a tile, tile borders.

import { get } from "../api.js";
import { h } from "../ui.js";
import { language, number, t } from "../words.js";

export default {
  id: "tiles", name: t("Tiles"), title: t("Tile inspector"), icon: "tiles",
  paths: ["/api/v1/tiles/{z}/{x}/{y}"],
  hint: t("Click the map to see the features of its vector tiles."),

  open(content, page) {
    this.map = page.map.map;
    const borders = h("input", { type: "checkbox", onchange: () => { this.map.showTileBoundaries = borders.checked; } });
    const boxes = h("input", { type: "checkbox", onchange: () => { this.map.showCollisionBoxes = boxes.checked; } });
    this.output = h("div");
    content.append(
      h("div.row.wrap", {}, h("label.check", {}, borders, t("tile borders")), h("label.check", {}, boxes, t("label boxes"))),
      h("p.links", {}, h("a", { href: "/api/v1/tiles.json" }, "TileJSON"), " · ", h("a", { href: "/api/v1/tiles/style.json" }, t("light style")), " · ", h("a", { href: "/api/v1/tiles/style.json?theme=dark" }, t("dark style"))),
      this.output);
    this.inspect(page.map.center, page);
  },

  close() {
    this.map.showTileBoundaries = false;
    this.map.showCollisionBoxes = false;
  },

  click(point, page, event) {
    this.inspect(point, page, this.map.queryRenderedFeatures(event.point).filter((f) => f.source === "osm"));
  },

  async inspect([lng, lat], page, hits = []) {
    const z = Math.min(14, Math.floor(this.map.getZoom()));
    const n = 2 ** z;
    const x = Math.floor((((lng + 540) % 360) / 360) * n);
    const y = Math.floor(((1 - Math.asinh(Math.tan((lat * Math.PI) / 180)) / Math.PI) / 2) * n);
    const result = await page.run(get(`/api/v1/tiles/${z}/${x}/${y}.mvt`), { quiet: true });
    if (!result) return;
    const layers = page.config.layers ?? (page.config.layers = (await (await fetch("/api/v1/tiles.json")).json()).vector_layers);
    const counts = layers
      .map(({ id }) => [id, new Set(this.map.querySourceFeatures("osm", { sourceLayer: id }).map((f) => f.id ?? JSON.stringify(f.geometry))).size])
      .filter(([, count]) => count);
    const seen = new Set();
    const distinct = hits.filter((f) => !seen.has(`${f.sourceLayer}/${f.id}`) && seen.add(`${f.sourceLayer}/${f.id}`));
    page.map.show(distinct.length ? { type: "FeatureCollection", features: distinct.slice(0, 1).map((f) => ({ type: "Feature", geometry: f.geometry, properties: {} })) } : null);
    const kilobytes = result.headers.get("Content-Length");
    this.output.replaceChildren(
      h("div.choices", {},
        h("div.choice", {}, h("b", {}, `${z}/${x}/${y}`), h("span", {}, t("tile"))),
        h("div.choice", {}, h("b", {}, result.status === 204 ? t("empty") : `${number(Number(kilobytes ?? result.bytes) / 1000, 1)} kB`), h("span", {}, t("compressed")))),
      ...distinct.slice(0, 12).map((f) => h("article.card", {},
        h("h3", { dir: "auto" }, f.properties.name ?? f.properties.kind ?? f.sourceLayer), h("p.kind", {}, `${f.sourceLayer} · ${describeId(f.id)}`),
        h("table.tags", {}, h("tbody", {}, Object.entries(f.properties).map(([k, v]) => h("tr", {}, h("th", { scope: "row" }, k), h("td", { dir: "auto" }, String(v)))))))),
      h("h2", {}, t("Layers in view")),
      h("table.tags", {}, h("tbody", {}, counts.map(([id, count]) => h("tr", {}, h("th", { scope: "row" }, id), h("td", {}, count.toLocaleString(language)))))));
  },
};

const TYPES = [, "node", "way", "relation"];
const describeId = (id) => (id ? `${TYPES[id % 10] ?? "?"}/${Math.floor(id / 10)}` : t("no id"));
