// The workbench that the three query languages share: editor, examples, history, wizard, results, plan.

import { ApiError, get, send } from "../api.js";
import { draftOf, keepDraft, keepRun, runsOf, save, savedOf, unsave } from "../drafts.js";
import { makeEditor } from "../editor/editor.js";
import { formatQuery } from "../editor/languages.js";
import { Results, readCsv } from "../results.js";
import { paintBy, splitStyle } from "../styling.js";
import { debounce, h, toast } from "../ui.js";
import { language, number, t, tn } from "../words.js";

const WIZARD_KEYS = ["amenity", "shop", "tourism", "leisure", "natural", "highway", "historic", "railway", "man_made", "landuse", "building", "cuisine", "sport", "craft", "office", "healthcare", "place"];

/** Make a query tool: its language, examples, what makes the call, and what the wizard writes. */
export function queryTool({ examples, makeCall, language, complete, wizard, hasPlan = true, ...tool }) {
  return {
    ...tool,
    hasPlan,

    open(content, page) {
      this.page = page;
      this.editor = null;
      this.text = draftOf(tool.id) ?? examples[0][1];
      const keep = debounce(400, () => { keepDraft(tool.id, this.text); page.remember({ replace: true }); });
      this.results = new Results(page, tool.id);
      this.plan = h("div", { id: "query-plan", hidden: true });
      this.tab = "results";
      this.host = h("div.editor-place");
      this.warnings = h("ul.warnings", { "aria-label": t("Warnings"), hidden: true });
      this.runButton = h("button.primary", { type: "button", onclick: () => this.update(page) }, t("Run"));
      this.stopButton = h("button.quiet", { type: "button", hidden: true, onclick: () => page.stop() }, t("Stop"));
      this.menu = h("select", { "aria-label": t("Examples"), onchange: () => this.pick() });
      this.fillMenu();
      const wish = h("input", { type: "text", placeholder: t("Wizard: cafés, or shop=bakery"), "aria-label": t("What to find in view"), autocomplete: "off" });
      content.append(
        h("label.field", {}, h("span.field-label", {}, t("Examples, saved and last queries")), this.menu),
        h("form.row", { onsubmit: (event) => { event.preventDefault(); this.wish(wish.value, page); } }, wish, h("button.small.quiet", {}, t("Write"))),
        this.host,
        h("div.row.wrap", {}, this.runButton, this.stopButton,
          hasPlan ? h("button.quiet", { type: "button", onclick: () => this.explain(page) }, t("Explain")) : null,
          h("button.small.quiet", { type: "button", onclick: () => this.set(formatQuery(this.text)) }, t("Format")),
          h("button.small.quiet", { type: "button", onclick: () => this.keep() }, t("Save")),
          h("small.keys", {}, t("Ctrl + Enter"))),
        this.warnings, this.plan, this.results.element);
      this.made = makeEditor({
        language, text: this.text, label: t("Query"), complete,
        onchange: (text) => { this.text = text; keep(); },
        onrun: () => this.update(page),
      }).then((editor) => {
        this.editor = editor;
        if (editor.text !== this.text) editor.text = this.text;
        this.host.replaceChildren(editor.element);
      });
    },

    state() { return { text: this.text, run: this.hasRun ? "1" : "" }; },

    restore(state, page) {
      if (state.text) this.set(state.text);
      if (state.run) this.update(page);
    },

    close() { this.hasRun = false; },

    set(text) {
      this.text = text;
      if (this.editor) this.editor.text = text;
    },

    fillMenu() {
      const group = (label, options) => (options.length ? [h("optgroup", { label }, options)] : []);
      const short = (text) => text.replace(/\s+/g, " ").trim().slice(0, 70);
      this.choices = [...examples.map(([, text]) => text), ...savedOf(tool.id).map((one) => one.text), ...runsOf(tool.id).map((one) => one.text)];
      let at = 0;
      this.menu.replaceChildren(h("option", { value: "" }, t("Choose …")),
        ...group(t("Examples"), examples.map(([name]) => h("option", { value: at++ }, name))),
        ...group(t("Saved"), savedOf(tool.id).map((one) => h("option", { value: at++ }, one.name))),
        ...group(t("Last run"), runsOf(tool.id).map((one) => h("option", { value: at++ }, short(one.text)))));
    },

    pick() {
      if (this.menu.value === "") return;
      this.set(this.choices[Number(this.menu.value)]);
      this.menu.value = "";
      this.update(this.page);
    },

    keep() {
      const name = prompt(t("A name for this query; an empty one takes a saved query away:"), savedOf(tool.id).find((one) => one.text === this.text)?.name ?? "");
      if (name === null) return;
      if (name.trim()) save(tool.id, name.trim(), this.text);
      else savedOf(tool.id).filter((one) => one.text === this.text).forEach((one) => unsave(tool.id, one.name));
      this.fillMenu();
      toast(name.trim() ? t("Saved in this browser") : t("Taken away"));
    },

    /** Write a query for what somebody wishes: "cafés", "bakery", "shop=*". */
    async wish(text, page) {
      const found = await findTag(text.trim());
      if (!found) return page.say(t("Nothing in the data is tagged like “{text}”. Write key=value, or another word.", { text: text.trim() }), "error");
      this.set(wizard(...found));
      this.update(page);
    },

    warn(warnings) {
      this.warnings.hidden = !warnings.length;
      this.warnings.replaceChildren(...warnings.map((text) => h("li", {}, text)));
    },

    async ask(page, change = {}) {
      this.warn([]);
      this.editor?.mark(null);
      this.stopButton.hidden = false;
      const { text, rules } = splitStyle(fillIn(this.text, page.map));
      const call = makeCall(text);
      const result = await page.run({ ...call, body: { ...call.body, ...change } }, { onfail: (error) => this.mark(error) });
      this.stopButton.hidden = true;
      return { result, rules };
    },

    mark(error) {
      const { line, column } = error.result?.json?.error?.details ?? {};
      this.editor?.mark(line ? { line, column, message: error.message } : null);
    },

    async update(page) {
      this.plan.hidden = true;
      this.hasRun = true;
      page.remember();
      keepRun(tool.id, this.text);
      this.fillMenu();
      page.map.show(null);
      this.results.element.replaceChildren();
      const { result, rules } = await this.ask(page);
      if (!result) return;
      const found = readAnswer(result);
      this.warn(result.json?.warnings ?? headerWarnings(result.headers));
      this.results.show(found.features, { ...found, paint: rules.length ? (f) => paintBy(rules, f) : null, more: this.makeMore(result, found, rules, page) });
      if (!found.features.length && !found.values.length && !found.raw) page.say(t("The query found nothing."));
    },

    /** What loads the rows after those shown, where the answer says that there are more. */
    makeMore(result, found, rules, page) {
      const cursor = result.headers.get("X-Next-Cursor"), offset = result.headers.get("X-Next-Offset");
      if (result.headers.get("X-Has-More") !== "true" || (!cursor && !offset)) return null;
      return async () => {
        const next = await this.ask(page, cursor ? { cursor } : { offset: Number(offset) });
        if (!next.result) return;
        const more = readAnswer(next.result);
        const features = [...found.features, ...more.features];
        this.results.show(features, { ...more, features, raw: "", move: false, paint: rules.length ? (f) => paintBy(rules, f) : null, more: this.makeMore(next.result, { features }, rules, page) });
      };
    },

    async explain(page) {
      this.plan.replaceChildren();
      const { result } = await this.ask(page, { explain: true });
      if (!result) return;
      this.warn(result.json.warnings ?? []);
      this.plan.hidden = false;
      this.plan.replaceChildren(planTable(result.json));
    },

    click(_point, page, event) { this.results.click(event); },
  };
}

