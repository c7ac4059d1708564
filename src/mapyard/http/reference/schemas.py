"""JSON schemas of answers, by name: what endpoints name as their `schema`."""

from __future__ import annotations

from typing import Any, Final

Schema = dict[str, Any]


def ref(name: str) -> Schema:
    """Return a reference to a schema of this module."""
    return {"$ref": f"#/components/schemas/{name}"}


def _object(required: list[str], **properties: Any) -> Schema:
    return {"type": "object", "required": required, "properties": properties}


def _array(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _open(**properties: Schema) -> Schema:
    """Return an object that has further members, such as tags."""
    return {"type": "object", "properties": properties, "additionalProperties": True}


def _feature(geometry: Schema, properties: Schema, **members: Schema) -> Schema:
    return _object(
        ["type", "geometry", "properties"],
        type={"const": "Feature"},
        geometry=geometry,
        properties=properties,
        **members,
    )


_TEXT: Final = {"type": "string"}
_NUMBER: Final = {"type": "number"}
_BOOLEAN: Final = {"type": "boolean"}
_METERS: Final = {"type": "number", "description": "meters"}
_SECONDS: Final = {"type": "number", "description": "seconds"}
_INTEGER: Final = {"type": "integer"}
_FREE: Final = {"type": "object", "additionalProperties": True}
_MATRIX: Final = _array(_array({"type": ["number", "null"]}))
_NUMBERS: Final = _array(_NUMBER)
_INTEGERS: Final = _array(_INTEGER)
_TEXTS: Final = _array(_TEXT)
_OR_NONE: Final = {"type": "null"}
_MAYBE_INTEGER: Final = {"type": ["integer", "null"]}
_MAYBE_TEXT: Final = {"type": ["string", "null"]}
_MAYBE_METERS: Final = {"type": ["number", "null"], "description": "meters"}
_MAYBE_SECONDS: Final = {"type": ["number", "null"], "description": "seconds"}
_LNG_LAT: Final = {**_NUMBERS, "minItems": 2, "maxItems": 3, "description": "[lng, lat]"}
_BOX: Final = {**_NUMBERS, "minItems": 4, "maxItems": 4, "description": "west, south, east, north"}
_MAYBE_GEOMETRY: Final = {"oneOf": [ref("GeoJsonGeometry"), _OR_NONE]}


def _collection(feature: str, **members: Schema) -> Schema:
    return _object(
        ["type", "features"],
        type={"const": "FeatureCollection"},
        features=_array(ref(feature)),
        attribution=_TEXT,
        **members,
    )


SCHEMAS: Final[dict[str, Schema]] = {
    "Error": _object(["error"], error=ref("ErrorBody")),
    "ErrorBody": _object(
        ["code", "message"], code=_TEXT, message=_TEXT,
        details={"type": "object", "additionalProperties": True},
    ),
    "Version": _object(
        ["version", "dataset"],
        version=_TEXT,
        dataset=_TEXT,
        timestamp={"type": ["string", "null"], "format": "date-time"},
        bbox={"type": ["array", "null"], "items": _NUMBER},
        parts={
            "type": "object",
            "additionalProperties": {"type": ["string", "null"], "format": "date-time"},
        },
    ),
    "Status": _object(["status"], status=_TEXT),
    "GeoJsonGeometry": _object(
        ["type", "coordinates"],
        type={
            "enum": [
                "Point", "LineString", "Polygon", "MultiPoint", "MultiLineString", "MultiPolygon"
            ]
        },
        coordinates={
            "type": "array", "items": {}, "description": "[lng, lat], nested as the type asks",
        },
    ),
    "Point": _object(["type", "coordinates"], type={"const": "Point"}, coordinates=_LNG_LAT),
    "LatLng": _object(
        ["lat", "lng"],
        lat={"type": "number", "minimum": -90, "maximum": 90},
        lng={"type": "number", "minimum": -180, "maximum": 180},
    ),
    "GeoJsonFeature": _feature(
        _MAYBE_GEOMETRY,
        _FREE,
        id={"type": "string", "description": "<type>/<osm_id>"},
        osm_id=_INTEGER,
        bbox=_BOX,
    ),
    "FeatureCollection": _collection(
        "GeoJsonFeature",
        pagination={**_FREE, "description": "for client libraries; else see the headers"},
        missing={**_TEXTS, "description": "of a batch: elements that do not exist"},
        timestamp={"type": "string", "description": "of a query: time of the data"},
    ),
    "FeatureOrCollection": {"oneOf": [ref("GeoJsonFeature"), ref("FeatureCollection")]},
    "SparqlResult": _collection("GeoJsonFeature"),
    "SparqlJson": _object(
        ["head"],
        head=_object([], vars=_TEXTS),
        results=_object(["bindings"], bindings=_array(ref("SparqlBinding"))),
        boolean=_BOOLEAN,
    ),
    "SparqlBinding": {"type": "object", "additionalProperties": ref("SparqlTerm")},
    "SparqlTerm": _object(
        ["type", "value"],
        **{"type": {"enum": ["uri", "literal", "bnode"]}, "value": _TEXT, "datatype": _TEXT,
           "xml:lang": _TEXT},
    ),
    "OverpassJson": _object(
        ["version", "elements"],
        version=_NUMBER,
        generator=_TEXT,
        osm3s=_object(
            ["timestamp_osm_base", "copyright"], timestamp_osm_base=_TEXT,
            timestamp_areas_base=_TEXT, copyright=_TEXT,
        ),
        elements=_array(ref("OverpassElement")),
        remark=_TEXT,
    ),
    "OverpassElement": {
        **_open(
            type=_TEXT, id=_INTEGER, lat=_NUMBER, lon=_NUMBER, nodes=_INTEGERS,
            members=_array(ref("OverpassMember")),
            tags={"type": "object", "additionalProperties": {}},
        ),
        "required": ["type"],
    },
    "OverpassMember": {
        **_open(type=_TEXT, ref=_INTEGER, role=_TEXT), "required": ["type", "ref", "role"],
    },
    "GeocodingProperties": _open(
        display_name=_TEXT, label=_TEXT, name=_MAYBE_TEXT, house_number=_MAYBE_TEXT,
        street=_MAYBE_TEXT, suburb=_MAYBE_TEXT, city=_MAYBE_TEXT, county=_MAYBE_TEXT,
        state=_MAYBE_TEXT, postcode=_MAYBE_TEXT, country=_MAYBE_TEXT,
        country_code={"type": ["string", "null"], "description": "ISO 3166-1 alpha-2"},
        iso3166_2=_MAYBE_TEXT, category=_MAYBE_TEXT, subcategory=_MAYBE_TEXT,
        full_address=_MAYBE_TEXT, distance_m=_METERS,
        osm_id={"type": ["integer", "null"]},
        osm_type={"enum": ["node", "way", "relation", None]},
        score=_NUMBER, confidence=_NUMBER, interpolated=_BOOLEAN,
        source={"enum": ["address", "place", "interpolation"]}, match=ref("GeocodingMatch"),
    ),
    "GeocodingMatch": _open(matched=_array(_FREE), unmatched=_TEXTS),
    "GeocodingFeature": _feature(
        ref("GeoJsonGeometry"), ref("GeocodingProperties"), id=_TEXT, bbox=_BOX
    ),
    "GeocodeResult": _collection("GeocodingFeature"),
    "ReverseGeocodeResult": _collection("GeocodingFeature"),
    "AutocompleteResult": _collection("GeocodingFeature"),
    "BatchGeocodeRow": _open(
        type={"const": "FeatureCollection"}, features=_array(ref("GeocodingFeature")),
        error=ref("ErrorBody"),
    ),
    "BatchGeocodeResult": _object(
        ["count", "results"], count=_INTEGER, results=_array(ref("BatchGeocodeRow")),
        attribution=_TEXT,
    ),
    "RouteLeg": _object(["distance_m", "duration_s"], distance_m=_METERS, duration_s=_SECONDS),
    "RouteStep": {
        **_open(
            instruction=_TEXT, maneuver=_TEXT, name=_MAYBE_TEXT, distance_m=_METERS,
            duration_s=_SECONDS, leg=_INTEGER, geometry_index=_INTEGERS,
            bearing_after={"type": ["integer", "null"]}, roundabout_exit=_INTEGER,
            toll=_BOOLEAN, ferry=_BOOLEAN,
        ),
        "required": ["instruction", "maneuver", "distance_m", "duration_s", "geometry_index"],
    },
    "RouteWaypoint": _object(
        ["location", "distance_m"], location=_LNG_LAT, distance_m=_METERS, name=_MAYBE_TEXT
    ),
    "RouteProperties": {
        **_open(
            distance=_METERS, distance_m=_METERS, duration=_SECONDS, duration_s=_SECONDS,
            mode=_TEXT, waypoints=_array(ref("RouteWaypoint")), legs=_array(ref("RouteLeg")),
            steps=_array(ref("RouteStep")), toll=_BOOLEAN, ferry=_BOOLEAN, motorway=_BOOLEAN,
            assumed_time=_TEXT, polyline=_TEXT,
            annotations={**_FREE, "description": "figures per edge"}, edges=_array(_FREE),
            elevation={**_FREE, "description": "of the whole line"},
        ),
        "required": ["distance_m", "duration_s", "mode", "legs"],
    },
    "Route": _feature(_MAYBE_GEOMETRY, ref("RouteProperties")),
    "RouteCollection": _collection("Route"),
    "RouteResult": {"oneOf": [ref("Route"), ref("RouteCollection")]},
    "NearestProperties": _open(
        distance_m=_METERS, edge_id=_INTEGER, edge_length_m=_NUMBER, highway=_MAYBE_TEXT,
        name=_MAYBE_TEXT, surface=_MAYBE_TEXT, osm_way_id=_INTEGER,
    ),
    "NearestRoad": _feature(_MAYBE_GEOMETRY, ref("NearestProperties")),
    "NearestRoads": _collection("NearestRoad"),
    "NearestResult": {"oneOf": [ref("NearestRoad"), ref("NearestRoads")]},
    "IsochroneProperties": _open(
        time_seconds=_SECONDS, distance_meters=_METERS, mode=_TEXT, area_m2=_NUMBER,
        assumed_time=_TEXT,
    ),
    "Isochrone": _feature(_MAYBE_GEOMETRY, ref("IsochroneProperties")),
    "Isochrones": _collection("Isochrone"),
    "IsochroneResult": {"oneOf": [ref("Isochrone"), ref("Isochrones")]},
    "TagCount": _object(
        ["key", "count"], key=_TEXT, value=_TEXT, count=_INTEGER, history=_array(ref("TagDay"))
    ),
    "TagDay": _object(["date", "count"], date=_TEXT, count=_INTEGER),
    "TagCounts": _object(
        ["total", "tags"], total=_INTEGER, elements=_INTEGER, tags=_array(ref("TagCount")),
        history=_array(ref("TagDay")),
    ),
    "MatrixResult": _object(
        ["distances", "durations"], distances=_MATRIX, durations=_MATRIX, mode=_TEXT,
        filled=_array(_INTEGERS),
    ),
    "MatchedLeg": _object(
        ["matched", "distance", "duration", "way_ids", "names"],
        matched=_BOOLEAN, distance=_MAYBE_METERS, duration=_MAYBE_SECONDS, way_ids=_INTEGERS,
        names=_TEXTS,
    ),
    "Matching": _open(
        confidence=_NUMBER, distance_m=_METERS, duration_s=_SECONDS, way_ids=_INTEGERS
    ),
    "MatchProperties": _open(
        confidence=_NUMBER, distance_m=_METERS, duration_s=_SECONDS, mode=_TEXT,
        matched_points=_INTEGER, matchings=_array(ref("Matching")),
    ),
    "MatchedTrace": _feature(
        ref("GeoJsonGeometry"), ref("MatchProperties"), legs=_array(ref("MatchedLeg"))
    ),
    "MatchedPoints": _collection(
        "GeoJsonFeature", matchings=_array(ref("Matching")), confidence=_NUMBER
    ),
    "MapMatchResult": {"oneOf": [ref("MatchedTrace"), ref("MatchedPoints")]},
    "Tour": _collection(
        "GeoJsonFeature", status=_TEXT, optimization=_TEXT, roundtrip=_BOOLEAN,
        total_cost_s=_SECONDS, distance_m=_METERS, duration_s=_SECONDS,
        waypoint_order=_INTEGERS, route=ref("GeoJsonFeature"),
    ),
    "Job": {
        **_open(job_id=_TEXT, status=_TEXT, state=_TEXT, result=_FREE),
        "required": ["job_id", "status"],
    },
    "JobCancelled": _object(["job_id", "cancelled"], job_id=_TEXT, cancelled=_BOOLEAN),
    "Dataset": _object(
        ["id", "name", "slug", "scope", "status", "inserted_at", "updated_at"],
        id=_TEXT,
        name=_TEXT,
        slug=_TEXT,
        scope={"enum": ["plaza", "user"], "description": "the map, or an account's own"},
        status={"enum": ["pending", "processing", "ready", "error"]},
        error_message=_MAYBE_TEXT,
        description=_MAYBE_TEXT,
        attribution=_MAYBE_TEXT,
        license=_MAYBE_TEXT,
        source_url=_MAYBE_TEXT,
        source_format=_MAYBE_TEXT,
        strict_mode=_BOOLEAN,
        is_public=_BOOLEAN,
        feature_count=_MAYBE_INTEGER,
        address_count=_MAYBE_INTEGER,
        edge_count=_MAYBE_INTEGER,
        storage_bytes=_MAYBE_INTEGER,
        bbox={"oneOf": [_BOX, _OR_NONE]},
        schema_definition={
            "type": ["object", "null"],
            "additionalProperties": _object(["type", "count"], type=_TEXT, count=_INTEGER),
            "description": "per property its type, and how many rows have it",
        },
        problem_count=_MAYBE_INTEGER,
        problems=_array(_object(["row", "message"], row=_INTEGER, message=_TEXT)),
        inserted_at={"type": "string", "format": "date-time"},
        updated_at={"type": "string", "format": "date-time"},
    ),
    "Datasets": _object(["datasets"], datasets=_array(ref("Dataset"))),
    "DatasetProblems": _object(
        ["problem_count", "problems"],
        problem_count=_MAYBE_INTEGER,
        problems=_array(_object(["row", "message"], row=_INTEGER, message=_TEXT)),
    ),
    "OptimizeResult": {"oneOf": [ref("Tour"), ref("Job"), ref("TourPlan")]},
    "TourStep": {
        **_open(
            type=_TEXT, id=_INTEGER, location=_LNG_LAT, arrival=_INTEGER, duration=_INTEGER,
            service=_INTEGER, waiting_time=_INTEGER, distance=_INTEGER, load=_INTEGERS,
        ),
        "required": ["type", "arrival"],
    },
    "TourRoute": {
        **_open(
            vehicle=_INTEGER, cost=_INTEGER, duration=_INTEGER, distance=_INTEGER,
            geometry=_TEXT, steps=_array(ref("TourStep")),
        ),
        "required": ["vehicle", "steps"],
    },
    "TourPlan": {
        **_open(
            code=_INTEGER, summary=_FREE, routes=_array(ref("TourRoute")),
            unassigned=_array(_FREE),
        ),
        "required": ["code", "summary", "routes", "unassigned"],
    },
    "ElevationProperties": _open(
        elevation_m=_MAYBE_METERS, min_elevation_m=_METERS, max_elevation_m=_METERS,
        avg_elevation_m=_METERS, total_ascent_m=_METERS, total_descent_m=_METERS,
        distance_m=_METERS, distances_m=_NUMBERS,
        elevations_m=_array({"type": ["number", "null"]}), source=_TEXTS, resolution_m=_METERS,
        datum=_TEXT,
    ),
    "Elevation": _feature(_MAYBE_GEOMETRY, ref("ElevationProperties")),
    "Elevations": _collection("Elevation"),
    "ElevationResult": {"oneOf": [ref("Elevation"), ref("Elevations")]},
    "TileJSON": _object(
        ["tilejson", "tiles"], tilejson=_TEXT, tiles=_TEXTS, vector_layers=_array(_FREE),
        bounds=_NUMBERS, minzoom=_INTEGER, maxzoom=_INTEGER, attribution=_TEXT,
    ),
    "Object": _FREE,
}  # fmt: skip
