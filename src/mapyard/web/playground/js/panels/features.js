// All elements with a tag in what is in view.

import { get } from "../api.js";
import { featureCard, featureCenter, featureItem } from "../features.js";
import { field, h } from "../ui.js";

const EXAMPLES = ["amenity=restaurant", "amenity=cafe|bar|pub", "shop=*", "tourism=hotel", "natural=tree", "highway=bus_stop", "building=*", "historic=*"];

export default {
  id: "features", name: "Features", title: "Features by tag", icon: "features",
  paths: ["/api/v1/features"],
  hint: "Everything with a tag in the part of the map that is in view.",

  open(content, page) {
    this.input = h("input", { type: "text", value: "amenity=restaurant", spellcheck: false, autocomplete: "off" });
    this.input.setAttribute("list", "tag-examples");
    this.output = h("div");
    content.append(
      h("form", { onsubmit: (event) => { event.preventDefault(); this.update(page); } },
        field("Tag", this.input, "key=value, key=a|b, key=* or key=~regex"),
        h("datalist", { id: "tag-examples" }, EXAMPLES.map((value) => h("option", { value }))),
        h("div.row.wrap", {}, EXAMPLES.slice(0, 6).map((text) => h("button.chip", { type: "button", onclick: () => { this.input.value = text; this.update(page); } }, text))),
        h("button.primary", {}, "Find in view")),
      this.output);
  },

  async update(page) {
    const [key, ...rest] = this.input.value.trim().split("=");
    if (!key) return;
    const value = rest.join("=") || "*";
    const result = await page.run(get("/api/v1/features", { [`tags[${key}]`]: value, bbox: page.map.view.join(","), limit: 1000 }));
    if (!result) return;
    this.show(result.json.features, page);
    const more = result.headers.get("X-Has-More") === "true";
    page.say(result.json.features.length ? (more ? "The first 1,000 are shown; zoom in for the others." : "") : "Nothing with this tag is in view.");
  },

  show(found, page) {
    this.found = found;
    page.map.show({ type: "FeatureCollection", features: found.map((f) => ({ ...f, properties: { _label: f.properties.name ?? undefined } })) });
    this.output.replaceChildren(
      h("p.count", {}, found.length ? `${found.length.toLocaleString("en")} found` : ""),
      h("ul.list", {}, found.slice(0, 100).map((feature) => featureItem(feature, () => this.choose(feature, page)))),
      found.length > 100 ? h("p.empty", {}, "The list holds the first 100; the map shows them all.") : "");
  },

  choose(feature, page) {
    if (featureCenter(feature)) {
      if (feature.geometry.type === "Point") page.map.fly(feature.geometry.coordinates, 17);
      else page.map.fit(feature, 18);
    }
    this.output.replaceChildren(h("button.link", { type: "button", onclick: () => this.show(this.found, page) }, "← all results"), featureCard(feature));
  },

  click(_point, page, event) {
    const [hit] = page.map.resultsAt(event.point);
    if (hit) this.choose(this.found[hit.properties._index], page);
  },
};
