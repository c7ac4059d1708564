# ruff: noqa: E501 - tables of queries
"""How often Mapyard and the original Overpass API give the same elements, on the same extracts.

.venv/bin/python bench/overpass_agreement.py --program osm3s_query DATA=DATABASE …

DATA is a data folder of Mapyard, DATABASE one of the original (`update_database --meta` of the same
extract, then its `rules/areas.osm3s`). The original is built outside of this project, from
https://github.com/drolbr/Overpass-API.
"""

from __future__ import annotations

import argparse
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from mapyard.deadline import no_deadline
from mapyard.errors import MapyardError
from mapyard.overpass.engine import run_text
from mapyard.overpass.run.budget import Budget
from mapyard.overpass.write.osmjson import write_document
from mapyard.store.reader import E7, Store, open_store

INPUTS = {
    "nodes": "node[highway]($box)->.i;",
    "ways": "way[highway]($box)->.i;",
    "relations": "rel[type]($box)->.i;",
    "relations of relations": "rel[type]($box);rel(br)->.i;",
    "mixed": "nwr[name]($box)->.i;",
    "nothing": "node[nothing]->.i;",
}
RECURSIONS = (
    ".i > ->.o;", ".i >> ->.o;", ".i < ->.o;", ".i << ->.o;",
    # Version 0.7.62 of the original reads the default set in (>.i) and (<.i).
    *(f".i->._;{kind}({direction})->.o;" for kind in ("node", "way", "rel", "nwr")
      for direction in (">", ">>", "<", "<<")),
    "node(w.i)->.o;", "node(r.i)->.o;", "way(r.i)->.o;", "rel(r.i)->.o;", "nwr(r.i)->.o;",
    "way(bn.i)->.o;", "rel(bn.i)->.o;", "rel(bw.i)->.o;", "rel(br.i)->.o;",
    'node(r.i:"stop")->.o;', 'way(r.i:"outer")->.o;', 'rel(bw.i:"outer")->.o;', "node(w.i:1,-1)->.o;",
    "way(bn.i:1)->.o;", "node(way_cnt.i:2-)->.o;", "node(way_link.i:3-)->.o;",
)  # fmt: skip
PLACES = (
    "rel($box);out ids;", 'rel[type="route_master"]($box);out ids;', "nwr[name]($box);out ids;",
    "way[building]($box);out ids;", "node($box);out ids;", "wr[type]($box);out ids;",
    "nwr(around:150,$point)[name];out ids;", "rel(around:300,$point);out ids;",
    "way[highway](around:80,$line);out ids;", "node[amenity]($box);nwr(around:30)[shop];out ids;",
    'nwr(poly:"$poly")[name];out ids;', 'rel(poly:"$poly");out ids;', 'way(poly:"$poly");out ids;',
    'area[name="$area"]->.a;nwr(area.a)[amenity];out ids;',
    'area[name="$area"]->.a;rel(area.a)[type];out ids;',
    'area[name="$area"]->.a;way(area.a)[highway];out ids;',
    'area[name="$area"];node(area)[natural];out ids;', 'rel[name="$area"][boundary];map_to_area;'
    "node(area)[highway];out ids;", 'area[name="$area"]->.a;rel(pivot.a);out ids;',
    "[bbox:$box];(node[amenity];way[amenity];rel[amenity];);out ids;",
)  # fmt: skip
TAGS = (
    "node[amenity=restaurant];out ids;", "way[highway][!name]($box);out ids;",
    'nwr[name~"^S",i]($box);out ids;', 'nwr[~"^name"~"a$"]($box);out ids;',
    'node[amenity!~"^(bench|cafe)$"][amenity];out ids;', "way[lanes!=2][highway];out ids;",
    'nwr[name!~"e"]($box);out ids;', "nr[wikidata];out ids;", "wr[wikidata];out ids;",
    'node[name][ele](if:number(t["ele"])>450);out ids;', "way[building](if:is_closed())($box);out ids;",
    "way[highway](if:length()>300)($box);out ids;", "rel(if:count_members()>20);out ids;",
    "way(if:count_tags()>8);out ids;", 'node($box)(newer:"2023-01-01T00:00:00Z");out ids;',
    "nwr[name]($box)(if:version()>3);out ids;",
)  # fmt: skip
STATEMENTS = (
    "(node[shop]($box);-node[shop=bakery]($box););out ids;",
    "node[highway=bus_stop]($box);foreach(out count;);", "way[highway]($box);complete(1){node(w);way(bn)[highway];};out ids;",
    "way[highway=primary]($box);complete(2){node(w);way(bn)[highway];};out ids;",
    "way[highway=primary]($box);complete{node(w);way(bn)[highway=primary];};out ids;",
    "rel[type]($box);(._;>;);out count;", "rel[type]($box);(._;>>;);out count;",
    "node[amenity]($box);(._;<;);out count;", "node[amenity]($box);(._;<<;);out count;",
    'nwr[amenity]($box);for(t["amenity"]){make g k=_.val,n=count(nodes),w=count(ways);out;}',
    'node[shop]($box);make s n=count(nodes),a=set(t["shop"]);out;',
    "way[highway]($box);make s l=sum(length());out;", 'node[name]($box);convert x ::id=id(),n=t["name"];out;',
    "way[highway]($box);out ids 5;", "nwr[name]($box);out ids qt;", ".never out ids;",
    "node.never[name];out ids;", "way[highway]($box);convert x ::id=id(),n=count_members(),c=is_closed();out;",
    "rel[type]($box);convert x ::id=id(),n=count_distinct_members(),o=count_by_role(\"outer\");out;",
    "if(count(nodes)==0){node[amenity=cafe]($box);}out ids;",
    "is_in($point);out ids;", "nwr[name]($box);out count;",
    "way[highway]($box);local ll;out geom;", "way[highway]($box);local llb;out geom;",
    "way[highway]($box);local llb($box);out geom;", "nwr[highway]($box);local l;out geom;",
    "rel[type]($box);local llb;out geom;", "rel[type]($box);local l($box);out geom;",
    "(node[highway]($box);way[highway]($box);way[building]($box););local llb;out geom;",
    "way[building]($box);out ids geom;", "rel[type]($box);out ids bb;", "rel[type]($box);out ids center;",
    "way[highway]($box);out ids geom($box);", "nwr[amenity]($box);out body;", "node[amenity]($box);out meta;",
)  # fmt: skip