/** Put what is in view into a query: {{bbox}}, {{center}}. */
function fillIn(text, map) {
  const [lng, lat] = map.center;
  return text.replaceAll("{{bbox}}", map.view.join(",")).replaceAll("{{center}}", `${lat.toFixed(6)},${lng.toFixed(6)}`);
}

/** Find the tag that somebody means: [key, value]; null where nothing is tagged so. */
async function findTag(text) {
  const pair = text.match(/^([\p{L}\w:]+)\s*=\s*(.+)$/u);
  if (pair) return [pair[1], pair[2].trim()];
  const word = text.toLowerCase().normalize("NFD").replace(/\p{M}/gu, "").replace(/\s+in view$/, "").trim().replace(/\s+/g, "_");
  const forms = [...new Set([word, word.replace(/ies$/, "y"), word.replace(/es$/, ""), word.replace(/s$/, "")])].filter((form) => form.length > 1);
  let best = null;
  await Promise.all(WIZARD_KEYS.map(async (key) => {
    const prefix = forms.at(-1).slice(0, 3);
    const rows = (await send(get("/api/v1/tags", { key, prefix, limit: 200 })).catch((error) => { if (error instanceof ApiError) return null; throw error; }))?.json.tags ?? [];
    for (const row of rows) if (forms.includes(row.value) && (!best || row.count > best.count)) best = row;
  }));
  return best && [best.key, best.value];
}

