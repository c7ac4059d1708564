// Fields for positions: typed as "lat, lng" or as an address with suggestions, set by a click on the
// map, dragged as markers.

import { readPoints, writePoints } from "./address.js";
import { get, send } from "./api.js";
import { featureCenter, featureKind, featureName } from "./features.js";
import { debounce, formatPoint, h, iconButton, parsePoint, toast } from "./ui.js";
import { t, tn } from "./words.js";

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const SUGGEST = "/api/v1/geocode/autocomplete", GEOCODE = "/api/v1/geocode";
let lists = 0;

export class PointList {
  /** names: labels of fixed points; max: further points may be added up to this number. */
  constructor({ page, names = [], min = 1, max = names.length, color, onchange, addText = t("Add a point") }) {
    Object.assign(this, { page, map: page.map, names, min, max, color, onchange, addText, id: ++lists });
    this.points = Array(Math.max(min, names.length)).fill(null);
    /** What a point was found by, beside it: an address, or nothing. */
    this.texts = [];
    this.active = 0;
    this.element = h("div.points");
    this.draw();
  }

  /** All points as the address of the page holds them. */
  get text() { return writePoints(this.points); }

  set text(text) {
    const points = readPoints(text);
    if (points.length) this.setAll(points.slice(0, this.max));
  }

  get filled() { return this.points.filter(Boolean); }

  get isComplete() { return this.filled.length >= this.min && this.points.slice(0, this.min).every(Boolean); }

  /** A click on the map fills the active field, else the first empty one, else adds one. */
  place(point) {
    let index = this.points[this.active] === null ? this.active : this.points.indexOf(null);
    if (index < 0 && this.points.length < this.max) index = this.points.push(null) - 1;
    if (index < 0) index = this.max === 1 ? 0 : this.points.length - 1;
    this.set(index, point);
  }

  set(index, point, text = "") {
    while (this.points.length <= index) this.points.push(null);
    this.points[index] = point;
    this.texts[index] = text;
    this.active = Math.max(0, this.points.indexOf(null));
    this.draw();
    this.onchange(this);
  }

  insert(index, point) {
    if (this.points.length >= this.max) return toast(tn(this.max, "At most {n} point.", "At most {n} points."));
    this.points.splice(index, 0, point);
    this.texts.splice(index, 0, "");
    this.draw();
    this.onchange(this);
  }

  setAll(points) {
    this.points = [...points];
    this.texts = [];
    while (this.points.length < this.min) this.points.push(null);
    this.active = Math.max(0, this.points.indexOf(null));
    this.draw();
    this.onchange(this);
  }

  remove(index) {
    if (this.points.length > Math.max(this.min, 1)) { this.points.splice(index, 1); this.texts.splice(index, 1); } else { this.points[index] = null; this.texts[index] = ""; }
    this.draw();
    this.onchange(this);
  }

  reverse() {
    while (this.texts.length < this.points.length) this.texts.push("");
    this.points.reverse();
    this.texts.reverse();
    this.draw();
    this.onchange(this);
  }

  drawMarkers() {
    this.map.clearMarkers();
    this.points.forEach((point, index) => {
      if (!point) return;
      this.map.addMarker(point, this.max === 1 ? "" : LETTERS[index] ?? String(index + 1), {
        color: this.color,
        label: t("{point}, move with the arrow keys", { point: this.label(index) }),
        onmove: (moved) => this.set(index, moved),
      });
    });
  }

  label(index) { return this.names[index] ?? t("Point {letter}", { letter: LETTERS[index] ?? index + 1 }); }

