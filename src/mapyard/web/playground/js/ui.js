// Small helpers for building the page. Text is always set as text, never as HTML.

import { number } from "./words.js";

/** Make an element: h("button.primary", {onclick}, "Go"). */
export function h(spec, attributes = {}, ...children) {
  const [tag, ...classes] = spec.split(".");
  const element = document.createElement(tag || "div");
  if (classes.length) element.className = classes.join(" ");
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "dataset") Object.assign(element.dataset, value);
    else if (name in element && name !== "list" && name !== "form") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

const SVG = "http://www.w3.org/2000/svg";

/** Make an SVG element. */
export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

const PATHS = {
  search: "M10.5 4a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13zM20 20l-4.8-4.8",
  route: "M6 19a2.2 2.2 0 1 0 0-.1M18 5a2.2 2.2 0 1 0 0 .1M8 18.500h7a3.500 3.500 0 0 0 0-7H9a3.500 3.500 0 0 1 0-7h6.500",
  isochrone: "M12 12m-8.500 0a8.500 8.500 0 1 0 17 0 8.500 8.500 0 1 0-17 0M12 7.500V12l3 2",
  nearest: "M12 21s6.500-5.600 6.500-11a6.500 6.500 0 0 0-13 0c0 5.400 6.500 11 6.500 11zM12 12.300a2.300 2.300 0 1 0 0-4.600 2.300 2.300 0 0 0 0 4.600z",
  matrix: "M4 4h16v16H4zM4 9.300h16M4 14.700h16M9.300 4v16M14.700 4v16",
  match: "M4 17c3-1 3-7 6-7s3 5 5 5 2-6 5-8M4 20.500c4-1 4-6.500 6.500-6.500s2.500 4 4.500 4 3-5.500 5-7",
  elevation: "M3 19l5.500-9 3.500 5 3-4.500L21 19z",
  optimize: "M5 6a1.800 1.800 0 1 0 0 .1M19 8a1.800 1.800 0 1 0 0 .1M9 19a1.800 1.800 0 1 0 0 .1M6.800 6.300 17 7.700M17.800 9.300 10.200 17.600M8.300 17.300 5.500 7.800",
  features: "M12 3l8.500 4.500L12 12 3.500 7.500zM3.500 12 12 16.500 20.500 12M3.500 16.500 12 21l8.500-4.500",
  overpass: "M8 8l-4 4 4 4M16 8l4 4-4 4M13.500 5.500l-3 13",
  sparql: "M6 6m-2.200 0a2.200 2.200 0 1 0 4.400 0 2.200 2.200 0 1 0-4.400 0M18 8m-2.200 0a2.200 2.200 0 1 0 4.400 0 2.200 2.200 0 1 0-4.400 0M11 18m-2.200 0a2.200 2.200 0 1 0 4.400 0 2.200 2.200 0 1 0-4.400 0M8 6.400l7.800 1.300M16.700 9.800l-4.300 6.500M7 8l3.200 8",
  plazaql: "M4 7h9M4 12h5M4 17h9M14 9l3 3-3 3M20 5v14",
  datasets: "M12 3.500c4.400 0 8 1.300 8 3s-3.600 3-8 3-8-1.300-8-3 3.600-3 8-3zM4 6.500v11c0 1.700 3.600 3 8 3s8-1.300 8-3v-11M4 12c0 1.700 3.600 3 8 3s8-1.300 8-3",
  tiles: "M4 4h7v7H4zM13 4h7v7h-7zM4 13h7v7H4zM13 13h7v7h-7z",
  tags: "M3.500 11.500V4.500a1 1 0 0 1 1-1h7L20.500 12.500l-8 8zM8 8m-1.200 0a1.200 1.200 0 1 0 2.400 0 1.200 1.200 0 1 0-2.400 0",
  share: "M17 5a2.300 2.300 0 1 0 0 .1M6 12a2.300 2.300 0 1 0 0 .1M17 19a2.300 2.300 0 1 0 0 .1M8.200 10.900l6.700-4.600M8.200 13.200l6.700 4.600",
  sun: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2.500v2M12 19.500v2M2.500 12h2M19.500 12h2M5.300 5.300l1.400 1.400M17.300 17.300l1.400 1.400M5.300 18.700l1.400-1.400M17.300 6.700l1.400-1.400",
  moon: "M20 14.500A8.500 8.500 0 0 1 9.500 4a8.500 8.500 0 1 0 10.500 10.500z",
  close: "M6 6l12 12M18 6 6 18",
  cube: "M12 3l8 4.500v9L12 21l-8-4.500v-9zM4 7.500l8 4.500 8-4.500M12 12v9",
  peak: "M2.500 19 9 7l4.500 8M11 11l3-5 7.500 13zM2.500 19H21.500",
  swap: "M7 4v15M7 4 3.500 7.500M7 4l3.500 3.500M17 20V5M17 20l-3.500-3.500M17 20l3.500-3.500",
  plus: "M12 5v14M5 12h14",
  copy: "M9 9h10v11H9zM5 15V4h10",
  book: "M5 4.500h6a1.500 1.500 0 0 1 1.500 1.500v14a2 2 0 0 0-2-1.500H5zM20 4.500h-6A1.500 1.500 0 0 0 12.500 6v14a2 2 0 0 1 2-1.500H20z",
  user: "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4.500 20.500c.8-4 3.700-6 7.500-6s6.700 2 7.500 6",
  car: "M4 16v-4l2-5.500h12l2 5.500v4zM4 16v2.500M20 16v2.500M4.500 12h15M7.500 14h.1M16.500 14h.1",
  foot: "M13 4.500a.8.800 0 1 0 0 .1M12.500 8.500 9.500 14l3 2.500 1 5M12.500 8.500l3 3 3 .5M12.500 8.500 9 10l-1.500 3M9.800 15.500 7 21",
  bicycle: "M6 17.500m-3 0a3 3 0 1 0 6 0 3 3 0 1 0-6 0M18 17.500m-3 0a3 3 0 1 0 6 0 3 3 0 1 0-6 0M6 17.500l3.500-8h6l2.500 8M9.500 9.500 13 17.500l3-6M8 9.500h3M15.500 9.500 15 7h2.500",
};

