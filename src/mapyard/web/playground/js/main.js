// The page: tools on the left, their panel beside it, the map behind.

import { readAddress, writeAddress } from "./address.js";
import { beginMapSession, renewSession, send } from "./api.js";
import { Drawer } from "./drawer.js";
import { changeLook, look, MapView } from "./map.js";
import { entriesFor, showMenu } from "./menu.js";
import { MapSession } from "./session.js";
import { shareDialog } from "./share.js";
import { makeHandle, setStep } from "./sheet.js";
import { h, icon, iconButton, toast } from "./ui.js";
import datasets from "./panels/datasets.js";
import elevation from "./panels/elevation.js";
import features from "./panels/features.js";
import isochrone from "./panels/isochrone.js";
import match from "./panels/match.js";
import matrix from "./panels/matrix.js";
import nearest from "./panels/nearest.js";
import optimize from "./panels/optimize.js";
import overpass from "./panels/overpass.js";
import plazaql from "./panels/plazaql.js";
import route from "./panels/route.js";
import search from "./panels/search.js";
import sparql from "./panels/sparql.js";
import tags from "./panels/tags.js";
import tiles from "./panels/tiles.js";
import { LANGUAGES, language, number, setLanguage, t } from "./words.js";

const TOOLS = [search, route, isochrone, nearest, matrix, optimize, match, elevation, features, tags, overpass, sparql, plazaql, datasets, tiles];

class Page {
  constructor(config, map) {
    this.config = config;
    this.map = map;
    this.drawer = new Drawer();
    this.tools = TOOLS.filter((tool) => tool.paths.some((path) => config.paths.includes(path)));
    this.current = null;
    this.abort = null;
    /** What one tool leaves for another: a route for the elevation profile, say. */
    this.shared = {};
    /** What each tool showed last, as it stands in the address. */
    this.states = {};
    map.onTrouble = (text) => showTrouble(text);
    map.onMenu = (point, pixel) => showMenu(pixel, entriesFor(point, this));
    map.onClick = (point, event) => this.current?.click?.(point, this, event);
    this.drawTools();
    this.drawCorner();
    addEventListener("keydown", (event) => this.onKey(event));
    addEventListener("popstate", () => this.openFromAddress());
    addEventListener("hashchange", () => this.openFromAddress());
    this.opened = this.openFromAddress();
  }

  has(path) { return this.config.paths.includes(path); }

  /** Show what the address says, where it is not shown already: at first, on Back and Forward. */
  async openFromAddress() {
    const { tool: name, look: _, ...state } = await readAddress();
    const wanted = this.tools.find((tool) => tool.id === name) ?? this.current ?? this.tools[0];
    if (!wanted || (wanted === this.current && isSame(state, this.stateOf(wanted)))) return;
    this.open(wanted, { state, isNew: false });
  }

  stateOf(tool) { return tool === this.current && tool.state ? clean(tool.state()) : this.states[tool.id] ?? {}; }

  /** Put what the tool shows now into the address; a tool calls it when it shows something else. */
  remember({ replace = false } = {}) {
    const tool = this.current;
    if (this.restoring || !tool) return;
    this.states[tool.id] = this.stateOf(tool);
    this.written = writeAddress({ tool: tool.id, ...this.states[tool.id], look: [...look].join(",") }, { replace });
  }

  /** Draw relief or high buildings, or no longer. */
  toggleLook(name, button) {
    changeLook(name);
    button.setAttribute("aria-pressed", String(look.has(name)));
    this.map.restyle();
    if (name === "3d") this.map.tilt(look.has(name));
    this.remember({ replace: true });
  }

