// The map: style by theme, one overlay for results, markers that can be dragged or nudged by keys.

import * as maplibregl from "/playground/vendor/maplibre-gl.mjs";
import { featureBox, featureCenter } from "./features.js";
import { h } from "./ui.js";
import { language, t } from "./words.js";

const TILE_LAYERS = ["own-fill", "own-line", "own-point"];
const EMPTY = { type: "FeatureCollection", features: [] };
const TROUBLE = {
  401: t("Sign in to see the map."),
  403: t("This account may not see the map."),
  404: t("The map has gone: load the page again."),
  429: t("The map waits: too many requests in a minute, or the plan's requests are used up."),
  501: t("This dataset was built without tiles: run mapyard build with them."),
  503: t("The server is busy. The map goes on in a moment."),
};
const isDark = () => document.documentElement.dataset.theme === "dark";
const LOOK = "mapyard-look";
/** What the map draws besides: "relief", "3d"; from the address, else as in this browser before. */
export const look = new Set(readLook());
const styleUrl = () => `${location.origin}/api/v1/tiles/style.json?theme=${isDark() ? "dark" : "light"}${language === "en" ? "" : `&lang=${language}`}${look.has("relief") ? "&relief=true" : ""}${look.has("3d") ? "&buildings=3d" : ""}`;

function readLook() {
  const given = new URLSearchParams(location.hash.slice(1)).get("look");
  if (given !== null) return given.split(",");
  try { return (localStorage.getItem(LOOK) ?? "").split(",").filter(Boolean); } catch { return []; }
}

/** Draw something besides, or no longer. */
export function changeLook(name) {
  look.has(name) ? look.delete(name) : look.add(name);
  try { localStorage.setItem(LOOK, [...look].join(",")); } catch { /* for this visit only */ }
}

// Named .mjs, so that workers import it: evaluating it is against the page's security policy.
maplibregl.setRTLTextPlugin(`${location.origin}/playground/vendor/mapbox-gl-rtl-text.mjs`, true);

/** Whether a plain result is an area or line of some 300 m at most. */
function isSmall(feature) {
  if (/Point$/.test(feature.geometry.type) || feature.properties._width) return false;
  const [west, south, east, north] = featureBox(feature);
  return east - west < 0.004 && north - south < 0.003;
}

const VIEW = "mapyard-view";

/** Where the map was when this browser last showed it, if that is in the data. */
function readView([west, south, east, north]) {
  try {
    const { center, zoom } = JSON.parse(localStorage.getItem(VIEW));
    const lng = west > east && center[0] < west ? center[0] + 360 : center[0];
    const isInside = lng >= west && lng <= (west > east ? east + 360 : east) && center[1] >= south && center[1] <= north;
    return isInside && Number.isFinite(zoom) ? { center, zoom } : null;
  } catch { return null; }
}

function keepView(map) {
  try { localStorage.setItem(VIEW, JSON.stringify({ center: map.getCenter().toArray(), zoom: map.getZoom() })); } catch { /* for this visit only */ }
}

/** The room beside the panel, before there is one. */
const isEmbedded = () => document.documentElement.classList.contains("embed");
const firstPadding = () => (isEmbedded() ? 10 : innerWidth > 700 ? { top: 40, bottom: 40, left: 500, right: 60 } : { top: 40, bottom: innerHeight * 0.5, left: 20, right: 20 });

