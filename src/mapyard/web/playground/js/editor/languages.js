// How the three query languages are colored, a token at a time, and what is completed in them.

import { get, send } from "../api.js";

/** Make a tokenizer: words are keywords, the rest by rules of [pattern, style]; comments may span lines. */
function tokenizer({ name, keywords, rules, lineComment, hasBlocks, ignoreCase = false }) {
  const words = new Set(keywords);
  return {
    name,
    startState: () => ({ inComment: false }),
    token(stream, state) {
      if (state.inComment) {
        if (stream.skipTo("*/")) { stream.match("*/"); state.inComment = false; } else stream.skipToEnd();
        return "comment";
      }
      if (stream.eatSpace()) return null;
      if (hasBlocks && stream.match("/*")) { state.inComment = true; return "comment"; }
      if (stream.match(lineComment)) { stream.skipToEnd(); return "comment"; }
      if (stream.match(/^\{\{[^}]*\}\}/)) return "meta";
      for (const [pattern, style] of rules) if (stream.match(pattern)) return style;
      const word = stream.match(/^[\p{L}_][\p{L}\p{N}_]*/u);
      if (word) return words.has(ignoreCase ? word[0].toUpperCase() : word[0]) ? "keyword" : null;
      stream.next();
      return null;
    },
    languageData: { commentTokens: { line: lineComment, ...(hasBlocks ? { block: { open: "/*", close: "*/" } } : {}) }, closeBrackets: { brackets: ["(", "[", "{", '"'] } },
  };
}

const TEXT = [/^"(?:[^"\\]|\\.)*"?/, "string"];
const NUMBER = [/^-?\d+(?:\.\d+)?(?:e[+-]?\d+)?/i, "number"];