  draw() {
    this.element.replaceChildren(
      ...this.points.map((point, index) => h("div.point", {},
        h("span.letter", { "aria-hidden": "true" }, this.max === 1 ? "•" : LETTERS[index] ?? index + 1),
        this.drawField(point, index),
        iconButton("nearest", t("Take the middle of the map"), () => this.set(index, this.map.center), "button.icon-button.small"),
        this.points.length > this.min || point ? iconButton("close", t("Remove {point}", { point: this.label(index) }), () => this.remove(index), "button.icon-button.small") : null)),
      this.points.length < this.max && this.isComplete
        ? h("button.link", { type: "button", onclick: () => { this.points.push(null); this.active = this.points.length - 1; this.draw(); } }, `+ ${this.addText}`)
        : "",
    );
    this.drawMarkers();
  }

  drawField(point, index) {
    const id = `places-${this.id}-${index}`;
    const list = h("ul.list.places", { id, role: "listbox", hidden: true });
    let found = [], at = -1;
    const hide = () => { list.hidden = true; at = -1; input.setAttribute("aria-expanded", "false"); };
    const take = (feature) => { hide(); this.set(index, featureCenter(feature), featureName(feature)); };
    const mark = () => [...list.children].forEach((item, i) => item.setAttribute("aria-selected", String(i === at)));
    const suggest = debounce(150, async () => {
      const text = input.value.trim();
      if (text.length < 2 || parsePoint(text) || document.activeElement !== input) return hide();
      const [lng, lat] = this.map.center;
      const result = await send(get(SUGGEST, { q: text, lat: lat.toFixed(4), lng: lng.toFixed(4), limit: 6 })).catch(() => null);
      if (!result || input.value.trim() !== text) return;
      found = result.json.features;
      list.replaceChildren(...found.map((feature) => {
        const [name, ...rest] = featureName(feature).split(", ");
        return h("li", { role: "option", onpointerdown: (event) => { event.preventDefault(); take(feature); } },
          h("b", { dir: "auto" }, name), h("small", { dir: "auto" }, [featureKind(feature), rest.join(", ")].filter(Boolean).join(" · ")));
      }));
      at = -1;
      list.hidden = !found.length;
      input.setAttribute("aria-expanded", String(found.length > 0));
    });
    const read = async () => {
      const text = input.value.trim();
      if (text === (this.texts[index] || (point ? formatPoint(point) : ""))) return;
      if (!text) { this.points[index] = null; this.texts[index] = ""; this.drawMarkers(); return this.onchange(this); }
      const position = parsePoint(text);
      if (position) return this.set(index, position);
      if (!this.page.has(GEOCODE)) return toast(t("Write a point as latitude, longitude: 47.1410, 9.5209"));
      const [lng, lat] = this.map.center;
      const result = await send(get(GEOCODE, { q: text, lat: lat.toFixed(4), lng: lng.toFixed(4), limit: 1 })).catch(() => null);
      const [best] = result?.json.features ?? [];
      if (best) take(best);
      else toast(t("“{text}” was not found. Write an address, or latitude, longitude.", { text }));
    };
    const input = h("input", {
      type: "text", value: point ? this.texts[index] || formatPoint(point) : "", placeholder: t("{point}: address, or click the map", { point: this.label(index) }),
      "aria-label": t("{point}: address, or latitude and longitude", { point: this.label(index) }), autocomplete: "off", spellcheck: false,
      role: "combobox", "aria-expanded": "false", "aria-controls": id, "aria-autocomplete": "list",
      onfocus: () => { this.active = index; },
      oninput: () => { if (this.page.has(SUGGEST)) suggest(); },
      onblur: () => { hide(); read(); },
      onkeydown: (event) => {
        const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
        if (step && !list.hidden) {
          event.preventDefault();
          at = (at + step + found.length) % found.length;
          mark();
        } else if (event.key === "Enter") {
          event.preventDefault();
          if (at >= 0) take(found[at]);
          else if (!list.hidden && found.length && !parsePoint(input.value)) take(found[0]);
          else read();
        } else if (event.key === "Escape" && !list.hidden) { event.preventDefault(); hide(); }
      },
    });
    return h("div.place", {}, input, list);
  }
}
