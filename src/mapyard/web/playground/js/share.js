// Share what is shown: a link, a snippet for another page, a picture.

import { saveFile } from "./download.js";
import { h, iconButton, toast } from "./ui.js";
import { t } from "./words.js";

const copy = (text) => navigator.clipboard?.writeText(text).then(() => toast(t("Copied")), () => toast(t("The browser did not allow copying")));

/** Open the dialog of sharing. */
export async function shareDialog(page) {
  page.remember({ replace: true });
  await page.written;
  const link = h("input", { type: "text", readOnly: true, value: location.href, "aria-label": t("Link"), onfocus: () => link.select() });
  const snippet = h("textarea.editor", { readOnly: true, rows: 8, value: embed(page), "aria-label": t("Snippet for a page of yours"), spellcheck: false });
  const dialog = h("dialog.share", { "aria-label": t("Share"), onclose: () => dialog.remove(), onclick: (event) => { if (event.target === dialog) dialog.close(); } },
    h("div.row.spread", {}, h("h2", {}, t("Share")), iconButton("close", t("Close"), () => dialog.close())),
    h("div.field", {}, h("span.field-label", {}, t("Link to what you see")), h("div.row", {}, link, h("button.small", { type: "button", onclick: () => copy(link.value) }, t("Copy")))),
    h("div.field", {}, h("span.field-label", {}, t("Map in a page of yours")), snippet,
      h("small", {}, t("Your backend begins a map session with your key and gives its token to the page, so that the key stays with you."), " ", h("a", { href: "/docs/tiles" }, t("How to do it"))),
      h("div.row", {}, h("button.small", { type: "button", onclick: () => copy(snippet.value) }, t("Copy")))),
    h("div.field", {}, h("span.field-label", {}, t("Picture of the map")), h("div.row", {}, h("button.small", { type: "button", onclick: async () => saveFile("map.png", await page.map.picture()) }, t("Save as PNG"))),
      h("small", {}, t("Name the source where you show it: © OpenStreetMap contributors."))));
  document.body.append(dialog);
  dialog.showModal();
}

function embed(page) {
  const [lng, lat] = page.map.center;
  return `<link rel="stylesheet" href="${location.origin}/playground/vendor/maplibre-gl.css">
<div id="map" style="height: 400px"></div>
<script type="module">
  import * as maplibregl from "${location.origin}/playground/vendor/maplibre-gl.mjs";
  // Your backend: POST ${location.origin}/api/v1/tiles/session with your key; answer with its token.
  const { token } = await (await fetch("/map-session")).json();
  new maplibregl.Map({
    container: "map",
    style: "${location.origin}/api/v1/tiles/style.json?session=" + token,
    center: [${lng.toFixed(5)}, ${lat.toFixed(5)}],
    zoom: ${page.map.map.getZoom().toFixed(1)},
  });
</script>`;
}
