// A table of features or rows: sorted by a click on a column, in pages, and complete.

import { h } from "./ui.js";
import { number, t, tn } from "./words.js";

const PAGE = 50, MOST_COLUMNS = 40;

/** rows: objects, or {row, feature}; onchoose(index) is called for a click on a row. */
export function sortedTable(columns, rows, { onchoose, caption = "" } = {}) {
  const shown = columns.slice(0, MOST_COLUMNS);
  let order = rows.map((_, i) => i), by = null, down = false, page = 0;
  const numeric = Object.fromEntries(shown.map((name) => [name, rows.slice(0, 200).every((row) => isEmpty(row[name]) || isNumber(row[name]))]));
  const body = h("tbody"), foot = h("div.row.pager");
  const heads = shown.map((name) => h("th", { scope: "col", "aria-sort": "none" }, h("button.sort", { type: "button", onclick: () => sort(name) }, name)));
  const element = h("div.table-view", {}, h("div.scroll", {}, h("table.rows", {}, caption ? h("caption", {}, caption) : null, h("thead", {}, h("tr", {}, heads)), body)), foot);

  function sort(name) {
    down = by === name ? !down : false;
    by = name;
    const sign = down ? -1 : 1;
    const value = numeric[name] ? (i) => Number(rows[i][name]) : (i) => String(rows[i][name]);
    order = rows.map((_, i) => i).sort((a, b) => {
      if (isEmpty(rows[a][name]) || isEmpty(rows[b][name])) return isEmpty(rows[a][name]) - isEmpty(rows[b][name]); // at the end either way
      return sign * (numeric[name] ? value(a) - value(b) : value(a).localeCompare(value(b), undefined, { numeric: true }));
    });
    heads.forEach((head, i) => head.setAttribute("aria-sort", shown[i] === by ? (down ? "descending" : "ascending") : "none"));
    page = 0;
    draw();
  }

  function draw() {
    const pages = Math.max(1, Math.ceil(rows.length / PAGE));
    body.replaceChildren(...order.slice(page * PAGE, page * PAGE + PAGE).map((index) => {
      const cells = shown.map((name, i) => {
        const text = show(rows[index][name]);
        return h("td", { dir: "auto", dataset: numeric[name] ? { number: "" } : {} }, i === 0 && onchoose ? h("button.link", { type: "button", onclick: () => onchoose(index) }, text || "–") : text);
      });
      return h("tr", {}, cells);
    }));
    const step = (by, text) => h("button.small.quiet", { type: "button", disabled: page + by < 0 || page + by >= pages, onclick: () => { page += by; draw(); } }, text);
    foot.replaceChildren(...(pages > 1 ? [step(-1, t("Back")), h("span", {}, t("{from}–{to} of {all}", { from: number(page * PAGE + 1), to: number(Math.min(rows.length, (page + 1) * PAGE)), all: number(rows.length) })), step(1, t("Next"))] : []),
      ...(columns.length > MOST_COLUMNS ? [h("small", {}, tn(columns.length - MOST_COLUMNS, "{n} more column is in the download.", "{n} more columns are in the download."))] : []));
  }

  draw();
  return element;
}

const isEmpty = (value) => value === undefined || value === null || value === "";
const isNumber = (value) => typeof value === "number" || (typeof value === "string" && value.trim() !== "" && Number.isFinite(Number(value)));
const show = (value) => (isEmpty(value) ? "" : typeof value === "object" ? JSON.stringify(value) : String(value));

/** The columns of features: the ones that most have first. */
export function columnsOf(features) {
  const counts = new Map();
  for (const feature of features) for (const [key, value] of Object.entries(feature.properties ?? {})) if (!key.startsWith("_") && value !== null) counts.set(key, (counts.get(key) ?? 0) + 1);
  counts.delete("@type");
  counts.delete("@id");
  const rank = (key) => (key === "name" ? Infinity : counts.get(key));
  return [...counts.keys()].sort((a, b) => rank(b) - rank(a) || (a < b ? -1 : 1));
}
