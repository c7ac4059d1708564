// Overpass QL; {{bbox}} becomes what is in view.

import { post } from "../api.js";
import { queryTool } from "./query.js";

export default queryTool({
  id: "overpass", name: "Overpass", title: "Overpass QL", icon: "overpass",
  paths: ["/api/v1/overpass"],
  hint: "Write a query; {{bbox}} stands for the part of the map in view.",
  makeCall: (text, view) => post("/api/v1/overpass", { data: text.replaceAll("{{bbox}}", view.join(",")), limit: 1000 }),
  examples: [
    ["Cafés in view", '[out:json][timeout:25];\nnwr[amenity=cafe]({{bbox}});\nout center;'],
    ["Bus stops near bakeries", '[out:json];\nnwr[shop=bakery]({{bbox}});\nnode[highway=bus_stop](around:150);\nout;'],
    ["Buildings with three or more levels", '[out:json];\nway[building]["building:levels"]({{bbox}})\n  (if: number(t["building:levels"]) >= 3);\nout geom;'],
    ["Streets without a surface", '[out:json];\nway[highway~"^(residential|tertiary|secondary)$"][!surface]({{bbox}});\nout geom;'],
    ["Bus routes with their ways", '[out:json];\nrelation[route=bus]({{bbox}});\nout geom;'],
    ["Drinking water and toilets", '[out:json];\n(\n  nwr[amenity=drinking_water]({{bbox}});\n  nwr[amenity=toilets]({{bbox}});\n);\nout center;'],
  ],
});
