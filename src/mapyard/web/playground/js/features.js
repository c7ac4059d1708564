// How features look in lists and cards, whatever endpoint they come from.

import { formatDistance, h } from "./ui.js";
import { t } from "./words.js";

const KIND_KEYS = ["amenity", "shop", "tourism", "leisure", "historic", "railway", "public_transport", "highway", "natural", "place", "building", "landuse", "waterway", "boundary", "office", "craft", "man_made"];

export function featureName(feature) {
  const p = feature.properties ?? {};
  return p.display_name || p.name || p["name:en"] || p.ref || p["addr:housename"] || `${featureKind(feature) || t("Element")} ${feature.id ?? ""}`.trim();
}

export function featureKind(feature) {
  const p = feature.properties ?? {};
  if (p.category || p.subcategory) return [p.subcategory, p.category].filter(Boolean)[0].replaceAll("_", " ");
  const key = KIND_KEYS.find((k) => p[k]);
  return key ? (p[key] === "yes" ? key : p[key]).replaceAll("_", " ") : "";
}

/** A button for one feature of a list. */
export function featureItem(feature, onclick, number) {
  const [name, ...rest] = featureName(feature).split(", ");
  const distance = feature.properties?.distance_m;
  return h("li", {}, h("button.item", { type: "button", onclick },
    number ? h("span.number", {}, number) : null,
    h("span.item-text", {}, h("b", { dir: "auto" }, name), h("small", { dir: "auto" }, [featureKind(feature), rest.join(", ")].filter(Boolean).join(" · "))),
    distance !== undefined && distance !== null ? h("span.distance", {}, formatDistance(distance)) : null));
}

/** West, south, east, north of a feature with a geometry. */
export function featureBox(feature) {
  let box = [Infinity, Infinity, -Infinity, -Infinity];
  const walk = (c) => {
    if (typeof c[0] === "number") box = [Math.min(box[0], c[0]), Math.min(box[1], c[1]), Math.max(box[2], c[0]), Math.max(box[3], c[1])];
    else c.forEach(walk);
  };
  const { type, coordinates, geometries } = feature.geometry;
  if (type === "GeometryCollection") geometries.forEach((g) => walk(g.coordinates));
  else walk(coordinates);
  return box;
}

/** The middle of a feature's box, for flying there; null without a geometry. */
export function featureCenter(feature) {
  if (!feature.geometry) return null;
  const [west, south, east, north] = featureBox(feature);
  return [(west + east) / 2, (south + north) / 2];
}
