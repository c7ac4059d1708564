// What the two query editors share: an editor, examples, results in list and map, the query's plan.

import { featureCard, featureCenter, featureItem } from "../features.js";
import { h } from "../ui.js";

const TABS = [["results", "Results"], ["plan", "Plan"]];

/** Make an editor tool out of its examples and a function that makes the call. */
export function queryTool({ examples, makeCall, hasPlan = true, ...tool }) {
  return {
    ...tool,
    hasPlan,

    open(content, page) {
      this.editor = h("textarea.editor", { value: examples[0][1], spellcheck: false, rows: 9, "aria-label": "Query", autocapitalize: "off",
        onkeydown: (event) => {
          if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); this.update(page); }
        } });
      const choose = h("select", { "aria-label": "Examples", onchange: () => { if (choose.value) { this.editor.value = examples[choose.value][1]; this.update(page); } } },
        examples.map(([name], i) => h("option", { value: i }, name)));
      this.output = h("div", { id: "query-results", role: "tabpanel", "aria-labelledby": "tab-results" });
      this.plan = h("div", { id: "query-plan", role: "tabpanel", "aria-labelledby": "tab-plan", hidden: true });
      this.tab = "results";
      this.asked = {}; // part → the query that it was asked for
      this.tabs = h("div.tabs", { role: "tablist", "aria-label": "Show of the query" }, TABS.map(([id, text]) =>
        h("button", { type: "button", role: "tab", id: `tab-${id}`, "aria-controls": `query-${id}`, dataset: { tab: id }, onclick: () => this.choosePart(id, page) }, text)));
      this.tabs.addEventListener("keydown", (event) => {
        if (event.key !== "ArrowRight" && event.key !== "ArrowLeft") return;
        this.choosePart(this.tab === "plan" ? "results" : "plan", page);
        this.tabs.querySelector('[aria-selected="true"]').focus();
      });
      this.warnings = h("ul.warnings", { "aria-label": "Warnings", hidden: true });
      content.append(h("label.field", {}, h("span.field-label", {}, "Example"), choose), this.editor,
        h("div.row", {}, h("button.primary", { type: "button", onclick: () => this.update(page) }, "Run"), h("small.keys", {}, "Ctrl + Enter")), this.warnings, this.tabs, this.output, this.plan);
      this.drawTabs();
    },

    drawTabs() {
      for (const button of this.tabs.children) {
        const chosen = button.dataset.tab === this.tab;
        button.setAttribute("aria-selected", String(chosen));
        button.tabIndex = chosen ? 0 : -1;
      }
      this.tabs.hidden = !this.hasPlan;
      this.output.hidden = this.tab !== "results";
      this.plan.hidden = this.tab !== "plan";
    },

    /** Show results or plan; what was not asked for the query as it stands is asked now. */
    choosePart(id, page) {
      this.tab = id;
      this.drawTabs();
      if (this.asked[id] !== this.editor.value) this.update(page);
    },

    warn(warnings) {
      this.warnings.hidden = !warnings.length;
      this.warnings.replaceChildren(...warnings.map((text) => h("li", {}, text)));
    },

    async update(page) {
      this.warn([]);
      this.asked[this.tab] = this.editor.value;
      if (this.tab === "plan") {
        await this.explain(page);
        return;
      }
      this.output.replaceChildren();
      page.map.show(null);
      const result = await page.run(makeCall(this.editor.value, page.map.view));
      if (!result) return;
      this.warn(result.json.warnings ?? headerWarnings(result.headers));
      this.show(result.json, page, true);
      if (result.headers.get("X-Has-More") === "true") page.say("The first 1,000 are shown.");
    },

    async explain(page) {
      this.plan.replaceChildren();
      const call = makeCall(this.editor.value, page.map.view);
      const result = await page.run({ ...call, body: { ...call.body, explain: true } });
      if (!result) return;
      this.warn(result.json.warnings ?? []);
      this.plan.replaceChildren(planTable(result.json));
    },

    show(json, page, move) {
      const found = json.features ?? [];
      this.json = json;
      const shown = found.filter((f) => f.geometry);
      page.map.show({ type: "FeatureCollection", features: found.map((f) => ({ ...f, properties: { _label: f.properties?.name ?? undefined } })) });
      this.places = new Map(shown.map((f, i) => [i, f]));
      if (move && shown.length) page.map.fit({ type: "FeatureCollection", features: shown });
      const values = valuesOf(json);
      if (values.length) {
        this.output.replaceChildren(...values);
        if (!found.length) return;
      }
      this.output.replaceChildren(
        ...values,
        h("p.count", {}, `${found.length.toLocaleString("en")} result${found.length === 1 ? "" : "s"}${shown.length < found.length ? `, ${shown.length} on the map` : ""}`),
        shown.length || !found.length ? h("ul.list", {}, found.slice(0, 100).map((f) => featureItem(f, () => this.choose(f, page)))) : rowsTable(found));
    },

    choose(feature, page) {
      if (featureCenter(feature)) {
        if (feature.geometry.type === "Point") page.map.fly(feature.geometry.coordinates, 17);
        else page.map.fit(feature, 18);
      }
      this.output.replaceChildren(h("button.link", { type: "button", onclick: () => this.show(this.json, page, false) }, "← all results"), featureCard(feature));
    },

    click(_point, page, event) {
      const [hit] = page.map.resultsAt(event.point);
      if (hit) this.choose(this.places.get(hit.properties._index), page);
    },
  };
}