  /** Open a tool as it was last, or with a state. */
  open(tool, { state = this.stateOf(tool), isNew = true } = {}) {
    if (this.current) this.states[this.current.id] = this.stateOf(this.current);
    this.current?.close?.(this);
    this.abort?.abort();
    this.map.clear();
    this.drawer.hide();
    this.current = tool;
    for (const button of document.querySelectorAll("#tools button")) {
      const chosen = button.dataset.tool === tool.id;
      button.setAttribute("aria-pressed", String(chosen));
      if (chosen) button.scrollIntoView({ block: "nearest", inline: "center" });
    }
    this.message = h("div.message", { role: "status" });
    this.content = h("div.content");
    const panel = document.getElementById("panel");
    setStep(panel, "half");
    panel.setAttribute("aria-label", tool.title);
    panel.replaceChildren(
      makeHandle(panel),
      h("header.panel-head", {}, h("h1", {}, tool.title), h("p", {}, tool.hint)),
      this.content, this.message, this.drawer.element);
    panel.scrollTop = 0;
    tool.open(this.content, this);
    this.restoring = true; // what is put back is no news for the address
    try { if (Object.keys(state).length) tool.restore?.(state, this); } finally { this.restoring = false; }
    this.states[tool.id] = state;
    if (isNew) this.written = writeAddress({ tool: tool.id, ...state, look: [...look].join(",") });
  }

  /** Give up what is being asked. */
  stop() {
    this.abort?.abort();
    this.say(t("Stopped."));
  }

  /** Send a call, show it in the drawer; null when it failed, was stopped, or another one came. */
  async run(call, { quiet = false, onfail } = {}) {
    this.abort?.abort();
    const abort = (this.abort = new AbortController());
    const tool = this.current;
    if (!quiet) this.say("", "busy");
    this.drawer.show(call);
    const progress = (bytes) => { if (!quiet && bytes > 200_000) this.say(t("{size} MB so far …", { size: number(bytes / 1e6, 1) })); };
    try {
      const result = await send(call, { signal: abort.signal, progress });
      if (abort.signal.aborted || tool !== this.current) return null;
      this.drawer.show(call, result);
      if (!quiet) this.say("");
      return result;
    } catch (error) {
      if (error.name === "AbortError" || tool !== this.current) return null;
      if (error.result) this.drawer.show(call, error.result);
      onfail?.(error);
      this.say(this.explain(error), "error");
      return null;
    }
  }

  /** Ask beside what is shown, for completion and the like; null where it fails. */
  async ask(call) {
    try { return await send(call); } catch { return null; }
  }

  explain(error) {
    if (["missing_key", "invalid_key"].includes(error.code)) return t("Sign in to use the API from this page.");
    if (!error.result) return t("The server did not answer. Is it running?");
    return error.message;
  }

  say(text, state = "") {
    this.message.textContent = text;
    this.message.dataset.state = state;
  }

  drawTools() {
    const place = document.getElementById("tools");
    place.append(...this.tools.map((tool) =>
      h("button", { type: "button", dataset: { tool: tool.id }, "aria-pressed": "false", onclick: () => { this.open(tool); if (innerWidth > 700) document.getElementById("panel").focus({ preventScroll: true }); } },
        icon(tool.icon), h("span", {}, tool.name))));
    place.addEventListener("keydown", (event) => {
      const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
      const buttons = [...place.children];
      const index = buttons.indexOf(document.activeElement);
      if (!step || index < 0) return;
      event.preventDefault();
      buttons[(index + step + buttons.length) % buttons.length].focus();
    });
  }

  drawCorner() {
    const dark = () => document.documentElement.dataset.theme === "dark";
    const toggle = iconButton(dark() ? "sun" : "moon", t("Light or dark"), () => {
      document.documentElement.dataset.theme = dark() ? "light" : "dark";
      try { localStorage.setItem("mapyard-theme", document.documentElement.dataset.theme); } catch { /* for this visit only */ }
      toggle.replaceChildren(icon(dark() ? "sun" : "moon"));
      this.map.restyle();
    });
    const looks = [["3d", "cube", t("Buildings in 3D")], ...(this.config.relief ? [["relief", "peak", t("Relief and contours")]] : [])].map(([name, sign, text]) => {
      const button = iconButton(sign, text, () => this.toggleLook(name, button));
      button.setAttribute("aria-pressed", String(look.has(name)));
      return button;
    });
    const languageMenu = h("select.language", { title: t("Language"), "aria-label": t("Language"), onchange: () => setLanguage(languageMenu.value) },
      LANGUAGES.map(([code, name]) => h("option", { value: code, lang: code, selected: code === language }, name)));
    document.getElementById("corner").append(
      languageMenu,
      ...looks,
      iconButton("share", t("Share"), () => shareDialog(this)),
      h("a.icon-button", { href: "/docs/guides", title: t("Guides and reference"), "aria-label": t("Guides and reference") }, icon("book")),
      h("a.icon-button", { href: "/account", title: t("Account"), "aria-label": t("Account") }, icon("user")),
      toggle);
  }

