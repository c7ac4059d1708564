// A card that people can read: names, address, whether it is open, contacts, then all tags, versions, parts.

import { get, post, send } from "./api.js";
import { featureKind, featureName } from "./features.js";
import { nowIn, openState } from "./hours.js";
import { formatDistance, formatPoint, h, toast } from "./ui.js";
import { t } from "./words.js";

const CONTACTS = [
  [t("phone"), ["phone", "contact:phone", "mobile", "contact:mobile"], (v) => `tel:${v.split(";")[0].replace(/[^+\d]/g, "")}`],
  [t("website"), ["website", "contact:website", "url"], (v) => (/^https?:\/\//i.test(v) ? v : `https://${v}`)],
  [t("email"), ["email", "contact:email"], (v) => `mailto:${v.split(";")[0].trim()}`],
];
/** What answers add to the tags of an element. */
const ANSWERED = new Set(["display_name", "distance_m", "score", "confidence", "match_type", "osm_type", "osm_id", "category", "subcategory"]);
const TYPE_NAMES = { node: t("Node"), way: t("Way"), relation: t("Relation") };

/** Return the OSM id of a feature as "way/123", "" where it has none. */
export function osmId(feature) {
  const p = feature.properties ?? {};
  const id = typeof feature.id === "string" ? feature.id : p["@type"] ? `${p["@type"]}/${p["@id"]}` : p.osm_type ? `${p.osm_type}/${p.osm_id}` : "";
  return /^(node|way|relation)\/\d+$/.test(id) ? id : "";
}

/** Make the card of a feature; details of the element are asked for when they are opened. */
export function inspector(feature, page, actions = []) {
  const id = osmId(feature);
  const card = h("article.card.inspector");
  draw(feature);
  // Lists and addresses carry some of the tags: the element has them all.
  if (id && feature.properties?.["@type"] === undefined && page.has("/api/v1/features/{type}/{id}")) {
    send(get(`/api/v1/features/${id}`, { "output[geometry]": "false" })).then(
      (result) => draw({ ...feature, properties: { ...result.json.properties, display_name: feature.properties.display_name, distance_m: feature.properties.distance_m } }),
      () => {});
  }
  return card;

  function draw(shown) {
    const p = shown.properties ?? {};
    const [title, ...place] = featureName(shown).split(", ");
    card.replaceChildren(...[
      h("h2", { dir: "auto" }, p.name || title),
      h("p.kind", {}, [featureKind(shown), p.distance_m !== undefined && p.distance_m !== null ? t("{distance} away", { distance: formatDistance(p.distance_m) }) : ""].filter(Boolean).join(" · ")),
      addressOf(p, place) ? h("p.address", { dir: "auto" }, addressOf(p, place)) : null,
      hoursOf(p, shown),
      contactsOf(p),
      p.description ? h("p.about", { dir: "auto" }, p.description) : null,
      actions.length ? h("div.row.wrap", {}, actions) : null,
      namesOf(p),
      tagsOf(p),
      id ? partsOf(id, page) : null,
      id ? h("p.links", {}, h("button.link", { type: "button", onclick: () => copyPosition(shown) }, t("Copy position")), " · ",
        h("a", { href: `https://www.openstreetmap.org/${id}`, target: "_blank", rel: "noopener" }, t("{element} on openstreetmap.org", { element: `${TYPE_NAMES[id.split("/")[0]]} ${id.split("/")[1]}` }))) : null,
    ].filter(Boolean));
  }
}

function copyPosition(feature) {
  let at = feature.geometry?.coordinates;
  while (Array.isArray(at?.[0])) at = at[0];
  if (at) navigator.clipboard?.writeText(formatPoint(at)).then(() => toast(t("Position copied")), () => toast(t("The browser did not allow copying")));
}

function addressOf(p, place) {
  if (p["addr:street"] || p["addr:place"]) {
    const street = [p["addr:street"] ?? p["addr:place"], p["addr:housenumber"]].filter(Boolean).join(" ");
    return [p["addr:housename"], street, [p["addr:postcode"], p["addr:city"]].filter(Boolean).join(" ")].filter(Boolean).join(", ");
  }
  return place.join(", ");
}

/** Hours, and whether it is open by the clocks of the place, which the server knows. */
function hoursOf(p, feature) {
  if (!p.opening_hours) return null;
  const line = h("p.hours", {}, h("span", {}, p.opening_hours));
  zoneOf(feature).then((zone) => {
    if (!zone) return;
    const { state, until } = openState(p.opening_hours, nowIn(zone));
    const text = { open: t("Open now"), closed: t("Closed now"), unknown: "" }[state];
    if (!text) return;
    line.title = t("By the time in {zone}", { zone: zone.replaceAll("_", " ") });
    line.prepend(h("b", { dataset: { state } }, text), until ? ` ${t("until {time}", { time: until })} · ` : " · ");
  });
  return line;
}

async function zoneOf(feature) {
  let at = feature.geometry?.coordinates;
  while (Array.isArray(at?.[0])) at = at[0];
  if (!at) return "";
  try { return (await (await fetch(`/playground/zone.json?lat=${at[1].toFixed(2)}&lng=${at[0].toFixed(2)}`)).json()).zone ?? ""; } catch { return ""; }
}

function contactsOf(p) {
  const rows = CONTACTS.flatMap(([name, keys, address]) => keys.filter((key) => p[key]).slice(0, 1).map((key) =>
    h("li", {}, h("span.muted", {}, name), " ", h("a", { href: address(p[key]), target: keys.includes("website") ? "_blank" : undefined, rel: "noopener nofollow", dir: "auto" }, p[key].replace(/^https?:\/\/(www\.)?/i, "").replace(/\/$/, "")))));
  if (p.wikidata) rows.push(h("li", {}, h("span.muted", {}, "Wikidata"), " ", h("a", { href: `https://www.wikidata.org/wiki/${encodeURIComponent(p.wikidata)}`, target: "_blank", rel: "noopener" }, p.wikidata)));
  return rows.length ? h("ul.contacts", {}, rows) : null;
}

function namesOf(p) {
  const names = Object.entries(p).filter(([key]) => /^(name:|alt_name|old_name|official_name|short_name|loc_name)/.test(key));
  return names.length ? details(t("Names ({count})", { count: names.length }), () => tagTable(names)) : null;
}

function tagsOf(p) {
  const tags = Object.entries(p).filter(([key, value]) => !key.startsWith("_") && !key.startsWith("@") && !ANSWERED.has(key) && value !== null && value !== "" && typeof value !== "object");
  return details(t("All tags ({count})", { count: tags.length }), () => tagTable(tags), tags.length <= 12);
}

/** Tags with links to what they mean, in the wiki. */
function tagTable(tags) {
  const wiki = (page) => `https://wiki.openstreetmap.org/wiki/${page}`;
  const plain = (key) => /^[a-z][a-z0-9_:]*$/.test(key);
  return h("table.tags", {}, h("tbody", {}, tags.sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, value]) => h("tr", {},
    h("th", { scope: "row" }, plain(key) ? h("a", { href: wiki(`Key:${key}`), target: "_blank", rel: "noopener" }, key) : key),
    h("td", { dir: "auto" }, plain(key) && /^[a-z][a-z_]*$/.test(String(value)) && !/^(yes|no)$/.test(value) ? h("a", { href: wiki(`Tag:${key}=${value}`), target: "_blank", rel: "noopener" }, value) : String(value))))));
}

