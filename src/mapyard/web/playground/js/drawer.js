// The drawer under each tool: the last request in three languages, and its answer.

import { snippets } from "./api.js";
import { h, icon, toast } from "./ui.js";
import { number, t } from "./words.js";

const TABS = [["answer", t("Answer")], ["curl", "curl"], ["python", "Python"], ["javascript", "JavaScript"]];
const MAX_SHOWN = 60_000;

export class Drawer {
  constructor() {
    this.tab = "answer";
    this.call = null;
    this.result = null;
    this.title = h("span.drawer-title", {}, t("Request"));
    this.code = h("pre.code", { tabIndex: 0, "aria-label": t("Request and answer") });
    this.tabs = h("div.tabs", { role: "tablist", "aria-label": t("Show the request as") }, TABS.map(([id, text]) =>
      h("button", { type: "button", role: "tab", id: `tab-${id}`, dataset: { tab: id }, onclick: () => this.choose(id) }, text)));
    this.tabs.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const index = TABS.findIndex(([id]) => id === this.tab);
      this.choose(TABS[(index + step + TABS.length) % TABS.length][0]);
      this.tabs.querySelector('[aria-selected="true"]').focus();
    });
    const copy = h("button.icon-button.small", { type: "button", title: t("Copy"), "aria-label": t("Copy"), onclick: () => this.copy() }, icon("copy"));
    this.element = h("details.drawer", { hidden: true },
      h("summary", {}, this.title),
      h("div.drawer-bar", {}, this.tabs, copy),
      this.code);
    this.element.addEventListener("toggle", () => this.draw());
  }

  /** Show a call, and its result once there is one. */
  show(call, result = null) {
    this.call = call;
    this.result = result;
    this.element.hidden = false;
    this.title.replaceChildren(
      h("code.method", {}, call.method), " ", h("code.path", {}, call.path),
      result ? h("span.status", { dataset: { ok: String(result.status < 400) } }, `${result.status} · ${Math.round(result.ms)} ms · ${size(result.bytes)}`) : h("span.status", {}, "…"),
    );
    this.draw();
  }

  hide() {
    this.element.hidden = true;
    this.call = null;
  }

  choose(id) {
    this.tab = id;
    this.draw();
  }

  copy() {
    navigator.clipboard?.writeText(this.text(false)).then(() => toast(t("Copied")), () => toast(t("The browser did not allow copying")));
  }

  text(shortened) {
    if (!this.call) return "";
    if (this.tab !== "answer") return snippets(this.call)[this.tab];
    if (!this.result) return "…";
    const text = this.result.json ? JSON.stringify(this.result.json, null, 2) : this.result.text;
    if (!shortened || text.length <= MAX_SHOWN) return compactNumbers(text);
    return `${compactNumbers(text.slice(0, MAX_SHOWN))}\n… ${t("{size} in all; Copy takes it whole", { size: size(text.length) })}`;
  }

  draw() {
    for (const button of this.tabs.children) {
      const chosen = button.dataset.tab === this.tab;
      button.setAttribute("aria-selected", String(chosen));
      button.tabIndex = chosen ? 0 : -1;
    }
    if (this.element.open) this.code.replaceChildren(...highlight(this.text(true), this.tab));
  }
}

const size = (bytes) => (bytes < 1000 ? `${bytes} B` : bytes < 1e6 ? `${number(bytes / 1000, 1)} kB` : `${number(bytes / 1e6, 1)} MB`);

/** Put positions on one line: they make JSON long and tell little. */
const compactNumbers = (text) => text.replace(/\[\s+(-?[\d.e-]+),\s+(-?[\d.e-]+)(?:,\s+(-?[\d.e-]+))?\s+\]/g, (_, a, b, c) => (c ? `[${a}, ${b}, ${c}]` : `[${a}, ${b}]`));

/** Color keys, texts and numbers. */
function highlight(text, tab) {
  if (text.length > 30_000) return [text];
  const token = tab === "answer"
    ? /("(?:[^"\\]|\\.)*")(\s*:)?|(-?\b\d+(?:\.\d+)?(?:e[+-]?\d+)?\b)|\b(true|false|null)\b/g
    : /("(?:[^"\\\n]|\\.)*"|'(?:[^'\\]|\\.)*')|\b(import|const|await|new|curl|print|httpx|fetch)\b|(\b\d+(?:\.\d+)?\b)/g;
  const parts = [];
  let last = 0;
  for (const found of text.matchAll(token)) {
    parts.push(text.slice(last, found.index));
    last = found.index + found[0].length;
    if (tab === "answer") {
      if (found[1]) parts.push(h(found[2] ? "span.key" : "span.text", {}, found[1]), found[2] ?? "");
      else parts.push(h("span.number", {}, found[0]));
    } else parts.push(h(found[1] ? "span.text" : found[2] ? "span.key" : "span.number", {}, found[0]));
  }
  parts.push(text.slice(last));
  return parts;
}