  onKey(event) {
    if (document.querySelector("dialog[open]")) return;
    const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement?.tagName);
    if (event.key === "/" && !typing) {
      event.preventDefault();
      if (this.current !== search && this.tools.includes(search)) this.open(search);
      document.querySelector("#panel input")?.focus();
    } else if (event.key === "Escape" && !event.defaultPrevented) {
      if (typing) document.activeElement.blur();
      else if (this.current) this.open(this.current, { state: {} });
    } else if (/^[1-9]$/.test(event.key) && !typing && !event.metaKey && !event.ctrlKey && !event.altKey) {
      const tool = this.tools[Number(event.key) - 1];
      if (tool) this.open(tool);
    }
  }
}

const clean = (state) => Object.fromEntries(Object.entries(state).filter(([, value]) => value !== undefined && value !== null && value !== "").map(([name, value]) => [name, String(value)]));
const isSame = (one, other) => Object.keys({ ...one, ...other }).every((name) => (one[name] ?? "") === (other[name] ?? ""));

/** Say over the map why it stays empty; "" takes the message away. */
function showTrouble(text) {
  let place = document.getElementById("trouble");
  if (!text) { place?.remove(); return; }
  if (!place) document.body.append(place = h("div", { id: "trouble", role: "alert" }));
  place.textContent = text;
}

function dropFiles(page) {
  addEventListener("dragover", (event) => event.preventDefault());
  addEventListener("drop", async (event) => {
    event.preventDefault();
    const file = event.dataTransfer?.files?.[0];
    if (!file || !page.tools.includes(match)) return;
    page.open(match);
    match.load(await file.text(), file.name, page);
  });
}

async function start() {
  document.title = t("Map · Mapyard");
  document.querySelector(".skip").textContent = t("Skip the map");
  document.getElementById("tools").setAttribute("aria-label", t("Tools"));
  document.getElementById("corner").setAttribute("aria-label", t("Pages and theme"));
  const [config, hasAccount] = await Promise.all([fetch("/playground/config.json").then((r) => r.json()), renewSession()]);
  const renew = () => document.hidden || renewSession().catch(() => {});
  setInterval(renew, 300_000); // a session ends after a quarter of an hour
  document.addEventListener("visibilitychange", renew);
  const panel = document.getElementById("panel");
  if (!config.dataset) {
    panel.append(h("header.panel-head", {}, h("h1", {}, t("No map yet")), h("p", {}, t("Nothing has been built on this server. Run mapyard build with an OpenStreetMap extract, then load this page again."))));
    return;
  }
  const allowed = hasAccount || (await fetch("/api/v1/tiles.json")).ok;
  if (!allowed) {
    panel.append(h("header.panel-head", {}, h("h1", {}, t("Sign in to use the map")),
      h("p", {}, t("This page asks the API in the name of your account: it needs no key, only that you are signed in.")),
      h("p", {}, h("a.button", { href: "/sign-in?next=/" }, t("Sign in")), " ", h("a", { href: "/docs" }, t("Read the reference"))),
      h("p", {}, t("You run this server? This command prints a link that opens the map in this browser:"), " ", h("code", {}, "mapyard open"))));
    return;
  }
  const session = new MapSession(() => beginMapSession(config));
  await session.begin().catch((error) => toast(error.message));
  const map = new MapView("map", config.dataset, session);
  const page = new Page(config, map);
  dropFiles(page);
  window.playground = { page, map: map.map, maplibre: map }; // for the console and for tests
}

start().catch((error) => {
  console.error(error);
  toast(t("The map could not be started. Load the page again."));
});