/** Return an icon of 24 px, drawn as a line. */
export function icon(name) {
  return svg("svg", { viewBox: "0 0 24 24", "aria-hidden": "true", class: "icon" }, svg("path", { d: PATHS[name] }));
}

/** Return a button with an icon and a name for screen readers. */
export function iconButton(name, label, onclick, spec = "button.icon-button") {
  return h(spec, { type: "button", title: label, "aria-label": label, onclick }, icon(name));
}

/** Return a group of radio buttons that looks like one control. */
export function segmented(label, options, value, onchange) {
  const name = `seg-${Math.random().toString(36).slice(2)}`;
  return h(
    "fieldset.segmented", { "aria-label": label },
    options.map(([key, text, symbol]) =>
      h("label", { title: text },
        h("input", { type: "radio", name, value: key, checked: key === value, onchange: () => onchange(key) }),
        h("span", {}, symbol ? icon(symbol) : null, h(symbol ? "b" : "span", {}, text)))),
  );
}

/** Return a labeled form field. */
export function field(label, control, hint = "") {
  return h("label.field", {}, h("span.field-label", {}, label), control, hint ? h("small", {}, hint) : null);
}

let timer = 0;

/** Show a short message. */
export function toast(text) {
  const place = document.getElementById("toast");
  place.textContent = text;
  place.classList.add("shown");
  clearTimeout(timer);
  timer = setTimeout(() => place.classList.remove("shown"), 4000);
}

/** Call at most once until `ms` have passed without a further call. */
export function debounce(ms, call) {
  let waiting = 0;
  return (...values) => {
    clearTimeout(waiting);
    waiting = setTimeout(() => call(...values), ms);
  };
}

export const formatDistance = (m) =>
  m === null || m === undefined ? "–" : m < 950 ? `${Math.round(m)} m` : `${number(m / 1000, m < 9950 ? 1 : 0)} km`;

export function formatDuration(s) {
  if (s === null || s === undefined) return "–";
  const minutes = Math.round(s / 60);
  if (minutes < 1) return `${Math.round(s)} s`;
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export const formatPoint = ([lng, lat]) => `${lat.toFixed(5)}, ${lng.toFixed(5)}`;

/** Read "lat, lng"; null when it is none. */
export function parsePoint(text) {
  const found = text.trim().match(/^(-?\d+(?:\.\d+)?)\s*[,; ]\s*(-?\d+(?:\.\d+)?)$/);
  if (!found) return null;
  const [lat, lng] = [Number(found[1]), Number(found[2])];
  return Math.abs(lat) <= 90 && Math.abs(lng) <= 180 ? [lng, lat] : null;
}
