// The tags there are: keys, their values, how often, what goes along with them, and where.

import { get, send } from "../api.js";
import { countChart } from "../chart.js";
import { downloadMenu, saveFile } from "../download.js";
import { debounce, h } from "../ui.js";
import { language, number, t, tn } from "../words.js";

const LIMIT = 200;
const WIKI = "https://wiki.openstreetmap.org/wiki/";
const isPlain = (text) => /^[a-z][a-z0-9_:]*$/.test(text);

export default {
  id: "tags", name: t("Tags"), title: t("Tag explorer"), icon: "tags",
  paths: ["/api/v1/tags"],
  hint: t("Which keys and values the data has, how often, and what goes with them."),

  open(content, page) {
    this.key = "";
    this.value = "";
    this.page = page;
    this.filter = h("input", { type: "search", placeholder: t("Begins with …"), "aria-label": t("Begins with"), autocomplete: "off", spellcheck: false, oninput: debounce(150, () => this.update(page)) });
    this.trail = h("nav.trail", { "aria-label": t("Where you are") });
    this.output = h("div");
    content.append(this.trail, this.filter, this.output);
    this.update(page);
  },

  state() { return { key: this.key, value: this.value, prefix: this.filter.value }; },

  restore({ key = "", value = "", prefix = "" }, page) {
    Object.assign(this, { key, value });
    this.filter.value = prefix;
    this.update(page);
  },

  go(key, value = "") {
    Object.assign(this, { key, value });
    this.filter.value = "";
    this.update(this.page);
  },

  drawTrail() {
    const step = (text, call) => h("button.link", { type: "button", onclick: call }, text);
    this.trail.replaceChildren(step(t("All keys"), () => this.go("")), ...(this.key ? [" › ", step(this.key, () => this.go(this.key))] : []), ...(this.value ? [" › ", h("b", { dir: "auto" }, this.value)] : []));
    this.filter.hidden = Boolean(this.value);
  },

  async update(page) {
    page.remember();
    this.drawTrail();
    page.map.show(null);
    if (this.value) return this.showTag(page);
    const result = await page.run(get("/api/v1/tags", { key: this.key, prefix: this.filter.value.trim(), limit: LIMIT, history: "true" }), { quiet: true });
    if (!result) return;
    const { total, tags, history } = result.json;
    const most = Math.max(1, ...tags.map((tag) => tag.count));
    this.output.replaceChildren(
      h("div.row.spread", {}, h("p.count", {}, `${this.key ? tn(total, "{n} value", "{n} values") : tn(total, "{n} key", "{n} keys")}${total > tags.length ? `, ${t("the {limit} most frequent", { limit: LIMIT })}` : ""}`),
        h("button.small.quiet", { type: "button", onclick: () => this.download() }, t("Download CSV"))),
      ...(this.key ? [this.links(`Key:${this.key}`, this.key), ...overTime(history)] : []),
      h("ul.tag-list", {}, tags.map((tag) => {
        const bar = h("span.bar");
        bar.style.width = `${Math.max(1, (tag.count / most) * 100)}%`;
        const text = this.key ? tag.value : tag.key;
        return h("li", {}, h("button.tag-row", { type: "button", onclick: () => (this.key ? this.go(this.key, text) : this.go(text)) },
          h("span.tag-name", { dir: "auto" }, text), h("span.tag-count", {}, change(tag.history), number(tag.count)), h("span.bars", {}, bar)));
      })),
      this.key ? this.together({ key: this.key }) : "");
  },

  links(page, key, value = "*") {
    const features = this.page.tools.find((tool) => tool.id === "features");
    return h("p.links", {},
      features ? h("button.link", { type: "button", onclick: () => this.page.open(features, { state: { tag: `${key}=${value}`, run: "1" } }) }, t("Show in view")) : "",
      isPlain(key) ? [" · ", h("a", { href: `${WIKI}${page}`, target: "_blank", rel: "noopener" }, t("OSM wiki"))] : "");
  },

  async showTag(page) {
    const tag = `${this.key}=${this.value}`;
    const days = h("div");
    this.output.replaceChildren(this.links(`Tag:${tag}`, this.key, escapeValue(this.value)), days, this.together({ key: this.key, value: this.value }));
    send(get("/api/v1/tags", { key: this.key, value: this.value, history: "true" })).then(({ json }) => days.replaceChildren(...overTime(json.tags[0].history)), (error) => days.replaceChildren(h("p.empty", {}, error.message)));
    const result = await page.run(get("/api/v1/features", { [`tags[${this.key}]`]: escapeValue(this.value), "output[centroid]": "true", limit: 1000 }), { quiet: true });
    if (!result) return;
    const found = result.json.features;
    page.map.show({ type: "FeatureCollection", features: found });
    if (found.some((f) => f.geometry)) page.map.fit(result.json);
    const more = result.headers.get("X-Has-More") === "true";
    this.output.prepend(h("div.row.spread", {}, h("p.count", {}, more ? t("The first {count} on the map", { count: number(found.length) }) : tn(found.length, "{n} on the map", "{n} on the map")), downloadMenu(this.value, () => found)));
  },

  /** What other tags elements with this one have. */
  together(query) {
    const place = h("div");
    const element = h("details.more", { ontoggle: async () => {
      if (!element.open || place.childElementCount) return;
      try {
        const { json } = await send(get("/api/v1/tags", { ...query, combinations: "true", limit: 40 }));
        const of = json.elements || 1;
        place.replaceChildren(h("table.tags", {}, h("tbody", {}, json.tags.map((tag) => h("tr", {},
          h("th", { scope: "row" }, h("button.link", { type: "button", onclick: () => this.go(tag.key) }, tag.key)),
          h("td", {}, `${tag.count.toLocaleString(language)}, ${Math.round((tag.count / of) * 100)} %`))))));
      } catch (error) { place.replaceChildren(h("p.empty", {}, error.message)); }
    } }, h("summary", {}, t("Keys that go with it")), place);
    return element;
  },

  async download() {
    const { json } = await send(get("/api/v1/tags", { key: this.key, prefix: this.filter.value.trim(), limit: 10_000 }));
    const quote = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
    saveFile(`${this.key || "keys"}.csv`, `key,value,count\r\n${json.tags.map((tag) => [quote(tag.key), quote(tag.value ?? ""), tag.count].join(",")).join("\r\n")}\r\n`);
  },
};

/** A value as a filter takes it: | * ! ~ and backslashes are escaped. */
const escapeValue = (value) => value.replace(/[\\|*!~]/g, "\\$&");

/** How a count came about: a chart, or since when it is known. */
function overTime(days) {
  if (days.length > 1) return [h("figure.over-time", {}, h("figcaption", {}, t("Count over time")), countChart(days))];
  return days.length ? [h("p.hint", {}, t("Counts are kept from {date} on: updates of the data add to them.", { date: new Date(days[0].date).toLocaleDateString(language, { dateStyle: "medium", timeZone: "UTC" }) }))] : [];
}

/** How many more or fewer there are than on the first day that is known. */
function change(days) {
  const more = days.length ? days.at(-1).count - days[0].count : 0;
  if (!more) return "";
  const text = `${more > 0 ? "+" : "−"}${number(Math.abs(more))}`;
  return h("span.tag-change", { title: t("{change} since {date}", { change: text, date: days[0].date }) }, text);
}