const OVERPASS_WORDS = "node way relation rel nwr nw nr wr area out is_in foreach for if else complete retro make convert compare delta map_to_area timeline local derived around poly bbox newer changed user uid uid_touched user_touched id pivot geom center body skel ids tags count meta bb qt asc noids t set lrs_in lrs_isect lrs_union lrs_max lrs_min number is_number suffix length is_closed version timestamp changeset keys is_tag".split(" ");
export const overpass = tokenizer({ name: "overpass", lineComment: "//", hasBlocks: true, keywords: OVERPASS_WORDS,
  rules: [TEXT, [/^'(?:[^'\\]|\\.)*'?/, "string"], [/^\[(?:out|timeout|maxsize|bbox|date|diff|adiff)(?=:)/, "meta"], [/^(?:->)?\.[a-z_][\w]*/i, "variableName"], NUMBER] });

const SPARQL_WORDS = "SELECT CONSTRUCT DESCRIBE ASK WHERE FROM NAMED PREFIX BASE OPTIONAL UNION FILTER MINUS GRAPH SERVICE SILENT BIND VALUES GROUP BY HAVING ORDER ASC DESC LIMIT OFFSET DISTINCT REDUCED AS IN NOT EXISTS A COUNT SUM MIN MAX AVG SAMPLE GROUP_CONCAT SEPARATOR UNDEF TRUE FALSE IF COALESCE BOUND STR LANG LANGMATCHES DATATYPE IRI URI BNODE STRDT STRLANG STRLEN SUBSTR UCASE LCASE STRSTARTS STRENDS CONTAINS STRBEFORE STRAFTER ENCODE_FOR_URI CONCAT REPLACE REGEX ABS ROUND CEIL FLOOR RAND NOW YEAR MONTH DAY HOURS MINUTES SECONDS ISIRI ISLITERAL ISNUMERIC SAMETERM".split(" ");
export const sparql = tokenizer({ name: "sparql", lineComment: "#", hasBlocks: false, ignoreCase: true, keywords: SPARQL_WORDS,
  rules: [TEXT, [/^'(?:[^'\\]|\\.)*'?/, "string"], [/^<[^<>\s]*>/, "string"], [/^[?$][\w]+/, "variableName"], [/^[a-z][\w-]*:[\w:.%-]*/i, "propertyName"], [/^:[\w]+/, "propertyName"], NUMBER] });

const PLAZA_WORDS = "search dataset boundary place point geometry geocode reverse_geocode nearest route isochrone matrix elevation ev_route bbox around within intersects contains crosses touches not_within h3 filter sort limit offset count sum avg min max group_by length area distance centroid buffer simplify union difference intersection fields include precision node way relation true false asc desc t id type".split(" ");
export const plazaql = tokenizer({ name: "plazaql", lineComment: "//", hasBlocks: true, keywords: PLAZA_WORDS,
  rules: [TEXT, [/^\$\$?\w*/, "variableName"], [/^:[a-z]\w*/, "meta"], [/^[\p{L}_][\p{L}\p{N}_:]*(?=\s*:)/u, "propertyName"], NUMBER] });

const asked = new Map();

/** Ask the store for keys, or the values of a key, that begin so; each is asked once. */
function tags(key, prefix) {
  const start = key ? prefix.slice(0, 2) : "";
  const name = `${key}\n${start}`;
  if (!asked.has(name)) {
    const call = get("/api/v1/tags", { key, prefix: start, limit: key ? 400 : 1500 });
    asked.set(name, send(call).then((result) => result.json.tags ?? result.json.results ?? [], () => { asked.delete(name); return []; }));
  }
  return asked.get(name);
}

const count = (number) => number.toLocaleString("en");

async function completeTags(context, key, prefix, { quoted }) {
  const rows = await tags(key, prefix);
  const from = context.pos - prefix.length;
  const bare = /^[\p{L}_][\p{L}\p{N}_:]*$/u;
  return { from, validFor: /^[^"\]\n]*$/, options: rows.slice(0, 1500).map((row, place) => {
    const text = key ? row.value : row.key;
    return { label: text, apply: quoted || bare.test(text) ? text : JSON.stringify(text), detail: count(row.count), type: key ? "constant" : "property", boost: -Math.min(place, 99) };
  }) };
}

const wordOptions = (words, lower = true) => words.map((word) => ({ label: lower ? word : word.toUpperCase(), type: "keyword" }));

function completeWords(context, words, pattern = /[\w]+$/) {
  const found = context.matchBefore(pattern);
  if (!found && !context.explicit) return null;
  return { from: found ? found.from : context.pos, options: wordOptions(words), validFor: /^\w*$/ };
}

/** Find what stands before the cursor in its line. */
const before = (context) => context.state.doc.lineAt(context.pos).text.slice(0, context.pos - context.state.doc.lineAt(context.pos).from);

export async function completeOverpass(context) {
  const line = before(context);
  const value = line.match(/\[\s*"?([\p{L}\w:]+)"?\s*(?:!?[=~])\s*("?)([^"\]]*)$/u);
  if (value) return completeTags(context, value[1], value[3], { quoted: value[2] === '"' });
  const key = line.match(/\[\s*(!?"?)([\p{L}\w:]*)$/u);
  if (key) return completeTags(context, "", key[2], { quoted: key[1].includes('"') });
  const macro = context.matchBefore(/\{\{\w*$/);
  if (macro) return { from: macro.from, options: [{ label: "{{bbox}}", type: "variable", detail: "what is in view" }, { label: "{{center}}", type: "variable", detail: "middle of the map" }] };
  return completeWords(context, OVERPASS_WORDS);
}

export async function completeSparql(context) {
  const line = before(context);
  const value = line.match(/osmkey:([\p{L}\w:]+)\s+"([^"]*)$/u);
  if (value) return completeTags(context, value[1], value[2], { quoted: true });
  const key = line.match(/osmkey:([\p{L}\w:]*)$/u);
  if (key) return completeTags(context, "", key[1], { quoted: true });
  const word = context.matchBefore(/[\w:]+$/);
  if (!word && !context.explicit) return null;
  return { from: word ? word.from : context.pos, validFor: /^[\w:]*$/, options: [
    ...["osmkey:", "geo:hasGeometry", "geo:asWKT", "geof:distance", "geof:sfIntersects", "geof:sfWithin", "osmrel:", "osmmeta:timestamp", "rdf:type"].map((label) => ({ label, type: "property" })),
    ...wordOptions(SPARQL_WORDS, false)] };
}

export async function completePlazaql(context) {
  const line = before(context);
  const value = line.match(/([\p{L}\w:]+)\s*:\s*"([^"]*)$/u);
  if (value) return completeTags(context, value[1], value[2], { quoted: true });
  const tag = line.match(/t\["([^"]*)$/);
  if (tag) return completeTags(context, "", tag[1], { quoted: true });
  const key = line.match(/search\((?:[^()]*,)?\s*([\p{L}\w:]+)$/u);
  if (key) return completeTags(context, "", key[1], { quoted: true });
  return completeWords(context, PLAZA_WORDS);
}

/** Write a query anew with one indent per open bracket; texts and comments stay as they are. */
export function formatQuery(text) {
  let depth = 0;
  return text.split("\n").map((raw) => {
    const line = raw.trim();
    const code = line.replace(/"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|<[^<>\s]*>|\/\/.*$|(^|\s)#.*$/g, "");
    const opens = (code.match(/[({]/g) ?? []).length, closes = (code.match(/[)}]/g) ?? []).length;
    const leading = (code.match(/^[)}]+/) ?? [""])[0].length;
    const chained = /^\.[a-z_]+\(/.test(line) ? 1 : 0;
    const indent = Math.max(0, depth - leading + chained);
    depth = Math.max(0, depth + opens - closes);
    return line ? "  ".repeat(indent) + line : "";
  }).join("\n").trim() + "\n";
}