export class MapView {
  constructor(container, dataset, session) {
    this.session = session;
    const remembered = readView(dataset.bbox);
    const [west, south, east, north] = dataset.view ?? dataset.bbox;
    const shift = west > east ? 360 : 0;
    this.map = new maplibregl.Map({
      container,
      style: styleUrl(),
      transformRequest: session.transform,
      ...(remembered ?? { bounds: [[west, south], [east + shift, north]], fitBoundsOptions: { padding: firstPadding() } }),
      hash: "map",
      maxZoom: 22,
      attributionControl: false,
      cooperativeGestures: false,
      locale: {
        "AttributionControl.ToggleAttribution": t("Show or hide the sources"),
        "GeolocateControl.FindMyLocation": t("Where am I?"),
        "GeolocateControl.LocationNotAvailable": t("The place of this device is not known"),
        "Map.Title": t("Map"),
        "Marker.Title": t("Marker"),
        "NavigationControl.ResetBearing": t("Turn by dragging; click for north"),
        "NavigationControl.ZoomIn": t("Zoom in"),
        "NavigationControl.ZoomOut": t("Zoom out"),
      },
    });
    this.map.addControl(new maplibregl.AttributionControl({ compact: innerWidth < 700 }), "bottom-right");
    this.map.addControl(new maplibregl.ScaleControl({ maxWidth: 110 }), "bottom-right");
    this.map.addControl(new maplibregl.NavigationControl({ visualizePitch: true }), "bottom-right");
    this.map.addControl(new maplibregl.GeolocateControl({ trackUserLocation: true }), "bottom-right");
    const controls = this.map.getContainer().querySelector(".maplibregl-control-container");
    controls.setAttribute("role", "complementary");
    controls.setAttribute("aria-label", t("Map controls and attribution"));
    this.data = EMPTY;
    this.tiles = null;
    this.markers = [];
    this.onClick = () => {};
    /** Called with a text when the map cannot be drawn, with "" when it can again. */
    this.onTrouble = () => {};
    this.failed = 0;
    this.quietMs = 0;
    this.map.on("error", (event) => this.#onError(event.error));
    // Drawn again, and without another error for some seconds: the message may go.
    this.map.on("idle", () => { if (performance.now() > this.quietMs) this.onTrouble(""); });
    this.map.on("moveend", () => keepView(this.map));
    this.map.on("style.load", () => this.#addOverlay());
    this.map.on("click", (event) => { if (!this.dragged) this.onClick(event.lngLat.toArray(), event); });
    /** Called with [lng, lat] and the pixel of the page, for a right click or a long press. */
    this.onMenu = () => {};
    this.map.on("contextmenu", (event) => { event.preventDefault(); this.onMenu(event.lngLat.toArray(), { x: event.originalEvent.clientX, y: event.originalEvent.clientY }); });
    /** Called with [lng, lat] while the pointer is over a line of the result, with null when it leaves. */
    this.onLineHover = null;
    this.map.on("mousemove", "result-line", (event) => this.onLineHover?.(event.lngLat.toArray()));
    this.map.on("mouseleave", "result-line", () => this.onLineHover?.(null));
    this.ready = new Promise((resolve) => this.map.once("idle", resolve));
  }

  get center() { return this.map.getCenter().toArray(); }

  /** South, west, north, east of what is in view. */
  get view() {
    const box = this.map.getBounds();
    return [box.getSouth(), box.getWest(), box.getNorth(), box.getEast()].map((v) => Number(v.toFixed(6)));
  }

  /** Meters between two [lng, lat]. */
  distance(one, other) { return new maplibregl.LngLat(...one).distanceTo(new maplibregl.LngLat(...other)); }

  /** The rim of a circle, as [lng, lat]s. */
  circle([lng, lat], meters) {
    const north = meters / 111_195, east = north / Math.cos((lat * Math.PI) / 180);
    return Array.from({ length: 64 }, (_, i) => [lng + east * Math.cos((i * Math.PI) / 32), lat + north * Math.sin((i * Math.PI) / 32)]);
  }

  /** Follow the page's theme. */
  restyle() { this.map.setStyle(styleUrl(), { diff: false }); }

  /** Look from aside where buildings are high, and from above again. */
  tilt(isTilted) { this.map.easeTo({ pitch: isTilted ? 55 : 0, bearing: isTilted ? -17 : 0, zoom: isTilted ? Math.max(this.map.getZoom(), 15.6) : this.map.getZoom() }); }

  /** Show GeoJSON; properties _color, _width, _opacity, _label, _dash say how. */
  show(data) {
    this.data = !data ? EMPTY : data.type === "FeatureCollection" ? data : { type: "FeatureCollection", features: [data].flat() };
    const shown = this.data.features.filter((f) => f.geometry).map((f, i) => ({ ...f, id: i, properties: { ...f.properties, _index: i } }));
    // Small areas and lines are also a dot, so that they are seen from far.
    const dots = shown.filter(isSmall).map((f) => ({ type: "Feature", geometry: { type: "Point", coordinates: featureCenter(f) }, properties: { ...f.properties, _dot: true } }));
    this.data = { type: "FeatureCollection", features: [...shown, ...dots] };
    this.map.getSource("result")?.setData(this.data);
  }

  /** Move so that GeoJSON is in view, beside the panel. */
  fit(data, maxZoom = 16) {
    const box = new maplibregl.LngLatBounds();
    const walk = (c) => (typeof c[0] === "number" ? box.extend(c.slice(0, 2)) : c.forEach(walk));
    const geometries = data.type === "FeatureCollection" ? data.features.map((f) => f.geometry) : [data.geometry ?? data];
    geometries.filter(Boolean).forEach((g) => (g.type === "GeometryCollection" ? g.geometries.forEach((x) => walk(x.coordinates)) : walk(g.coordinates)));
    if (box.isEmpty()) return;
    this.map.fitBounds(box, { padding: this.padding(), maxZoom, duration: 700 });
  }

  padding() {
    const panel = document.getElementById("panel").getBoundingClientRect();
    return innerWidth > 700
      ? { top: 60, bottom: 60, left: panel.right + 40, right: 80 }
      : { top: 50, bottom: Math.min(innerHeight * 0.6, innerHeight - panel.top + 20), left: 40, right: 40 };
  }

  fly(point, zoom) {
    this.map.easeTo({ center: point, zoom: zoom ?? Math.max(this.map.getZoom(), 15), duration: 700, padding: this.padding() });
    this.map.once("moveend", () => this.map.setPadding({ top: 0, bottom: 0, left: 0, right: 0 }));
  }

  /** Add a marker; `onmove` is called with [lng, lat] after it was moved by mouse, touch or arrow keys. */
  addMarker(point, text, { color = "", onmove, label = "" } = {}) {
    // The map moves the outer element; the inner one is turned into the shape of a pin.
    const element = h("div.pin", { tabIndex: onmove ? 0 : -1, "aria-label": label || t("Point {letter}", { letter: text }) }, h("div.pin-head", {}, h("span", {}, text)));
    if (color) element.style.setProperty("--pin", color);
    const marker = new maplibregl.Marker({ element, anchor: "bottom", draggable: Boolean(onmove) }).setLngLat(point).addTo(this.map);
    const moved = () => onmove?.(marker.getLngLat().toArray());
    marker.on("dragend", moved);
    element.addEventListener("click", (event) => event.stopPropagation());
    element.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: [-8, 0], ArrowRight: [8, 0], ArrowUp: [0, -8], ArrowDown: [0, 8] }[event.key];
      if (!step || !onmove) return;
      event.preventDefault();
      event.stopPropagation();
      const at = this.map.project(marker.getLngLat());
      marker.setLngLat(this.map.unproject([at.x + step[0], at.y + step[1]]));
      moved();
    });
    this.markers.push(marker);
    return marker;
  }

  clearMarkers() {
    this.markers.forEach((marker) => marker.remove());
    this.markers = [];
  }

  clear() {
    this.clearMarkers();
    this.show(null);
    this.highlight(null);
    this.showCursor(null);
    this.onLineHover = null;
  }

  /** Mark a part of the result; null takes the mark away. */
  highlight(geometry) {
    this.marked = geometry;
    this.map.getSource("highlight")?.setData(geometry ? { type: "Feature", geometry, properties: {} } : EMPTY);
  }

  /** Show a dot at [lng, lat], for a chart; null takes it away. */
  showCursor(point) {
    if (!point) { this.cursor?.remove(); this.cursor = null; return; }
    this.cursor ??= new maplibregl.Marker({ element: h("div.map-cursor") }).setLngLat(point).addTo(this.map);
    this.cursor.setLngLat(point);
  }

  /** Let a line be dragged: `drop(from, to)` is called with [lng, lat]s; returns what ends it. */
  onLineDrag(line, drop) {
    const { map } = this;
    const canvas = map.getCanvas();
    const enter = () => { canvas.style.cursor = "grab"; };
    const leave = () => { canvas.style.cursor = ""; };
    const grab = (event) => {
      if (!line() || event.originalEvent.button > 0 || (event.points ?? []).length > 1) return;
      event.preventDefault(); // the map stays
      const from = event.lngLat.toArray();
      let to = null;
      const move = (moved) => { to = moved.lngLat.toArray(); this.dragged = true; this.showCursor(to); canvas.style.cursor = "grabbing"; };
      const end = () => {
        for (const kind of ["mousemove", "touchmove"]) map.off(kind, move);
        for (const kind of ["mouseup", "touchend"]) map.off(kind, end);
        this.showCursor(null);
        canvas.style.cursor = "";
        if (to) drop(from, to);
        setTimeout(() => { this.dragged = false; }, 0); // the click that follows is none
      };
      for (const kind of ["mousemove", "touchmove"]) map.on(kind, move);
      for (const kind of ["mouseup", "touchend"]) map.on(kind, end);
    };
    const parts = [["mouseenter", enter], ["mouseleave", leave], ["mousedown", grab], ["touchstart", grab]];
    for (const [kind, call] of parts) map.on(kind, "result-line", call);
    return () => { leave(); for (const [kind, call] of parts) map.off(kind, "result-line", call); };
  }

  /** A picture of the map as it is, as a PNG blob. */
  picture() {
    return new Promise((resolve) => {
      this.map.once("render", () => this.map.getCanvas().toBlob(resolve, "image/png"));
      this.map.triggerRepaint();
    });
  }

  /** Show vector tiles with a layer `features`, or with null none. */
  showTiles(address) {
    this.tiles = address;
    this.#addTiles();
  }

  #addTiles() {
    const { map } = this;
    for (const id of TILE_LAYERS) if (map.getLayer(id)) map.removeLayer(id);
    if (map.getSource("own")) map.removeSource("own");
    if (!this.tiles) return;
    const color = isDark() ? "#f0a35e" : "#b4530a";
    const kind = (...types) => ["match", ["geometry-type"], types, true, false];
    const layer = { source: "own", "source-layer": "features" };
    map.addSource("own", { type: "vector", tiles: [this.tiles], maxzoom: 14 });
    map.addLayer({ id: "own-fill", type: "fill", ...layer, filter: kind("Polygon", "MultiPolygon"), paint: { "fill-color": color, "fill-opacity": 0.25 } }, "result-fill");
    map.addLayer({ id: "own-line", type: "line", ...layer, filter: kind("Polygon", "MultiPolygon", "LineString", "MultiLineString"), paint: { "line-color": color, "line-width": 2 } }, "result-fill");
    map.addLayer({ id: "own-point", type: "circle", ...layer, filter: kind("Point", "MultiPoint"),
      paint: { "circle-color": color, "circle-stroke-color": isDark() ? "#0c1210" : "#ffffff", "circle-stroke-width": 1.5, "circle-radius": ["interpolate", ["linear"], ["zoom"], 8, 3, 14, 5.5, 18, 8] } });
  }

  /** The features of those tiles under a pixel. */
  tilesAt({ x, y }) {
    const layers = TILE_LAYERS.filter((id) => this.map.getLayer(id));
    return layers.length ? this.map.queryRenderedFeatures([[x - 4, y - 4], [x + 4, y + 4]], { layers }) : [];
  }

  /** The result features under a pixel. */
  resultsAt(pixel) {
    const { x, y } = pixel;
    const layers = ["result-fill", "result-line", "result-point", "result-dot"].filter((id) => this.map.getLayer(id));
    return this.map.queryRenderedFeatures([[x - 4, y - 4], [x + 4, y + 4]], { layers });
  }

  /** Begin another session when the present one is over; say why the map stays empty else. */
  async #onError(error) {
    const status = error?.status;
    this.quietMs = performance.now() + 3_000;
    if (status === undefined) { console.error(error); return; }
    if ((status === 401 || status === 429) && this.failed < 2) {
      this.failed += 1;
      try {
        await this.session.begin();
        if (this.map.getStyle()?.sources?.osm) this.map.refreshTiles("osm");
        else this.restyle();
        setTimeout(() => { this.failed = 0; }, 5_000);
        return;
      } catch (trouble) {
        this.onTrouble(trouble.message);
      }
      return;
    }
    this.onTrouble(TROUBLE[status] ?? t("The map cannot be drawn: the server answered {status}.", { status }));
  }

  #addOverlay() {
    const { map } = this;
    const accent = isDark() ? "#4fc997" : "#0a7d57";
    const color = ["coalesce", ["get", "_color"], accent];
    const kind = (...types) => ["match", ["geometry-type"], types, true, false];
    const below = map.getStyle().layers.find((layer) => layer.type === "symbol")?.id; // labels stay readable
    map.addSource("result", { type: "geojson", data: this.data, lineMetrics: true });
    map.addLayer({ id: "result-fill", type: "fill", source: "result", filter: kind("Polygon", "MultiPolygon"),
      paint: { "fill-color": color, "fill-opacity": ["coalesce", ["get", "_opacity"], 0.22] } }, below);
    map.addLayer({ id: "result-outline", type: "line", source: "result", filter: kind("Polygon", "MultiPolygon"),
      layout: { "line-join": "round" }, paint: { "line-color": color, "line-width": 1.8 } }, below);
    map.addLayer({ id: "result-tie", type: "line", source: "result", filter: ["has", "_tie"],
      paint: { "line-color": color, "line-width": 2, "line-dasharray": [0.5, 1.6] }, layout: { "line-cap": "round" } }, below);
    map.addLayer({ id: "result-casing", type: "line", source: "result", filter: ["all", kind("LineString", "MultiLineString"), ["!", ["has", "_tie"]]],
      layout: { "line-join": "round", "line-cap": "round" },
      paint: { "line-color": isDark() ? "#0c1210" : "#ffffff", "line-width": ["+", ["coalesce", ["get", "_width"], 4], 3.5], "line-opacity": 0.9 } }, below);
    map.addLayer({ id: "result-line", type: "line", source: "result", filter: ["all", kind("LineString", "MultiLineString"), ["!", ["has", "_tie"]]],
      layout: { "line-join": "round", "line-cap": "round" },
      paint: { "line-color": color, "line-width": ["coalesce", ["get", "_width"], 4], "line-opacity": ["coalesce", ["get", "_opacity"], 1] } }, below);
    map.addLayer({ id: "result-point", type: "circle", source: "result", filter: ["all", kind("Point", "MultiPoint"), ["!", ["has", "_dot"]]],
      paint: { "circle-color": color, "circle-stroke-color": isDark() ? "#0c1210" : "#ffffff", "circle-stroke-width": 1.8,
        "circle-radius": ["interpolate", ["linear"], ["zoom"], 8, 3.5, 14, 5.5, 18, 8] } });
    map.addLayer({ id: "result-dot", type: "circle", source: "result", filter: ["has", "_dot"], maxzoom: 15.5,
      paint: { "circle-color": color, "circle-radius": 4, "circle-stroke-color": isDark() ? "#0c1210" : "#ffffff", "circle-stroke-width": 1.6 } });
    map.addLayer({ id: "result-label", type: "symbol", source: "result", filter: ["all", ["has", "_label"], ["!", ["has", "_dot"]]], minzoom: 12,
      layout: { "text-field": ["get", "_label"], "text-font": ["Noto Sans Bold"], "text-size": 12, "text-anchor": "top", "text-offset": [0, 0.8], "text-max-width": 10 },
      paint: { "text-color": isDark() ? "#e7ece8" : "#123d2d", "text-halo-color": isDark() ? "#0c1210" : "#ffffff", "text-halo-width": 1.6 } });
    map.addSource("highlight", { type: "geojson", data: EMPTY });
    map.addLayer({ id: "highlight", type: "line", source: "highlight", layout: { "line-join": "round", "line-cap": "round" }, paint: { "line-color": isDark() ? "#ffd166" : "#d9480f", "line-width": 7 } });
    if (this.marked) this.highlight(this.marked);
    if (this.tiles) this.#addTiles();
  }
}
