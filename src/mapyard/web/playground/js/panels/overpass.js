// Overpass QL; {{bbox}} becomes what is in view.

import { post } from "../api.js";
import { completeOverpass, overpass } from "../editor/languages.js";
import { queryTool } from "./query.js";
import { t } from "../words.js";

/** Put quotes around what is no plain word. */
const quote = (text) => (/^[A-Za-z_]\w*$/.test(text) ? text : JSON.stringify(text));

export default queryTool({
  id: "overpass", name: "Overpass", title: "Overpass QL", icon: "overpass",
  paths: ["/api/v1/overpass"],
  hint: t("Write a query; {{bbox}} stands for the part of the map in view."),
  // XML comes from the original's own address; all else is answered as GeoJSON, CSV or counts.
  makeCall: (data) => (/\[\s*out\s*:\s*xml/.test(data) ? post("/api/interpreter", { data }) : post("/api/v1/overpass", { data, limit: 1000 })),
  language: overpass,
  complete: completeOverpass,
  wizard: (key, value) => `[out:json][timeout:25];\nnwr${value === "*" ? `[${quote(key)}]` : `[${quote(key)}=${quote(value)}]`}({{bbox}});\nout center;\n`,
  examples: [
    [t("Cafés in view"), '[out:json][timeout:25];\nnwr[amenity=cafe]({{bbox}});\nout center;'],
    [t("Bus stops near bakeries"), '[out:json];\nnwr[shop=bakery]({{bbox}});\nnode[highway=bus_stop](around:150);\nout;'],
    [t("Buildings with three or more levels"), '[out:json];\nway[building]["building:levels"]({{bbox}})\n  (if: number(t["building:levels"]) >= 3);\nout geom;'],
    [t("Streets without a surface"), '[out:json];\nway[highway~"^(residential|tertiary|secondary)$"][!surface]({{bbox}});\nout geom;'],
    [t("Bus routes with their ways"), '[out:json];\nrelation[route=bus]({{bbox}});\nout geom;'],
    [t("Drinking water and toilets"), '[out:json];\n(\n  nwr[amenity=drinking_water]({{bbox}});\n  nwr[amenity=toilets]({{bbox}});\n);\nout center;'],
    [t("Colors by MapCSS"), '[out:json];\nnwr[amenity~"^(cafe|bar|restaurant)$"]({{bbox}});\nout center;\n{{style:\n  node[amenity=cafe] { color: #b4561c; text: name; }\n  node[amenity=restaurant] { color: #2f6fb3; }\n  node[amenity=bar] { color: #8a4fa3; }\n}}'],
    [t("A table (CSV)"), '[out:csv(name, amenity, ::lat, ::lon; true; ",")];\nnwr[amenity=restaurant]({{bbox}});\nout center;'],
    [t("Only the count"), '[out:json];\nway[building]({{bbox}});\nout count;'],
  ],
});
