// The panel on a phone: a sheet that is dragged by its handle, and stays low, at half height, or full.

import { h } from "./ui.js";
import { t } from "./words.js";

const STEPS = ["low", "half", "full"];
const LOW_PX = 104;
/** Pixels that a finger may move in a tap. */
const TAP_PX = 6;

const stepOf = (panel) => STEPS.find((step) => panel.classList.contains(step)) ?? "half";

/** Let the panel stay at a step. */
export function setStep(panel, step) {
  panel.classList.remove(...STEPS);
  if (step !== "half") panel.classList.add(step);
  panel.style.height = panel.style.maxHeight = "";
  panel.querySelector(".handle")?.setAttribute("aria-label", step === "low" ? t("Show more of the panel") : t("Show less of the panel"));
}

/** Return the handle of a panel: dragged, tapped, or moved by arrow keys. */
export function makeHandle(panel) {
  const handle = h("button.handle", { type: "button", "aria-label": t("Show less of the panel") });
  const room = () => panel.parentElement.clientHeight;
  const heights = () => ({ low: LOW_PX, half: room() * 0.54, full: room() - 130 });
  let drag = null;
  handle.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    drag = { y: event.clientY, height: panel.clientHeight, moved: 0 };
    handle.setPointerCapture(event.pointerId);
  });
  handle.addEventListener("pointermove", (event) => {
    if (!drag) return;
    const up = drag.y - event.clientY;
    drag.moved = Math.max(drag.moved, Math.abs(up));
    if (drag.moved < TAP_PX) return;
    const height = Math.min(heights().full, Math.max(LOW_PX, drag.height + up));
    panel.style.height = panel.style.maxHeight = `${height}px`;
  });
  const drop = () => {
    if (!drag) return;
    const { moved } = drag;
    drag = null;
    if (moved < TAP_PX) return;
    const at = panel.clientHeight, all = heights();
    setStep(panel, STEPS.reduce((best, step) => (Math.abs(all[step] - at) < Math.abs(all[best] - at) ? step : best)));
    handle.dataset.dragged = "yes"; // the click that follows is none
  };
  handle.addEventListener("pointerup", drop);
  handle.addEventListener("pointercancel", drop);
  handle.addEventListener("click", () => {
    if (handle.dataset.dragged) { delete handle.dataset.dragged; return; }
    setStep(panel, stepOf(panel) === "low" ? "half" : "low");
  });
  handle.addEventListener("keydown", (event) => {
    const move = { ArrowUp: 1, ArrowDown: -1 }[event.key];
    if (!move) return;
    event.preventDefault();
    setStep(panel, STEPS[Math.min(2, Math.max(0, STEPS.indexOf(stepOf(panel)) + move))]);
  });
  return handle;
}
