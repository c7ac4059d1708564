"""JSON schemas of answers, by name: what endpoints name as their `schema`."""

from __future__ import annotations

from typing import Any, Final

Schema = dict[str, Any]


def ref(name: str) -> Schema:
    """Return a reference to a schema of this module."""
    return {"$ref": f"#/components/schemas/{name}"}


def _object(required: list[str], **properties: Schema) -> Schema:
    return {"type": "object", "required": required, "properties": properties}


def _array(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _feature(geometry: Schema, properties: Schema, **members: Schema) -> Schema:
    return _object(
        ["type", "geometry", "properties"],
        type={"const": "Feature"},
        geometry=geometry,
        properties=properties,
        **members,
    )


def _collection(feature: str, **members: Schema) -> Schema:
    return _object(
        ["type", "features"],
        type={"const": "FeatureCollection"},
        features=_array(ref(feature)),
        attribution={"type": "string"},
        **members,
    )


_TEXT: Final = {"type": "string"}
_NUMBER: Final = {"type": "number"}
_METERS: Final = {"type": "number", "description": "meters"}
_SECONDS: Final = {"type": "number", "description": "seconds"}
_INTEGER: Final = {"type": "integer"}
_FREE: Final = {"type": "object", "additionalProperties": True}
_MATRIX: Final = _array(_array({"type": ["number", "null"]}))

SCHEMAS: Final[dict[str, Schema]] = {
    "Error": _object(
        ["error"],
        error=_object(
            ["code", "message"],
            code=_TEXT,
            message=_TEXT,
            details={"type": "object", "additionalProperties": True},
        ),
    ),
    "Version": _object(
        ["version", "dataset"],
        version=_TEXT,
        dataset=_TEXT,
        timestamp={"type": ["string", "null"], "format": "date-time"},
        bbox={"type": ["array", "null"], "items": _NUMBER},
    ),
    "Status": _object(["status"], status=_TEXT),
    "GeoJsonGeometry": _object(
        ["type", "coordinates"],
        type={
            "enum": [
                "Point", "LineString", "Polygon", "MultiPoint", "MultiLineString", "MultiPolygon"
            ]
        },
        coordinates={"type": "array", "description": "[lng, lat], nested as the type asks"},
    ),
    "GeoJsonFeature": _feature(
        {"oneOf": [ref("GeoJsonGeometry"), {"type": "null"}]},
        _FREE,
        id={"type": "string", "description": "<type>/<osm_id>"},
        osm_id=_INTEGER,
    ),
    "FeatureCollection": _collection(
        "GeoJsonFeature",
        pagination={"type": "object", "description": "for client libraries; else see the headers"},
        missing={"type": "array", "description": "of a batch: elements that do not exist"},
    ),
    "SparqlResult": _collection("GeoJsonFeature"),
    "GeocodingFeature": _feature(
        ref("GeoJsonGeometry"),
        {
            "type": "object",
            "properties": {
                "display_name": _TEXT,
                "country_code": {"type": "string", "description": "ISO 3166-1 alpha-2"},
                "distance_m": _METERS,
                "osm_id": {"type": ["integer", "null"]},
                "osm_type": {"enum": ["node", "way", "relation", None]},
                "score": _NUMBER,
                "source": {"enum": ["address", "place", "interpolation"]},
            },
            "additionalProperties": True,
        },
    ),
    "GeocodeResult": _collection("GeocodingFeature"),
    "ReverseGeocodeResult": _collection("GeocodingFeature"),
    "AutocompleteResult": _collection("GeocodingFeature"),
    "BatchGeocodeResult": _object(
        ["count", "results"], count=_INTEGER, results=_array(ref("GeocodeResult"))
    ),
    "RouteResult": _feature(
        ref("GeoJsonGeometry"),
        {
            "type": "object",
            "properties": {
                "distance": _METERS,
                "distance_m": _METERS,
                "duration": _SECONDS,
                "duration_s": _SECONDS,
                "mode": {"enum": ["auto", "foot", "bicycle"]},
            },
            "additionalProperties": True,
        },
    ),
    "NearestResult": _feature(
        ref("GeoJsonGeometry"),
        {
            "type": "object",
            "properties": {"distance_m": _METERS, "edge_id": _INTEGER},
            "additionalProperties": True,
        },
    ),
    "IsochroneResult": {"oneOf": [ref("GeoJsonFeature"), ref("FeatureCollection")]},
    "TagCounts": _object(
        ["total", "tags"],
        total=_INTEGER,
        tags=_array(_object(["key", "count"], key=_TEXT, value=_TEXT, count=_INTEGER)),
    ),
    "MatrixResult": _object(["distances", "durations"], distances=_MATRIX, durations=_MATRIX),
    "MapMatchResult": {
        "oneOf": [
            _feature(ref("GeoJsonGeometry"), _FREE, legs=_array(_FREE)),
            _collection("GeoJsonFeature", matchings=_array(_FREE)),
        ]
    },
    "OptimizeResult": {
        "oneOf": [
            _collection(
                "GeoJsonFeature", optimization=_TEXT, roundtrip={"type": "boolean"},
                total_cost_s=_SECONDS, waypoint_order=_array(_INTEGER), route=ref("GeoJsonFeature"),
            ),
            _object(["job_id", "status"], job_id=_TEXT, status=_TEXT),
        ]
    },
    "ElevationResult": {"oneOf": [ref("GeoJsonFeature"), ref("FeatureCollection")]},
    "TileJSON": _object(
        ["tilejson", "tiles"], tilejson=_TEXT, tiles=_array(_TEXT), vector_layers=_array(_FREE)
    ),
    "Object": _FREE,
}  # fmt: skip
