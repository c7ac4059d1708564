// Search with suggestions while typing; a click on the map asks what is there.

import { get } from "../api.js";
import { featureCard, featureCenter, featureItem, featureName } from "../features.js";
import { debounce, h, icon } from "../ui.js";

const SUGGEST = "/api/v1/geocode/autocomplete", GEOCODE = "/api/v1/geocode", REVERSE = "/api/v1/geocode/reverse", NAMES = "/api/v1/search";

export default {
  id: "search", name: "Search", title: "Search", icon: "search",
  paths: [GEOCODE, NAMES],
  hint: "Addresses, places and names. Click the map to ask what is there.",

  open(content, page) {
    this.items = [];
    this.active = -1;
    this.input = h("input", {
      type: "search", placeholder: "Search a place or an address", autocomplete: "off", spellcheck: false, enterKeyHint: "search",
      role: "combobox", "aria-expanded": "false", "aria-controls": "suggestions", "aria-autocomplete": "list", "aria-label": "Search",
      oninput: debounce(120, () => this.suggest(page)),
      onkeydown: (event) => this.onKey(event, page),
    });
    this.list = h("ul.list", { id: "suggestions", role: "listbox", "aria-label": "Results" });
    this.details = h("div");
    content.append(h("form.search-box", { role: "search", onsubmit: (event) => { event.preventDefault(); this.search(page); } }, icon("search"), this.input), this.list, this.details);
    if (innerWidth > 700) this.input.focus();
  },

  async suggest(page) {
    const q = this.input.value.trim();
    if (!q) return this.show([], page);
    const [lng, lat] = page.map.center;
    const focus = page.map.map.getZoom() > 6 ? { lat: lat.toFixed(4), lng: lng.toFixed(4) } : {};
    const call = page.has(SUGGEST) ? get(SUGGEST, { q, ...focus, limit: 8 }) : get(NAMES, { q, limit: 8 });
    const result = await page.run(call, { quiet: true });
    if (result) this.show(result.json.features, page);
  },

  async search(page) {
    const q = this.input.value.trim();
    if (!q) return;
    const [lng, lat] = page.map.center;
    const call = page.has(GEOCODE) ? get(GEOCODE, { q, lat: lat.toFixed(4), lng: lng.toFixed(4), limit: 20 }) : get(NAMES, { q, limit: 25 });
    const result = await page.run(call);
    if (!result) return;
    const found = result.json.features;
    this.show(found, page);
    if (!found.length) return page.say("Nothing was found. Other spellings, or fewer words, may help.");
    if (found.length === 1) this.choose(found[0], page);
    else page.map.fit(result.json, 15);
  },

  show(found, page) {
    this.items = found;
    this.active = -1;
    this.details.replaceChildren();
    this.input.setAttribute("aria-expanded", String(found.length > 0));
    this.list.replaceChildren(...found.map((feature, index) => {
      const item = featureItem(feature, () => this.choose(feature, page));
      item.id = `suggestion-${index}`;
      item.setAttribute("role", "option");
      item.firstChild.tabIndex = -1;
      return item;
    }));
    page.map.clearMarkers();
    page.map.show({ type: "FeatureCollection", features: found.map((f) => ({ ...f, properties: { ...f.properties } })) });
  },

  onKey(event, page) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && this.items.length) {
      event.preventDefault();
      this.active = (this.active + step + this.items.length) % this.items.length;
      [...this.list.children].forEach((item, i) => item.setAttribute("aria-selected", String(i === this.active)));
      this.list.children[this.active].scrollIntoView({ block: "nearest" });
      this.input.setAttribute("aria-activedescendant", `suggestion-${this.active}`);
    } else if (event.key === "Enter" && this.active >= 0) {
      event.preventDefault();
      this.choose(this.items[this.active], page);
    } else if (event.key === "Escape" && this.input.value) {
      event.preventDefault();
      this.input.value = "";
      this.show([], page);
    }
  },

  choose(feature, page) {
    this.list.replaceChildren();
    this.input.setAttribute("aria-expanded", "false");
    const center = featureCenter(feature);
    page.map.show(feature);
    page.map.clearMarkers();
    if (center) {
      if (feature.geometry.type === "Point") {
        page.map.addMarker(center, "");
        page.map.fly(center);
      } else page.map.fit(feature);
    }
    const routes = page.tools.find((tool) => tool.id === "route");
    const go = (index, text) => h("button.small", { type: "button", onclick: () => { page.open(routes); routes.points.set(index, center); } }, text);
    this.details.replaceChildren(featureCard(feature, routes && center ? [go(1, "Route to here"), go(0, "Route from here")] : []));
    this.input.value = featureName(feature);
  },

  async click(point, page) {
    if (!page.has(REVERSE)) return;
    const [lng, lat] = point.map((v) => v.toFixed(6));
    const result = await page.run(get(REVERSE, { lat, lng, limit: 1 }));
    if (!result) return;
    const found = result.json.features[0];
    this.list.replaceChildren();
    page.map.clearMarkers();
    page.map.show(null);
    page.map.addMarker(point, "");
    if (!found) return this.details.replaceChildren(h("p.empty", {}, "No address lies within 200 m of this point."));
    page.map.show(found);
    this.details.replaceChildren(featureCard(found));
  },
};
