// The menu of a right click, or a long press, on the map.

import { formatPoint, h, toast } from "./ui.js";
import { t } from "./words.js";

let shown = null;

/** Show entries [text, call] at a pixel of the page; a click elsewhere, or Escape, closes it. */
export function showMenu({ x, y }, entries) {
  hideMenu();
  const buttons = entries.map(([text, call]) => h("button", { type: "button", role: "menuitem", onclick: () => { hideMenu(); call(); } }, text));
  shown = h("div.menu", { role: "menu", "aria-label": t("At this place"), onkeydown: (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") { event.preventDefault(); event.stopPropagation(); hideMenu(); } else if (step) {
      event.preventDefault();
      buttons[(buttons.indexOf(document.activeElement) + step + buttons.length) % buttons.length].focus();
    }
  } }, buttons);
  document.body.append(shown);
  const box = shown.getBoundingClientRect();
  shown.style.left = `${Math.max(8, Math.min(x, innerWidth - box.width - 8))}px`;
  shown.style.top = `${Math.max(8, Math.min(y, innerHeight - box.height - 8))}px`;
  buttons[0].focus();
  addEventListener("pointerdown", onOutside, true);
}

export function hideMenu() {
  shown?.remove();
  shown = null;
  removeEventListener("pointerdown", onOutside, true);
}

function onOutside(event) { if (shown && !shown.contains(event.target)) hideMenu(); }

/** What can be done at a place, with the tools that this server has. */
export function entriesFor(point, page) {
  const tool = (id) => page.tools.find((one) => one.id === id);
  const route = tool("route"), reach = tool("isochrone"), search = tool("search");
  const withRoute = (call) => { if (page.current !== route) page.open(route); call(route.points); };
  return [
    ...(route ? [
      [t("Route from here"), () => withRoute((points) => points.set(0, point))],
      ...(page.current === route && route.points.isComplete ? [[t("Via here"), () => route.addVia(point)]] : []),
      [t("Route to here"), () => withRoute((points) => points.set(Math.max(1, points.points.length - 1), point))]] : []),
    ...(search ? [[t("What is here?"), () => { if (page.current !== search) page.open(search); search.click(point, page); }]] : []),
    ...(reach ? [[t("Reach from here"), () => { if (page.current !== reach) page.open(reach); reach.points.set(0, point); }]] : []),
    [t("Copy coordinates"), () => navigator.clipboard?.writeText(formatPoint(point)).then(() => toast(t("Copied {text}", { text: formatPoint(point) })), () => toast(t("The browser did not allow copying")))],
  ];
}
