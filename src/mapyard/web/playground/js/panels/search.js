// Search with suggestions while typing; a click on the map asks what is there.

import { readPoints, writePoints } from "../address.js";
import { get, send } from "../api.js";
import { featureCenter, featureItem, featureName } from "../features.js";
import { inspector, osmId } from "../inspect.js";
import { debounce, h, icon } from "../ui.js";
import { t } from "../words.js";

const SUGGEST = "/api/v1/geocode/autocomplete", GEOCODE = "/api/v1/geocode", REVERSE = "/api/v1/geocode/reverse", NAMES = "/api/v1/search", NEARBY = "/api/v1/features/nearby";

export default {
  id: "search", name: t("Search"), title: t("Search"), icon: "search",
  paths: [GEOCODE, NAMES],
  hint: t("Addresses, places and names. Click the map to ask what is there."),

  open(content, page) {
    Object.assign(this, { items: [], active: -1, asked: "", element: "", at: "" });
    this.input = h("input", {
      type: "search", placeholder: t("Search a place or an address"), autocomplete: "off", spellcheck: false, enterKeyHint: "search",
      role: "combobox", "aria-expanded": "false", "aria-controls": "suggestions", "aria-autocomplete": "list", "aria-label": t("Search"),
      oninput: debounce(120, () => this.suggest(page)),
      onkeydown: (event) => this.onKey(event, page),
    });
    this.list = h("ul.list", { id: "suggestions", role: "listbox", "aria-label": t("Results") });
    this.details = h("div");
    content.append(h("form.search-box", { role: "search", onsubmit: (event) => { event.preventDefault(); this.search(page); } }, icon("search"), this.input), this.list, this.details);
    if (innerWidth > 700) this.input.focus();
  },

  state() { return { q: this.asked ?? "", id: this.element ?? "", at: this.at ?? "" }; },

  async restore({ q, id, at }, page) {
    if (q) this.input.value = q;
    if (/^(node|way|relation)\/\d+$/.test(id ?? "")) {
      const result = await page.run(get(`/api/v1/features/${id}`));
      if (result) this.choose(result.json, page);
    } else if (at) {
      const [point] = readPoints(at);
      if (point) { page.map.fly(point); this.click(point, page); }
    } else if (q) this.search(page);
  },

  /** Keep in the address what is shown: a search, an element, or a place. */
  note(page, { q = "", element = "", at = "" }) {
    Object.assign(this, { asked: q, element, at });
    page.remember();
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
    this.note(page, { q });
    const [lng, lat] = page.map.center;
    const call = page.has(GEOCODE) ? get(GEOCODE, { q, lat: lat.toFixed(4), lng: lng.toFixed(4), limit: 20 }) : get(NAMES, { q, limit: 25 });
    const result = await page.run(call);
    if (!result) return;
    const found = result.json.features;
    this.show(found, page);
    if (!found.length) return page.say(t("Nothing was found. Other spellings, or fewer words, may help."));
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
    this.note(page, { element: osmId(feature), q: osmId(feature) ? "" : featureName(feature) });
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
    this.details.replaceChildren(inspector(feature, page, routes && center ? [go(1, t("Route to here")), go(0, t("Route from here"))] : []));
    this.input.value = featureName(feature);
  },

  /** What is here: the address, then what lies around, by layer. */
  async click(point, page) {
    if (!page.has(REVERSE)) return;
    this.note(page, { at: writePoints([point]) });
    const [lng, lat] = point.map((v) => v.toFixed(6));
    this.list.replaceChildren();
    page.map.clearMarkers();
    page.map.show(null);
    page.map.addMarker(point, "");
    const around = page.has(NEARBY) ? send(get(NEARBY, { lat, lng, radius: 40, limit: 40 })).catch(() => null) : null;
    const result = await page.run(get(REVERSE, { lat, lng, limit: 1 }));
    if (!result) return;
    const found = result.json.features[0];
    if (found) page.map.show(found);
    this.details.replaceChildren(found ? inspector(found, page) : h("p.empty", {}, t("No address lies within 200 m of this point.")));
    const near = (await around)?.json.features ?? [];
    if (near.length && this.at === writePoints([point])) this.details.append(h("h2", {}, t("Within 40 m")), ...this.layers(near, page));
  },

  /** Elements by what they are: places to go, buildings, roads, land. */
  layers(found, page) {
    const groups = new Map(LAYERS.map(([name]) => [name, []]));
    for (const feature of found) {
      const [name] = LAYERS.find(([, keys]) => keys.some((key) => feature.properties[key])) ?? [t("Other")];
      groups.get(name).push(feature);
    }
    return [...groups].filter(([, features]) => features.length).map(([name, features]) => h("details.more", { open: name === LAYERS[0][0] }, h("summary", {}, `${name} (${features.length})`),
      h("ul.list", {}, features.map((feature) => featureItem(feature, () => this.choose(feature, page))))));
  },
};

const LAYERS = [
  [t("Places"), ["amenity", "shop", "tourism", "leisure", "office", "craft", "historic", "healthcare"]],
  [t("Public transport"), ["public_transport", "railway"]],
  [t("Roads and paths"), ["highway"]],
  [t("Buildings and addresses"), ["building", "addr:housenumber"]],
  [t("Land and water"), ["landuse", "natural", "waterway", "place", "boundary"]],
  [t("Other"), []],
];
