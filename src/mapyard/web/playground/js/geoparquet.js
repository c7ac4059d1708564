// Features as GeoParquet 1.1 (https://geoparquet.org): geometries as WKB in longitude and latitude,
// a column for each property. Loaded when somebody downloads such a file.

import { geojsonToWkb, parquetWriteBuffer } from "../vendor/parquet.mjs";

/** features: GeoJSON; columns: names of properties. Returns the file as a Blob. */
export function writeGeoParquet(features, columns) {
  const values = (key) => features.map((f) => f.properties?.[key] ?? null);
  const taken = new Set(["id", "geometry"]);
  const data = [
    { name: "id", type: "STRING", data: features.map((f) => (f.id === undefined ? null : String(f.id))) },
    ...columns.map((key) => {
      let name = key;
      while (taken.has(name)) name += "_"; // a property that is called like our own columns
      taken.add(name);
      return column(name, values(key));
    }),
    { name: "geometry", type: "BYTE_ARRAY", data: features.map((f) => (f.geometry ? geojsonToWkb(f.geometry) : null)) },
  ];
  const geometries = features.flatMap((f) => (f.geometry ? [f.geometry] : []));
  const geo = {
    version: "1.1.0", primary_column: "geometry",
    columns: { geometry: { encoding: "WKB", geometry_types: [...new Set(geometries.map(typeOf))].sort(), bbox: boxOf(geometries) } },
  };
  const kvMetadata = [{ key: "geo", value: JSON.stringify(geo) }, { key: "attribution", value: "© OpenStreetMap contributors (ODbL)" }];
  return new Blob([parquetWriteBuffer({ columnData: data, kvMetadata, createdBy: "Mapyard" })], { type: "application/vnd.apache.parquet" });
}

/** A column of the narrowest kind that holds all its values. */
function column(name, values) {
  const known = values.filter((value) => value !== null);
  const all = (kind) => known.length > 0 && known.every((value) => typeof value === kind);
  if (all("boolean")) return { name, type: "BOOLEAN", data: values };
  if (all("number")) return { name, type: "DOUBLE", data: values };
  return { name, type: "STRING", data: values.map((value) => (value === null ? null : typeof value === "object" ? JSON.stringify(value) : String(value))) };
}

function* positionsOf({ coordinates, geometries }) {
  if (geometries) for (const geometry of geometries) yield* positionsOf(geometry);
  else if (typeof coordinates[0] === "number") yield coordinates;
  else for (const inner of coordinates) yield* positionsOf({ coordinates: inner });
}

function typeOf(geometry) {
  for (const position of positionsOf(geometry)) return position.length > 2 ? `${geometry.type} Z` : geometry.type;
  return geometry.type;
}

/** [west, south, east, north]; of no geometry there is none. */
function boxOf(geometries) {
  const box = [Infinity, Infinity, -Infinity, -Infinity];
  for (const geometry of geometries) for (const [lon, lat] of positionsOf(geometry)) {
    box[0] = Math.min(box[0], lon);
    box[1] = Math.min(box[1], lat);
    box[2] = Math.max(box[2], lon);
    box[3] = Math.max(box[3], lat);
  }
  return Number.isFinite(box[0]) ? box : undefined;
}