/** Version, parents and members of an element, asked for when opened. */
function partsOf(id, page) {
  if (!page.has("/api/v1/overpass")) return null;
  const [type, number] = id.split("/");
  return details(t("Version, parents and members"), async () => {
    const letter = { node: "n", way: "w", relation: "r" }[type];
    const [own, parents, members] = await Promise.all([
      send(get(`/api/v1/features/${id}`, { "output[include]": "meta", "output[geometry]": "false" })),
      send(post("/api/v1/overpass", { data: `[out:json];${type}(${number})->.a;(${type === "node" ? "way(bn.a);" : ""}rel(b${letter}.a););out tags;`, limit: 50 })),
      type === "relation" ? send(post("/api/v1/overpass", { data: `[out:json];rel(${number});(node(r);way(r);rel(r););out tags;`, limit: 100 })) : null,
    ]);
    const m = own.json.properties;
    const list = (title, found) => (found?.length ? [h("h3", {}, title), h("ul.parts", {}, found.map((f) => h("li", {}, h("a", { href: `#tool=search&id=${osmId(f)}` }, featureName(f)), h("small", {}, ` ${osmId(f)}`))))] : []);
    return [
      m["@version"] ? h("p", {}, [t("Version {version}, {date}", { version: m["@version"], date: String(m["@timestamp"] ?? "").slice(0, 10) }), m["@user"] ? t("by {user}", { user: m["@user"] }) : ""].filter(Boolean).join(", ")) : h("p.empty", {}, t("The dataset has no versions.")),
      ...list(t("Part of"), parents.json.features), ...list(t("Members"), members?.json.features)];
  });
}

function details(title, make, isOpen = false) {
  let made = false;
  const content = h("div");
  const fill = async () => {
    if (made) return;
    made = true;
    try { content.replaceChildren(...[await make()].flat()); } catch (error) { made = false; content.replaceChildren(h("p.empty", {}, error.message)); }
  };
  const element = h("details.more", { open: isOpen, ontoggle: () => element.open && fill() }, h("summary", {}, title), content);
  if (isOpen) fill();
  return element;
}

