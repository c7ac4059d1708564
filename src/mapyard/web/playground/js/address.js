// What the page shows, in its address: #map=15/43.73/7.42&tool=route&p=43.73,7.42;43.74,7.43&mode=foot
// The map keeps `map` itself, and writes the rest anew while it moves. So texts that are long, or have
// signs that mean something in an address, are packed (deflate, base64url).

const PACKED = "~";
const PACK_FROM = 80;
const SIGNS = /[^\p{L}\p{N} .,;:=|*_/-]/u;

/** Return {tool, ...state} of the address; packed texts are unpacked. */
export async function readAddress() {
  const values = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  delete values.map;
  await Promise.all(Object.entries(values).map(async ([name, value]) => {
    if (value.startsWith(PACKED)) values[name] = await unpack(value.slice(1)).catch(() => "");
  }));
  return values;
}

/** Put a state into the address: a further entry of the history, or in place of the present one. */
export async function writeAddress(state, { replace = false } = {}) {
  const parts = [];
  const view = new URLSearchParams(location.hash.slice(1)).get("map");
  for (const [name, value] of Object.entries(state)) {
    if (value === undefined || value === null || value === "") continue;
    const text = String(value);
    parts.push(`${name}=${text.length > PACK_FROM || SIGNS.test(text) ? PACKED + (await pack(text)) : text.replaceAll(" ", "+").replaceAll("=", "%3D")}`);
  }
  const hash = `#${[...(view ? [`map=${view}`] : []), ...parts].join("&")}`;
  if (hash !== location.hash) history[replace ? "replaceState" : "pushState"](null, "", hash);
}

async function pack(text) {
  const bytes = await pipe(new TextEncoder().encode(text), new CompressionStream("deflate-raw"));
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join("")).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

async function unpack(text) {
  const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return new TextDecoder().decode(await pipe(Uint8Array.from(binary, (c) => c.charCodeAt(0)), new DecompressionStream("deflate-raw")));
}

async function pipe(bytes, stream) {
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());
}

/** Write points as "lat,lng;lat,lng"; an empty place is an empty part. */
export const writePoints = (points) => points.map((p) => (p ? `${+p[1].toFixed(6)},${+p[0].toFixed(6)}` : "")).join(";").replace(/^;*$/, "");

/** Read them again; what is no position becomes null. */
export function readPoints(text) {
  if (!text) return [];
  return text.split(";").map((part) => {
    const [lat, lng] = part.split(",").map(Number);
    return part && Math.abs(lat) <= 90 && Math.abs(lng) <= 180 ? [lng, lat] : null;
  });
}