def iter_queries(store: Store) -> Iterator[str]:
    """Yield the queries with places of an extract filled in."""
    tagged = store.rows_with_key("highway")
    tagged = tagged[tagged < store.node_count]
    lon, lat = store.lon[tagged] / E7, store.lat[tagged] / E7
    x, y = float(np.median(lon)), float(np.median(lat))
    dx, dy = (float(np.quantile(v, 0.6) - np.quantile(v, 0.4)) / 2 for v in (lon, lat))
    fill = {
        "$box": f"{y - dy:.5f},{x - dx:.5f},{y + dy:.5f},{x + dx:.5f}",
        "$point": f"{y:.5f},{x:.5f}",
        "$line": f"{y:.5f},{x:.5f},{y + dy:.5f},{x + dx:.5f}",
        "$poly": f"{y - dy:.5f} {x - dx:.5f} {y + dy:.5f} {x - dx / 2:.5f} {y + dy / 2:.5f} {x + dx:.5f}",
        "$area": _some_area(store),
    }
    texts = [begin + step + ".o out ids;" for begin in INPUTS.values() for step in RECURSIONS]
    for text in (*PLACES, *TAGS, *STATEMENTS, *texts):
        for name, value in fill.items():
            text = text.replace(name, value)
        yield text if text.startswith("[") else "[out:json];" + text


def _some_area(store: Store) -> str:
    """Return the name of the administrative relation with the highest level, by its name."""
    rows = store.rows_with_key("admin_level")
    named = [store.tags(row) for row in rows.tolist() if row >= store.relation_start]
    fit = [t for t in named if "name" in t and t.get("boundary") == "administrative"]
    return max(fit, key=lambda t: (len(t["admin_level"]), t["admin_level"], t["name"]))["name"]


def ask_ours(store: Store, text: str) -> list[dict[str, Any]]:
    """Return our elements."""
    result = run_text(store, text)
    document = write_document(store, result.outs, "", Budget(no_deadline()))
    return orjson.loads(document)["elements"]


def ask_theirs(program: str, database: str, text: str) -> list[dict[str, Any]]:
    """Return the original's elements."""
    if "[out:json]" not in text:
        text = "[out:json]" + text
    done = subprocess.run(
        [program, f"--db-dir={database}/"], input=text.encode(), capture_output=True, check=False
    )
    body = done.stdout[done.stdout.find(b"{") :]
    try:
        answer = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise RuntimeError((done.stderr + done.stdout).decode()[-300:]) from None
    if "remark" in answer:
        raise RuntimeError(answer["remark"])
    return answer["elements"]


def key(element: dict[str, Any]) -> tuple[Any, ...]:
    """Return what has to be equal of an element."""
    own = element.get("id", 0)
    tags = element.get("tags", {})
    if element["type"] not in ("node", "way", "relation", "area"):
        own = 0 if element["type"] in ("g", "s") else own
        if element["type"] in ("vertex", "link", "trigraph"):  # numbered as they come
            chain = {"_next", "_previous"} & set(tags)
            rest = sorted((k, v) for k, v in tags.items() if k not in ("_next", "_previous"))
            return (element["type"], _outline(element.get("geometry")), *sorted(chain), *rest)
        return (element["type"], own, *sorted(_rounded(item) for item in tags.items()))
    return (element["type"], own)


def _outline(geometry: dict[str, Any] | None) -> tuple[Any, ...]:
    """Return the positions of a geometry."""
    if geometry is None:
        return ()
    return tuple(np.array(geometry["coordinates"]).round(7).ravel().tolist())


def _rounded(item: tuple[str, str]) -> tuple[str, str]:
    try:
        return item[0], f"{float(item[1]):.4g}"
    except ValueError:
        return item


def main() -> None:
    """Compare, and print what differs and how many are equal."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True, help="osm3s_query of the original")
    parser.add_argument("pairs", nargs="+", metavar="DATA=DATABASE")
    arguments = parser.parse_args()
    for pair in arguments.pairs:
        data, _, database = pair.partition("=")
        store = open_store(Path(data) / "current" / "elements")
        equal = count = failed = 0
        for text in iter_queries(store):
            count += 1
            try:
                theirs = {key(e) for e in ask_theirs(arguments.program, database, text)}
            except RuntimeError as error:
                failed += 1
                print(f"the original fails: {text}\n   {error}")
                continue
            try:
                ours = {key(e) for e in ask_ours(store, text)}
            except MapyardError as error:
                print(f"refused: {text}\n   {error.message}")
                continue
            # Closed ways are areas by themselves here: they come beside the original's.
            if ours == theirs:
                equal += 1
                continue
            more, less = ours - theirs, theirs - ours
            print(
                f"differs: {text}\n   {len(theirs)} there, {len(ours)} here; "
                f"only here {sorted(map(str, more))[:4]}, only there {sorted(map(str, less))[:4]}"
            )
        print(f"{data}: {equal} of {count - failed} equal, {failed} the original fails on")


if __name__ == "__main__":
    main()