/** Read an answer of any kind: features, counts and groups, CSV, XML, plain text. */
function readAnswer(result) {
  const type = result.headers.get("Content-Type") ?? "";
  if (result.json) return { features: result.json.features ?? readBindings(result.json), values: valuesOf(result.json), raw: JSON.stringify(result.json, null, 2), rawKind: "json" };
  if (/csv|tab-separated/.test(type)) return { features: readCsv(result.text, /^[^\n,]*\t/.test(result.text) ? "\t" : ","), values: [], raw: result.text, rawKind: "csv" };
  return { features: [], values: [], raw: result.text, rawKind: /xml/.test(type) ? "xml" : "txt" };
}

/** Rows of SPARQL's own JSON, as features without places. */
function readBindings(json) {
  return (json.results?.bindings ?? []).map((row) => ({ type: "Feature", geometry: null, properties: Object.fromEntries(Object.entries(row).map(([name, term]) => [name, term.value])) }));
}

/** Show what an answer says beside features: a number, a number per group, or several under names. */
function valuesOf(json) {
  const named = json.outputs ?? (json.result === undefined ? {} : { "": json.result });
  if (json.count && typeof json.count === "object") Object.assign(named, { count: json.count });
  if (typeof json.boolean === "boolean") named.answer = json.boolean;
  return Object.entries(named).map(([name, value]) => {
    const isGroups = value !== null && typeof value === "object" && !Array.isArray(value);
    const rows = isGroups ? Object.entries(value) : [[name || "result", value]];
    const sorted = rows.every(([, v]) => typeof v === "number") ? rows.sort((a, b) => b[1] - a[1]) : rows;
    return h("div.scroll", {}, h("table.tags", {}, name && isGroups ? h("caption", {}, name) : null,
      h("tbody", {}, sorted.slice(0, 500).map(([key, v]) => h("tr", {}, h("th", { scope: "row", dir: "auto" }, key), h("td", { dir: "auto" }, typeof v === "number" ? v.toLocaleString(language) : JSON.stringify(v)))))));
  });
}

/** Read the header that names what a query's author should know. */
const headerWarnings = (headers) => (headers.get("X-Query-Warning") ?? "").split(" | ").filter(Boolean);

const count = (number) => (number >= 1e7 ? number.toExponential(1) : Math.round(number).toLocaleString(language));

/** Show the steps of a query: what each is, rows expected and found, and its share of the time. */
function planTable(plan) {
  const lines = [];
  const walk = (steps, depth) => steps.forEach((step) => { lines.push([step, depth]); walk(step.steps, depth + 1); });
  walk(plan.steps, 0);
  const most = Math.max(...lines.map(([step]) => step.time_ms), 0.001);
  return h("div.scroll", {}, h("table.plan", {},
    h("caption", {}, tn(plan.rows, "{n} row in {ms} ms", "{n} rows in {ms} ms", { n: count(plan.rows), ms: number(plan.time_ms, 1) })),
    h("thead", {}, h("tr", {}, [t("Step"), t("Expected"), t("Rows"), "ms"].map((text) => h("th", { scope: "col" }, text)))),
    h("tbody", {}, lines.map(([step, depth]) => h("tr", {},
      h("th", { scope: "row", style: `--depth: ${Math.min(depth, 8)}` }, h("b", {}, step.step), step.runs > 1 ? h("small", {}, ` ${tn(step.runs, "{n} time", "{n} times", { n: count(step.runs) })}`) : null, step.detail ? h("code", { dir: "auto" }, step.detail) : null),
      h("td", {}, step.estimated_rows === null ? "–" : count(step.estimated_rows)),
      h("td", {}, count(step.rows)),
      h("td", { style: `--share: ${Math.round((step.time_ms / most) * 100)}%` }, step.time_ms.toFixed(2)))))));
}
