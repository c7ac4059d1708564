// PlazaQL; {{bbox}} becomes what is in view.

import { post } from "../api.js";
import { completePlazaql, plazaql } from "../editor/languages.js";
import { queryTool } from "./query.js";
import { t } from "../words.js";

export default queryTool({
  id: "plazaql", name: "PlazaQL", title: "PlazaQL", icon: "plazaql",
  paths: ["/api/v1/query"], hasPlan: false,
  hint: t("Chain what you search, where, and what is wanted of it; {{bbox}} stands for the part of the map in view."),
  language: plazaql,
  complete: completePlazaql,
  wizard: (key, value) => `search(${/^[A-Za-z_]\w*$/.test(key) ? key : JSON.stringify(key)}: ${value === "*" ? "*" : JSON.stringify(value)})\n  .bbox({{bbox}});\n`,
  makeCall: (data) => post("/api/v1/query", { data, limit: 1000 }),
  examples: [
    [t("Cafés in view"), 'search(amenity: "cafe")\n  .bbox({{bbox}})\n  .sort(t["name"]);'],
    [t("Pharmacies near bus stops"), '$stops = search(node, highway: "bus_stop").bbox({{bbox}});\nsearch(amenity: "pharmacy").around(150, $stops);'],
    [t("Streets by their length"), 'search(way, highway: *)\n  .bbox({{bbox}})\n  .group_by(t["highway"])\n  .sum(length());'],
    [t("Largest parks"), 'search(leisure: "park")\n  .bbox({{bbox}})\n  .sort(area(), order: :desc)\n  .limit(5)\n  .area();'],
    [t("Named shops without opening hours"), 'search(node, shop: *, name: *, opening_hours: !*)\n  .bbox({{bbox}});'],
    [t("Your own dataset"), '// dataset("…") takes the slug of a dataset of yours\nsearch(dataset("my-shops")).limit(100);'],
  ],
});
