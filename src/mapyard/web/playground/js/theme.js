// Before anything is drawn: the theme chosen last time, else the system's.
(() => {
  let chosen = null;
  try { chosen = localStorage.getItem("mapyard-theme"); } catch { /* storage may be off */ }
  const dark = chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = dark ? "dark" : "light";
})();

// Inside the landing page only the map is shown.
if (location.search === "?embed") document.documentElement.classList.add("embed");
