// Datasets of one's own: their list, a file for a new one, and each on the map.

import { ApiError, get, post } from "../api.js";
import { inspector } from "../inspect.js";
import { h } from "../ui.js";
import { t, tn } from "../words.js";

const POLL_MS = 700;
const slugOf = (name) => name.toLowerCase().replace(/\.[a-z0-9]+$/, "").replace(/[^a-z0-9_-]+/g, "-").replace(/^[-_]+|[-_]+$/g, "").slice(0, 64) || "dataset";

export default {
  id: "datasets", name: t("Your data"), title: t("Your datasets"), icon: "datasets",
  paths: ["/api/v1/datasets/{id}/source"],
  hint: t("Put a file of your own on the map: CSV, GeoJSON, GeoParquet, GeoPackage, or a Shapefile in a .zip."),

  open(content, page) {
    this.isOpen = true;
    this.chosen = "";
    const file = h("input", { type: "file", accept: ".csv,.tsv,.geojson,.json,.ndjson,.geojsonl,.parquet,.gpkg,.zip", "aria-label": t("File to import"),
      onchange: () => {
        const [chosen] = file.files;
        file.value = ""; // so that the same file may be chosen again
        if (chosen) this.add(chosen, page);
      } });
    this.datasets = [];
    this.list = h("ul.list");
    this.card = h("div");
    content.append(h("label.drop", {}, h("b", {}, t("Choose a file")), h("span", {}, t("a table needs columns lat and lon, wkt, or address")), file), h("h2", {}, t("Datasets")), this.list, this.card);
    this.load(page);
  },

  state() { return { id: this.chosen ?? "" }; },

  restore({ id }) { this.wanted = id; },

  close(page) {
    this.isOpen = false;
    page.map.showTiles(null);
  },

  async load(page) {
    const result = await page.run(get("/api/v1/datasets", { scope: "user" }));
    if (!result) return;
    this.draw(result.json.datasets, page);
    if (result.json.datasets.some((d) => d.status === "processing")) setTimeout(() => this.isOpen && this.load(page), POLL_MS);
  },

  draw(datasets, page) {
    this.datasets = datasets;
    this.list.replaceChildren(...datasets.map((d) => h("li", {}, h("button.item", { type: "button", disabled: d.feature_count === null, onclick: () => this.choose(d, page) },
      h("span.item-text", {}, h("b", { dir: "auto" }, d.name), h("small", {}, describe(d)))))));
    if (!datasets.length) page.say(t("You have no datasets yet."));
    const wanted = datasets.find((dataset) => dataset.id === this.wanted && dataset.feature_count !== null);
    this.wanted = "";
    if (wanted) this.choose(wanted, page);
  },

  choose(dataset, page) {
    this.chosen = dataset.id;
    page.remember();
    page.map.showTiles(`${location.origin}/api/v1/datasets/${dataset.id}/tiles/{z}/{x}/{y}`);
    if (dataset.bbox) {
      const [west, south, east, north] = dataset.bbox;
      page.map.fit({ type: "LineString", coordinates: [[west, south], [east, north]] });
    }
    const columns = Object.entries(dataset.schema_definition ?? {});
    this.card.replaceChildren(h("article.card", {},
      h("h3", { dir: "auto" }, dataset.name), h("p.kind", {}, `dataset("${dataset.slug}") · ${describe(dataset)}`),
      dataset.problems.length ? h("ul.warnings", { "aria-label": t("Problems") }, dataset.problems.map((p) => h("li", { dir: "auto" }, t("Row {row}: {message}", { row: p.row, message: p.message })))) : null,
      h("table.tags", {}, h("tbody", {}, columns.map(([name, { type, count }]) => h("tr", {}, h("th", { scope: "row", dir: "auto" }, name), h("td", {}, `${type}, ${tn(count, "{n} row", "{n} rows")}`))))),
      h("div.row", {}, h("button.quiet", { type: "button", onclick: () => this.remove(dataset, page) }, t("Delete")))));
  },

  click(_point, page, event) {
    const [hit] = page.map.tilesAt(event.point);
    if (hit) this.card.replaceChildren(inspector({ id: hit.id, properties: hit.properties }, page));
  },

  async add(file, page) {
    page.say("", "busy");
    try {
      const made = await this.make(slugOf(file.name), file.name);
      page.say(t("Sending {file} …", { file: file.name }), "busy");
      const query = new URLSearchParams({ name: file.name });
      const answer = await fetch(`/api/v1/datasets/${made}/source?${query}`, { method: "PUT", body: file });
      if (!answer.ok) throw new ApiError({ status: answer.status, json: await answer.json() });
      page.say("");
      await this.follow(made, page);
    } catch (error) {
      page.say(page.explain(error), "error");
    }
  },

  /** Make a dataset, or take the one that has the slug already: a new file replaces its rows. */
  async make(slug, name) {
    const known = this.datasets.find((dataset) => dataset.slug === slug);
    if (known) return known.id;
    const call = post("/api/v1/datasets", { name, slug });
    const answer = await fetch(call.path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(call.body) });
    const json = await answer.json();
    if (!answer.ok) throw new ApiError({ status: answer.status, json });
    return json.id;
  },

  /** Wait until a file is read, then show what came of it. */
  async follow(id, page) {
    for (;;) {
      if (!this.isOpen) return;
      const dataset = await (await fetch(`/api/v1/datasets/${id}`)).json();
      if (dataset.status !== "processing") {
        await this.load(page);
        if (dataset.status === "error") page.say(dataset.error_message, "error");
        else this.choose(dataset, page);
        return;
      }
      page.say(t("Reading …"), "busy");
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  },

  async remove(dataset, page) {
    if (!confirm(t("Delete {name} and all its rows?", { name: dataset.name }))) return;
    await fetch(`/api/v1/datasets/${dataset.id}`, { method: "DELETE" });
    page.map.showTiles(null);
    this.card.replaceChildren();
    this.load(page);
  },
};

function describe(dataset) {
  if (dataset.status === "processing") return t("is being read …");
  const rows = dataset.feature_count === null ? t("no rows yet") : tn(dataset.feature_count, "{n} row", "{n} rows");
  const problems = dataset.problem_count ? `, ${tn(dataset.problem_count, "{n} with problems", "{n} with problems")}` : "";
  return dataset.status === "error" ? t("{rows}; the last file failed", { rows }) : `${rows}${problems}`;
}
