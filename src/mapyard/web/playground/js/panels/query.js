// What the two query editors share: an editor, examples, results in list and map.

import { featureCard, featureCenter, featureItem } from "../features.js";
import { h } from "../ui.js";

/** Make an editor tool out of its examples and a function that makes the call. */
export function queryTool({ examples, makeCall, ...tool }) {
  return {
    ...tool,

    open(content, page) {
      this.editor = h("textarea.editor", { value: examples[0][1], spellcheck: false, rows: 9, "aria-label": "Query", autocapitalize: "off",
        onkeydown: (event) => {
          if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); this.update(page); }
        } });
      const choose = h("select", { "aria-label": "Examples", onchange: () => { if (choose.value) { this.editor.value = examples[choose.value][1]; this.update(page); } } },
        examples.map(([name], i) => h("option", { value: i }, name)));
      this.output = h("div");
      content.append(h("label.field", {}, h("span.field-label", {}, "Example"), choose), this.editor,
        h("div.row", {}, h("button.primary", { type: "button", onclick: () => this.update(page) }, "Run"), h("small.keys", {}, "Ctrl + Enter")), this.output);
    },

    async update(page) {
      this.output.replaceChildren();
      page.map.show(null);
      const result = await page.run(makeCall(this.editor.value, page.map.view));
      if (!result) return;
      this.show(result.json, page, true);
      if (result.headers.get("X-Has-More") === "true") page.say("The first 1,000 are shown.");
    },

    show(json, page, move) {
      const found = json.features ?? [];
      this.json = json;
      const shown = found.filter((f) => f.geometry);
      page.map.show({ type: "FeatureCollection", features: found.map((f) => ({ ...f, properties: { _label: f.properties?.name ?? undefined } })) });
      this.places = new Map(shown.map((f, i) => [i, f]));
      if (move && shown.length) page.map.fit({ type: "FeatureCollection", features: shown });
      this.output.replaceChildren(
        h("p.count", {}, `${found.length.toLocaleString("en")} result${found.length === 1 ? "" : "s"}${shown.length < found.length ? `, ${shown.length} on the map` : ""}`),
        shown.length || !found.length ? h("ul.list", {}, found.slice(0, 100).map((f) => featureItem(f, () => this.choose(f, page)))) : rowsTable(found));
    },

    choose(feature, page) {
      if (featureCenter(feature)) {
        if (feature.geometry.type === "Point") page.map.fly(feature.geometry.coordinates, 17);
        else page.map.fit(feature, 18);
      }
      this.output.replaceChildren(h("button.link", { type: "button", onclick: () => this.show(this.json, page, false) }, "← all results"), featureCard(feature));
    },

    click(_point, page, event) {
      const [hit] = page.map.resultsAt(event.point);
      if (hit) this.choose(this.places.get(hit.properties._index), page);
    },
  };
}

function rowsTable(found) {
  const names = [...new Set(found.slice(0, 100).flatMap((f) => Object.keys(f.properties ?? {})))];
  return h("div.scroll", {}, h("table.rows", {}, h("thead", {}, h("tr", {}, names.map((n) => h("th", { scope: "col" }, n)))),
    h("tbody", {}, found.slice(0, 100).map((f) => h("tr", {}, names.map((n) => h("td", { dir: "auto" }, String(f.properties[n] ?? ""))))))));
}
