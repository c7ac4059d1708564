// Read the track of a GPX file in the browser.

import { t } from "./words.js";

/** Return [[lng, lat], …] of all track, route or way points; throws with a reason. */
export function readGpx(text) {
  const xml = new DOMParser().parseFromString(text, "application/xml");
  if (xml.querySelector("parsererror")) throw new Error(t("this file is no XML"));
  for (const tag of ["trkpt", "rtept", "wpt"]) {
    const points = [...xml.getElementsByTagNameNS("*", tag)]
      .map((p) => [Number(p.getAttribute("lon")), Number(p.getAttribute("lat"))])
      .filter(([lng, lat]) => Math.abs(lng) <= 180 && Math.abs(lat) <= 90);
    if (points.length > 1) return points;
  }
  throw new Error(t("this GPX file has no track of two points"));
}
