// SPARQL over the same data.

import { post } from "../api.js";
import { completeSparql, sparql } from "../editor/languages.js";
import { queryTool } from "./query.js";
import { t } from "../words.js";

const PREFIXES = "PREFIX osm: <https://www.openstreetmap.org/>\nPREFIX osmkey: <https://www.openstreetmap.org/wiki/Key:>\nPREFIX geo: <http://www.opengis.net/ont/geosparql#>\n";

export default queryTool({
  id: "sparql", name: "SPARQL", title: "SPARQL", icon: "sparql",
  paths: ["/api/v1/sparql"],
  hint: t("Ask the elements as triples; the first geometry is drawn."),
  language: sparql,
  complete: completeSparql,
  wizard: (key, value) => `${PREFIXES}SELECT ?x ?name ?geometry WHERE {\n  ?x osmkey:${key} ${value === "*" ? "?value" : JSON.stringify(value)} ;\n     geo:hasGeometry/geo:asWKT ?geometry .\n  OPTIONAL { ?x osmkey:name ?name }\n}\nLIMIT 500\n`,
  makeCall: (query) => post("/api/v1/sparql", { query }),
  examples: [
    [t("Hotels by stars"), `${PREFIXES}SELECT ?hotel ?name ?stars ?geometry WHERE {\n  ?hotel osmkey:tourism "hotel" ;\n         osmkey:name ?name ;\n         geo:hasGeometry/geo:asWKT ?geometry .\n  OPTIONAL { ?hotel osmkey:stars ?stars }\n}\nORDER BY DESC(?stars) LIMIT 50`],
    [t("What amenities there are"), `${PREFIXES}SELECT ?amenity (COUNT(?x) AS ?count) WHERE {\n  ?x osmkey:amenity ?amenity .\n}\nGROUP BY ?amenity ORDER BY DESC(?count) LIMIT 30`],
    [t("Peaks and their height"), `${PREFIXES}SELECT ?peak ?name ?ele ?geometry WHERE {\n  ?peak osmkey:natural "peak" ;\n        osmkey:name ?name ;\n        osmkey:ele ?ele ;\n        geo:hasGeometry/geo:asWKT ?geometry .\n}\nLIMIT 100`],
  ],
});