/** Show what an answer says beside features: a number, a number per group, or several under names. */
function valuesOf(json) {
  const named = json.outputs ?? (json.result === undefined ? {} : { "": json.result });
  return Object.entries(named).map(([name, value]) => {
    const isGroups = value !== null && typeof value === "object" && !Array.isArray(value);
    const rows = isGroups ? Object.entries(value) : [[name || "result", value]];
    const sorted = rows.every(([, v]) => typeof v === "number") ? rows.sort((a, b) => b[1] - a[1]) : rows;
    return h("div.scroll", {}, h("table.tags", {}, name && isGroups ? h("caption", {}, name) : null,
      h("tbody", {}, sorted.slice(0, 200).map(([key, v]) => h("tr", {}, h("th", { scope: "row", dir: "auto" }, key), h("td", { dir: "auto" }, typeof v === "number" ? v.toLocaleString("en") : JSON.stringify(v)))))));
  });
}

/** Read the header that names what a query's author should know. */
const headerWarnings = (headers) => (headers.get("X-Query-Warning") ?? "").split(" | ").filter(Boolean);

const count = (number) => (number >= 1e7 ? number.toExponential(1) : Math.round(number).toLocaleString("en"));

/** Show the steps of a query: what each is, rows expected and found, and its share of the time. */
function planTable(plan) {
  const lines = [];
  const walk = (steps, depth) => steps.forEach((step) => { lines.push([step, depth]); walk(step.steps, depth + 1); });
  walk(plan.steps, 0);
  const most = Math.max(...lines.map(([step]) => step.time_ms), 0.001);
  return h("div.scroll", {}, h("table.plan", {},
    h("caption", {}, `${count(plan.rows)} row${plan.rows === 1 ? "" : "s"} in ${plan.time_ms.toFixed(1)} ms`),
    h("thead", {}, h("tr", {}, ["Step", "Expected", "Rows", "ms"].map((text) => h("th", { scope: "col" }, text)))),
    h("tbody", {}, lines.map(([step, depth]) => h("tr", {},
      h("th", { scope: "row", style: `--depth: ${Math.min(depth, 8)}` }, h("b", {}, step.step), step.runs > 1 ? h("small", {}, ` ${count(step.runs)} times`) : null, step.detail ? h("code", { dir: "auto" }, step.detail) : null),
      h("td", {}, step.estimated_rows === null ? "–" : count(step.estimated_rows)),
      h("td", {}, count(step.rows)),
      h("td", { style: `--share: ${Math.round((step.time_ms / most) * 100)}%` }, step.time_ms.toFixed(2)))))));
}

function rowsTable(found) {
  const names = [...new Set(found.slice(0, 100).flatMap((f) => Object.keys(f.properties ?? {})))];
  return h("div.scroll", {}, h("table.rows", {}, h("thead", {}, h("tr", {}, names.map((n) => h("th", { scope: "col" }, n)))),
    h("tbody", {}, found.slice(0, 100).map((f) => h("tr", {}, names.map((n) => h("td", { dir: "auto" }, String(f.properties[n] ?? ""))))))));
}
