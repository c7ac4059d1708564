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

// One key for all pages of this tab: the field of the reference, and one in each form of a guide.
const fields = $$("#key, .key-field");
const key = () => (recall(sessionStorage, "key") ?? fields[0]?.value ?? "").trim();
for (const field of fields) {
  field.value = key();
  field.addEventListener("input", () => {
    remember(sessionStorage, "key", field.value.trim());
    for (const other of fields) if (other !== field) other.value = field.value;
  });
}

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

// Examples in one language for the whole page, kept in this browser.
const samples = $$(".samples");
const languages = ["curl", "Python", "JavaScript"];
function choose(language) {
  for (const box of samples) {
    for (const button of $$(".languages button", box)) button.setAttribute("aria-pressed", String(button.dataset.language === language));
    for (const pre of $$("pre", box)) pre.hidden = pre.dataset.language !== language;
  }
}
for (const box of samples) {
  const group = $(".languages", box);
  group.hidden = false;
  group.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    const top = box.getBoundingClientRect().top;
    choose(button.dataset.language);
    scrollBy({ top: box.getBoundingClientRect().top - top, behavior: "instant" }); // examples above have other heights now
    remember(localStorage, "mapyard-language-of-examples", button.dataset.language);
  });
}
const chosen = recall(localStorage, "mapyard-language-of-examples");
if (languages.includes(chosen)) choose(chosen);

for (const button of $$(".copy")) {
  button.addEventListener("click", async () => {
    const text = $("pre:not([hidden])", button.parentElement).textContent.replace("YOUR_KEY", key() || "YOUR_KEY");
    try { await navigator.clipboard.writeText(text); button.textContent = "Copied"; } catch { button.textContent = "Select it"; }
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
}

const pretty = (text, type) => {
  if (!type.includes("json") || type.includes("ndjson")) return text;
  try { return JSON.stringify(JSON.parse(text), null, 2); } catch { return text; }
};
// Without a key a page may ask for the account of whoever is signed in, as the map page does.
let lapses = 0;
const begin = async () => {
  if (key() || Date.now() < lapses) return;
  const answer = await fetch("/playground/session", { method: "POST" });
  if (answer.ok && (await answer.json()).session) lapses = Date.now() + 600_000;
};
const draw = (blob) => new Promise((done) => {
  const reader = new FileReader(); // the policy of the page takes pictures as data, not as blobs
  reader.onload = () => done(Object.assign(new Image(), { src: reader.result, alt: "The answer as a picture" }));
  reader.readAsDataURL(blob);
});
const link = (href, text) => Object.assign(document.createElement("a"), { href, textContent: text });
const explain = (answer) => {
  if (!answer) return ["The server did not answer. It may have stopped, or the network is gone; send again."];
  if (answer.status === 401 && key()) return ["The server does not know this key. Correct it in the field “API key”, or empty the field to use the account you are signed in to."];
  if (answer.status === 401) return ["This needs a key. Paste one into the field “API key”, or ", link("/sign-in", "sign in"), " and send again."];
  if (answer.status === 429) return [`The limit is reached. Send again in ${answer.headers.get("Retry-After") ?? "some"} seconds.`];
  return [];
};
for (const box of $$(".try-box")) box.hidden = false;
for (const form of $$(".try")) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const status = $(".status", form), result = $(".result", form), hint = $(".hint", form), button = $("button", form);
    const headers = {};
    const body = form.elements.body?.value;
    if (body !== undefined) headers["Content-Type"] = form.dataset.type || "application/json";
    button.disabled = true;
    status.className = "status";
    status.textContent = "…";
    let answer = null, started = performance.now();
    try {
      if (!form.dataset.public) await begin().catch(() => {});
      if (key() && !form.dataset.public) headers["X-API-Key"] = key();
      started = performance.now();
      answer = await fetch(form.elements.path.value, { method: form.dataset.method, headers, body });
      const type = answer.headers.get("Content-Type") || "";
      const binary = /protobuf|mapbox|octet|image|pdf|parquet|zip|font/.test(type);
      const blob = binary ? await answer.blob() : null;
      const text = blob ? `${blob.size} bytes of ${type}` : await answer.text();
      status.textContent = `${answer.status} · ${Math.round(performance.now() - started)} ms · ${answer.headers.get("X-RateLimit-Remaining") ?? "–"} left this minute`;
      status.classList.add(answer.ok ? "ok" : "bad");
      const shown = pretty(text, type);
      result.textContent = shown.length > 60000 ? `${shown.slice(0, 60000)}\n… cut here` : shown;
      if (/^image\/(png|jpeg|webp)/.test(type)) result.replaceChildren(await draw(blob), `\n${text}`);
    } catch (error) {
      status.textContent = "no answer";
      status.classList.add("bad");
      result.textContent = String(error);
    }
    const help = explain(answer);
    hint.replaceChildren(...help);
    hint.hidden = help.length === 0;
    result.hidden = false;
    button.disabled = false;
  });
}
