// What the page says, in the reader's language. Texts are looked up by their English form in a catalog
// (src/mapyard/web/catalogs, compiled by `make words`); texts that come from data are never looked up.

/** Codes and own names of the languages that the page speaks. */
export const LANGUAGES = [["en", "English"], ["de", "Deutsch"], ["es", "Español"], ["fr", "Français"]];
const KEPT = "mapyard-language";

/** The language in use: chosen on this page before, else the first known one of the browser. */
export const language = choose();
const words = language === "en" ? {} : await load(language);
const plural = new Intl.PluralRules(language);
document.documentElement.lang = language;

function choose() {
  let kept = "";
  try { kept = localStorage.getItem(KEPT) ?? ""; } catch { /* asked anew at each visit */ }
  const wanted = [kept, ...navigator.languages.map((code) => code.split("-")[0].toLowerCase())];
  return wanted.find((code) => LANGUAGES.some(([known]) => known === code)) ?? "en";
}

async function load(code) {
  try {
    const answer = await fetch(`/playground/words/${code}.json`);
    return answer.ok ? await answer.json() : {};
  } catch { return {}; } // English is better than no page
}

/** Speak another language from now on: the page is loaded anew, its address says what it shows. */
export function setLanguage(code) {
  try { localStorage.setItem(KEPT, code); } catch { /* cannot be kept */ }
  location.reload();
}

const fill = (text, values) => text.replace(/\{(\w+)\}/g, (all, name) => values[name] ?? all);

/** Return a text in the reader's language, with values for its {names}. */
export function t(text, values = {}) {
  const found = words[text];
  return fill(typeof found === "string" ? found : text, values);
}

/** Return the form of a text that fits a number, which stands in it as {n}. */
export function tn(n, one, many, values = {}) {
  const isOne = plural.select(n) === "one";
  const forms = words[one];
  const text = Array.isArray(forms) ? forms[isOne ? 0 : 1] : isOne ? one : many;
  return fill(text, { n: number(n), ...values });
}

/** Write a number as the reader's language does. */
export const number = (value, digits = 0) => value.toLocaleString(language, { minimumFractionDigits: digits, maximumFractionDigits: digits });
