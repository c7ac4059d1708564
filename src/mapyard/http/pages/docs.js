"use strict";
// Everything works without this script but the try-out forms, the filter and the theme button.
const $ = (selector, root = document) => root.querySelector(selector);
const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];

const root = document.documentElement;
const remember = (store, name, value) => { try { store.setItem(name, value); } catch { /* not allowed */ } };
const recall = (store, name) => { try { return store.getItem(name); } catch { return null; } };

const theme = recall(localStorage, "mapyard-theme"); // one for all pages
if (theme) root.dataset.theme = theme;
$("#theme").addEventListener("click", () => {
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  remember(localStorage, "mapyard-theme", root.dataset.theme);
});

const key = $("#key") ?? { value: recall(sessionStorage, "key") || "", addEventListener() {} }; // guides have no field
key.value = recall(sessionStorage, "key") || "";
key.addEventListener("input", () => remember(sessionStorage, "key", key.value.trim()));

const nav = $("#nav");
$("#menu").addEventListener("click", (event) => {
  const open = nav.classList.toggle("open");
  event.currentTarget.setAttribute("aria-expanded", String(open));
});
nav.addEventListener("click", (event) => { if (event.target.closest("a")) nav.classList.remove("open"); });

const filter = $("#filter");
filter.addEventListener("input", () => {
  if (filter.form) return; // a search over all guides: the server answers it
  const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const section of $$("section", nav)) {
    let shown = 0;
    for (const item of $$("li", section)) {
      const link = $("a", item);
      const text = `${link.textContent} ${link.title}`.toLowerCase();
      item.hidden = !words.every((word) => text.includes(word));
      shown += item.hidden ? 0 : 1;
    }
    section.hidden = shown === 0;
  }
});
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && !/^(INPUT|TEXTAREA)$/.test(document.activeElement.tagName)) {
    event.preventDefault();
    filter.focus();
  }
});

const links = new Map($$("a[href^='#']", nav).map((link) => [link.hash.slice(1), link]));
const watcher = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    if (!entry.isIntersecting) continue;
    for (const link of links.values()) link.classList.remove("here");
    links.get(entry.target.id)?.classList.add("here");
  }
}, { rootMargin: "-20% 0px -70% 0px" });
for (const article of $$("article, #top, #errors")) watcher.observe(article);

for (const button of $$(".copy")) {
  button.addEventListener("click", async () => {
    const text = $("pre", button.parentElement).textContent.replace("YOUR_KEY", key.value.trim() || "YOUR_KEY");
    try { await navigator.clipboard.writeText(text); button.textContent = "Copied"; } catch { button.textContent = "Select it"; }
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
}

const pretty = (text, type) => {
  if (!type.includes("json") || type.includes("ndjson")) return text;
  try { return JSON.stringify(JSON.parse(text), null, 2); } catch { return text; }
};
for (const form of $$(".try")) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const status = $(".status", form), result = $(".result", form), button = $("button", form);
    const headers = {};
    if (key.value.trim() && !form.dataset.public) headers["X-API-Key"] = key.value.trim();
    const body = form.elements.body?.value;
    if (body !== undefined) headers["Content-Type"] = "application/json";
    button.disabled = true;
    status.className = "status";
    status.textContent = "…";
    const started = performance.now();
    try {
      const answer = await fetch(form.elements.path.value, { method: form.dataset.method, headers, body });
      const type = answer.headers.get("Content-Type") || "";
      const binary = /protobuf|mapbox|octet|png|font/.test(type);
      const text = binary ? `${(await answer.arrayBuffer()).byteLength} bytes of ${type}` : await answer.text();
      status.textContent = `${answer.status} · ${Math.round(performance.now() - started)} ms · ${answer.headers.get("X-RateLimit-Remaining") ?? "–"} left this minute`;
      status.classList.add(answer.ok ? "ok" : "bad");
      const shown = pretty(text, type);
      result.textContent = shown.length > 60000 ? `${shown.slice(0, 60000)}\n… cut here` : shown;
    } catch (error) {
      status.textContent = "no answer";
      status.classList.add("bad");
      result.textContent = String(error);
    }
    result.hidden = false;
    button.disabled = false;
  });
}
