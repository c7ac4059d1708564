// One request to the API of this origin, and the same request in other languages.

import { t } from "./words.js";

export class ApiError extends Error {
  constructor(result) {
    const error = result.json?.error;
    super(error?.message ?? t("the server answered {status}", { status: result.status }));
    this.code = error?.code ?? "";
    this.result = result;
  }
}

/** Describe a call: query parameters and, for POST, a JSON body. */
export const get = (path, query = {}) => ({ method: "GET", path, query: compact(query) });
export const post = (path, body, query = {}) => ({ method: "POST", path, query: compact(query), body: compact(body) });

function compact(values) {
  return Object.fromEntries(Object.entries(values).filter(([, v]) => v !== undefined && v !== null && v !== ""));
}

function address(call) {
  const query = new URLSearchParams(call.query).toString();
  return call.path + (query ? `?${query}` : "");
}

/** Let this page ask the API for some minutes more; returns whether it may. */
export async function renewSession() {
  const response = await fetch("/playground/session", { method: "POST" });
  return response.ok && (await response.json()).session;
}

/** Begin a session of the map; null where the server asks for no keys. */
export async function beginMapSession(config) {
  if (!config.keys) return null;
  return (await send(post("/api/v1/tiles/session", {}))).json;
}

/**
 * Send a call; returns {status, ms, bytes, json, text, headers}, raises ApiError on 4xx and 5xx.
 * progress(bytes) is called while the answer comes.
 */
export async function send(call, { signal, progress } = {}) {
  const started = performance.now();
  const ask = () => fetch(address(call), {
    method: call.method,
    headers: { Accept: "application/json", ...(call.body ? { "Content-Type": "application/json" } : {}) },
    body: call.body ? JSON.stringify(call.body) : undefined,
    signal,
  });
  let response = await ask();
  if (response.status === 401 && (await renewSession())) response = await ask(); // it had slept
  const text = progress ? await readBody(response, progress) : await response.text();
  const result = { status: response.status, ms: performance.now() - started, bytes: text.length, text, json: null };
  result.headers = response.headers;
  try { result.json = JSON.parse(text); } catch { /* shown as text */ }
  if (!response.ok) throw new ApiError(result);
  return result;
}

async function readBody(response, progress) {
  const decoder = new TextDecoder();
  let text = "", bytes = 0;
  for (let reader = response.body.getReader(); ;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    bytes += value.length;
    text += decoder.decode(value, { stream: true });
    progress(bytes);
  }
}

const KEY = "YOUR_KEY";

/** Return the call as curl, Python and JavaScript. */
export function snippets(call) {
  const url = location.origin + address(call);
  const body = call.body ? JSON.stringify(call.body, null, 2) : "";
  const shellBody = call.body ? JSON.stringify(call.body).replaceAll("'", "'\\''") : "";
  const curl = call.body
    ? `curl -X POST '${url}' \\\n  -H 'X-API-Key: ${KEY}' \\\n  -H 'Content-Type: application/json' \\\n  -d '${shellBody}'`
    : `curl '${url}' \\\n  -H 'X-API-Key: ${KEY}'`;
  const params = Object.keys(call.query).length ? `\n    params=${python(call.query, 1)},` : "";
  const json = call.body ? `\n    json=${python(call.body, 1)},` : "";
  const py = `import httpx

answer = httpx.${call.method.toLowerCase()}(
    "${location.origin}${call.path}",${params}${json}
    headers={"X-API-Key": "${KEY}"},
)
answer.raise_for_status()
print(answer.json())`;
  const js = `const answer = await fetch("${url}", {
  method: "${call.method}",
  headers: { "X-API-Key": "${KEY}"${call.body ? ', "Content-Type": "application/json"' : ""} },${
    call.body ? `\n  body: JSON.stringify(${body.replaceAll("\n", "\n  ")}),` : ""}
});
console.log(await answer.json());`;
  return { curl, python: py, javascript: js };
}

/** Write a JSON value as a Python literal. */
function python(value, depth) {
  const pad = "    ".repeat(depth + 1);
  const end = "    ".repeat(depth);
  if (value === null) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (typeof value !== "object") return JSON.stringify(value);
  const flat = JSON.stringify(value);
  if (Array.isArray(value)) {
    if (flat.length < 70) return `[${value.map((v) => python(v, depth)).join(", ")}]`;
    return `[\n${value.map((v) => pad + python(v, depth + 1)).join(",\n")},\n${end}]`;
  }
  const pairs = Object.entries(value);
  if (flat.length < 60) return `{${pairs.map(([k, v]) => `${JSON.stringify(k)}: ${python(v, depth)}`).join(", ")}}`;
  return `{\n${pairs.map(([k, v]) => `${pad}${JSON.stringify(k)}: ${python(v, depth + 1)}`).join(",\n")},\n${end}}`;
}
