// Input fields for positions: typed as "lat, lng", set by a click on the map, dragged as markers.

import { formatPoint, h, iconButton, parsePoint, toast } from "./ui.js";

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

export class PointList {
  /** names: labels of fixed points; max: further points may be added up to this number. */
  constructor({ map, names = [], min = 1, max = names.length, color, onchange, addText = "Add a point" }) {
    Object.assign(this, { map, names, min, max, color, onchange, addText });
    this.points = Array(Math.max(min, names.length)).fill(null);
    this.active = 0;
    this.element = h("div.points");
    this.draw();
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

  set(index, point) {
    this.points[index] = point;
    this.active = Math.max(0, this.points.indexOf(null));
    this.draw();
    this.onchange(this);
  }

  setAll(points) {
    this.points = [...points];
    while (this.points.length < this.min) this.points.push(null);
    this.draw();
    this.onchange(this);
  }

  remove(index) {
    if (this.points.length > Math.max(this.min, 1)) this.points.splice(index, 1);
    else this.points[index] = null;
    this.draw();
    this.onchange(this);
  }

  reverse() {
    this.points.reverse();
    this.draw();
    this.onchange(this);
  }

  drawMarkers() {
    this.map.clearMarkers();
    this.points.forEach((point, index) => {
      if (!point) return;
      this.map.addMarker(point, this.max === 1 ? "" : LETTERS[index] ?? String(index + 1), {
        color: this.color,
        label: `${this.label(index)}, move with the arrow keys`,
        onmove: (moved) => this.set(index, moved),
      });
    });
  }

  label(index) { return this.names[index] ?? `Point ${LETTERS[index] ?? index + 1}`; }

  draw() {
    this.element.replaceChildren(
      ...this.points.map((point, index) => h("div.point", {},
        h("span.letter", { "aria-hidden": "true" }, this.max === 1 ? "•" : LETTERS[index] ?? index + 1),
        h("input", {
          type: "text", value: point ? formatPoint(point) : "", placeholder: `${this.label(index)}: click the map`,
          "aria-label": `${this.label(index)}, latitude and longitude`, autocomplete: "off", spellcheck: false,
          onfocus: () => { this.active = index; },
          onchange: (event) => {
            const text = event.target.value;
            if (!text.trim()) { this.points[index] = null; this.onchange(this); return; }
            const read = parsePoint(text);
            if (read) this.set(index, read);
            else toast("Write a point as latitude, longitude: 47.1410, 9.5209");
          },
        }),
        iconButton("nearest", "Take the middle of the map", () => this.set(index, this.map.center), "button.icon-button.small"),
        this.points.length > this.min || point ? iconButton("close", "Remove", () => this.remove(index), "button.icon-button.small") : null)),
      this.points.length < this.max && this.isComplete
        ? h("button.link", { type: "button", onclick: () => { this.points.push(null); this.active = this.points.length - 1; this.draw(); } }, `+ ${this.addText}`)
        : "",
    );
    this.drawMarkers();
  }
}
