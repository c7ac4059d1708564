// Files made in the browser out of what is shown: GeoJSON, CSV, GPX, KML, GeoParquet.

import { featureCenter, featureName } from "./features.js";
import { columnsOf } from "./table.js";
import { h, toast } from "./ui.js";
import { t } from "./words.js";

const KINDS = [["geojson", "GeoJSON"], ["csv", "CSV"], ["gpx", "GPX"], ["kml", "KML"], ["parquet", "GeoParquet"]];
const TYPES = { geojson: "application/geo+json", csv: "text/csv", gpx: "application/gpx+xml", kml: "application/vnd.google-earth.kml+xml", json: "application/json", xml: "application/xml", txt: "text/plain" };

/** Let the browser save a text or a blob under a name. */
export function saveFile(name, content) {
  const kind = name.split(".").at(-1);
  const blob = content instanceof Blob ? content : new Blob([content], { type: TYPES[kind] ?? "application/octet-stream" });
  const link = h("a", { href: URL.createObjectURL(blob), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** A menu that saves features in the kinds that suit them; `features()` is asked when one is chosen. */
export function downloadMenu(name, features, kinds = KINDS) {
  const select = h("select.download", { "aria-label": t("Download"), onchange: async () => {
    const kind = select.value;
    select.value = "";
    const found = features();
    if (!found.length) return toast(t("There is nothing to download."));
    try {
      saveFile(`${name}.${kind}`, await WRITERS[kind](found));
    } catch (error) {
      toast(t("The file could not be made: {reason}", { reason: error.message }));
    }
  } }, h("option", { value: "" }, t("Download")), kinds.map(([kind, text]) => h("option", { value: kind }, text)));
  return select;
}

const plain = (properties) => Object.fromEntries(Object.entries(properties ?? {}).filter(([key]) => !key.startsWith("_")));
const escape = (text) => String(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
const round = (value) => +value.toFixed(7);

export const WRITERS = {
  geojson: (features) => JSON.stringify({ type: "FeatureCollection", features: features.map((f) => ({ type: "Feature", id: f.id, geometry: f.geometry, properties: plain(f.properties) })) }, null, 1),

  csv(features) {
    const columns = columnsOf(features);
    const cell = (value) => {
      const text = value === undefined || value === null ? "" : typeof value === "object" ? JSON.stringify(value) : String(value);
      return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
    };
    const rows = features.map((f) => {
      const at = f.geometry ? featureCenter(f) : null;
      return [f.id, at ? round(at[1]) : "", at ? round(at[0]) : "", ...columns.map((key) => f.properties?.[key])].map(cell).join(",");
    });
    return `${["id", "lat", "lon", ...columns].map(cell).join(",")}\r\n${rows.join("\r\n")}\r\n`;
  },

  gpx(features) {
    const parts = features.filter((f) => f.geometry).flatMap((f) => {
      const name = `<name>${escape(featureName(f))}</name>`;
      const point = ([lon, lat, ele], tag, inner = "") => `<${tag} lat="${round(lat)}" lon="${round(lon)}">${Number.isFinite(ele) ? `<ele>${ele}</ele>` : ""}${inner}</${tag}>`;
      const lines = linesOf(f.geometry);
      if (!lines.length) return [[0, point(featureCenter(f), "wpt", name)]];
      return [[1, `<trk>${name}${lines.map((line) => `<trkseg>${line.map((at) => point(at, "trkpt")).join("")}</trkseg>`).join("")}</trk>`]];
    });
    parts.sort((a, b) => a[0] - b[0]); // the schema wants waypoints first
    return `<?xml version="1.0" encoding="UTF-8"?>\n<gpx version="1.1" creator="Mapyard" xmlns="http://www.topografix.com/GPX/1/1"><metadata><copyright author="OpenStreetMap contributors"><license>https://www.openstreetmap.org/copyright</license></copyright></metadata>\n${parts.map(([, text]) => text).join("\n")}\n</gpx>\n`;
  },

  kml: (features) => `<?xml version="1.0" encoding="UTF-8"?>\n<kml xmlns="http://www.opengis.net/kml/2.2"><Document><name>Mapyard</name><description>© OpenStreetMap contributors (ODbL)</description>\n${
    features.filter((f) => f.geometry).map((f) => `<Placemark><name>${escape(featureName(f))}</name><ExtendedData>${
      Object.entries(plain(f.properties)).map(([key, value]) => `<Data name="${escape(key)}"><value>${escape(typeof value === "object" ? JSON.stringify(value) : value)}</value></Data>`).join("")}</ExtendedData>${kmlGeometry(f.geometry)}</Placemark>`).join("\n")}\n</Document></kml>\n`,

  parquet: async (features) => (await import("./geoparquet.js")).writeGeoParquet(features.map((f) => ({ ...f, properties: plain(f.properties) })), columnsOf(features)),
};

function linesOf({ type, coordinates, geometries }) {
  if (type === "LineString") return [coordinates];
  if (type === "MultiLineString" || type === "Polygon") return coordinates;
  if (type === "MultiPolygon") return coordinates.flat();
  if (type === "GeometryCollection") return geometries.flatMap(linesOf);
  return [];
}

function kmlGeometry({ type, coordinates, geometries }) {
  const list = (line) => `<coordinates>${line.map((at) => at.map(round).join(",")).join(" ")}</coordinates>`;
  const many = (parts) => `<MultiGeometry>${parts.join("")}</MultiGeometry>`;
  const ring = (line, tag) => `<${tag}><LinearRing>${list(line)}</LinearRing></${tag}>`;
  const polygon = ([outer, ...holes]) => `<Polygon>${ring(outer, "outerBoundaryIs")}${holes.map((hole) => ring(hole, "innerBoundaryIs")).join("")}</Polygon>`;
  switch (type) {
    case "Point": return `<Point>${list([coordinates])}</Point>`;
    case "LineString": return `<LineString>${list(coordinates)}</LineString>`;
    case "Polygon": return polygon(coordinates);
    case "MultiPoint": return many(coordinates.map((at) => `<Point>${list([at])}</Point>`));
    case "MultiLineString": return many(coordinates.map((line) => `<LineString>${list(line)}</LineString>`));
    case "MultiPolygon": return many(coordinates.map(polygon));
    default: return many(geometries.map(kmlGeometry));
  }
}
