// Colors for results: by the values of a tag, with a legend, or by MapCSS as overpass turbo has it.

import { t } from "./words.js";

const COLORS = ["#0a7d57", "#c8553d", "#2f6fb3", "#b58900", "#8a4fa3", "#17a2a2", "#d1478c", "#5c7a29"];
const OTHERS = "#8a958e";

/** Color features by a key: returns {paint: feature → properties, legend: [[color, text, count]]}. */
export function colorBy(features, key) {
  const counts = new Map();
  for (const feature of features) {
    const value = feature.properties?.[key];
    if (value !== undefined && value !== null) counts.set(String(value), (counts.get(String(value)) ?? 0) + 1);
  }
  const best = [...counts].sort((a, b) => b[1] - a[1]).slice(0, COLORS.length);
  const colors = new Map(best.map(([value], i) => [value, COLORS[i]]));
  const others = features.length - best.reduce((sum, [, count]) => sum + count, 0);
  return {
    paint: (feature) => ({ _color: colors.get(String(feature.properties?.[key])) ?? OTHERS }),
    legend: [...best.map(([value, count]) => [colors.get(value), value, count]), ...(others ? [[OTHERS, t("others"), others]] : [])],
  };
}

const STYLE = /\{\{\s*style\s*:([\s\S]*?)\}\}(?!\})/;

/** Part a query and its {{style: …}}: returns {text, rules}. */
export function splitStyle(query) {
  const found = query.match(STYLE);
  if (!found) return { text: query, rules: [] };
  return { text: query.replace(STYLE, ""), rules: parseMapCss(found[1]) };
}

/** Read MapCSS: selectors of type and tags, declarations of color, width, opacity, fill and text. */
function parseMapCss(css) {
  const rules = [];
  for (const [, selectors, body] of css.replace(/\/\*[\s\S]*?\*\//g, "").matchAll(/([^{}]+)\{([^{}]*)\}?/g)) {
    const declared = Object.fromEntries([...body.matchAll(/([\w-]+)\s*:\s*("[^"]*"|'[^']*'|[^;]+)/g)].map(([, name, value]) => [name.toLowerCase(), value.trim().replace(/^["']|["']$/g, "")]));
    for (const selector of selectors.split(",")) {
      const kind = selector.trim().match(/^(node|way|relation|line|area|\*)?/)[1] ?? "*";
      const tests = [...selector.matchAll(/\[\s*"?([^\]=!~"]+?)"?\s*(?:(!=|=~|=|~)\s*"?\/?([^\]"]*?)\/?"?\s*)?\]/g)].map(([, key, op, value]) => [key.replace(/^!/, ""), op ?? (key.startsWith("!") ? "!" : "*"), value]);
      rules.push({ kind, tests, declared });
    }
  }
  return rules;
}

const HOLDS = {
  "*": (value) => value !== undefined,
  "!": (value) => value === undefined,
  "=": (value, wanted) => value === wanted,
  "!=": (value, wanted) => value !== wanted,
  "=~": (value, wanted) => value !== undefined && matches(wanted, value),
  "~": (value, wanted) => value !== undefined && matches(wanted, value),
};
function matches(pattern, value) { try { return new RegExp(pattern).test(value); } catch { return false; } }

/** Return the properties with which a feature is drawn by rules; later rules win. */
export function paintBy(rules, feature) {
  const p = feature.properties ?? {};
  const type = p["@type"] ?? String(feature.id ?? "").split("/")[0];
  const isArea = /Polygon/.test(feature.geometry?.type ?? "");
  const painted = {};
  for (const { kind, tests, declared } of rules) {
    if (kind === "line" ? isArea || /Point/.test(feature.geometry?.type ?? "") : kind === "area" ? !isArea : kind !== "*" && kind !== type) continue;
    if (!tests.every(([key, op, wanted]) => HOLDS[op](p[key], wanted))) continue;
    const color = declared["fill-color"] && isArea ? declared["fill-color"] : declared.color ?? declared["symbol-fill-color"] ?? declared["symbol-stroke-color"];
    if (color) painted._color = color;
    if (declared.width) painted._width = Number(declared.width);
    const opacity = Number(isArea ? declared["fill-opacity"] ?? declared.opacity : declared.opacity);
    if (Number.isFinite(opacity)) painted._opacity = opacity;
    if (declared.text) painted._label = declared.text.startsWith("eval(") ? p[declared.text.match(/tag\(["']?([^"')]+)/)?.[1]] : p[declared.text] ?? undefined;
  }
  return painted;
}
