"""The members of other services' answers, from the documentation of each; marks as in members.py.

Nominatim docs/api/Output.md 5.1; Photon docs/api-v1.md; Pelias response.md, result_quality.md;
Valhalla docs/docs/api 3.6; openrouteservice's OpenAPI 9; VROOM docs/API.md 1.14; GraphHopper
docs/web/api-doc.md and its Directions API. None stands for any value.
"""

from __future__ import annotations

from typing import Any, Final

Schema = Any
POINT: Final = {"type": frozenset(("Point",)), "coordinates": [float]}
LINE: Final = {"type": frozenset(("LineString",)), "coordinates": [[float]]}
AREA: Final = {"type": frozenset(("Polygon", "MultiPolygon")), "coordinates": list}
SHAPE: Final = {"type": str, "coordinates": list}
#: Names and values; null where there are none.
OR_NULL: Final = (dict, type(None))
FEATURES: Final = frozenset(("FeatureCollection",))
FEATURE: Final = frozenset(("Feature",))

# -- Nominatim -----------------------------------------------------------------------------------

_NOMINATIM_PARTS: Final = {
    "address?": {"*": str}, "extratags?": OR_NULL, "namedetails?": OR_NULL,
    "entrances-": list,
}  # fmt: skip
_NOMINATIM_NAMES: Final = {
    "place_id": int, "osm_type~": frozenset(("node", "way", "relation")), "osm_id~": int,
    "display_name": str, "type": str, "importance": float, "icon-": str, "name": str,
    "addresstype": str,
}  # fmt: skip
NOMINATIM_JSON: Final = {
    **_NOMINATIM_NAMES, **_NOMINATIM_PARTS, "licence": str, "boundingbox": [str], "lat": str,
    "lon": str, "class": str, "geojson?": SHAPE, "svg?": str, "geotext?": str, "geokml?": str,
}  # fmt: skip
NOMINATIM_JSONV2: Final = {
    **{name: kind for name, kind in NOMINATIM_JSON.items() if name != "class"},
    "category": str, "place_rank": int,
}  # fmt: skip
NOMINATIM_GEOJSON: Final = {
    "type": FEATURES, "licence": str,
    "features": [{
        "type": FEATURE, "bbox": [float], "geometry": SHAPE,
        "properties": {
            **_NOMINATIM_NAMES, **_NOMINATIM_PARTS, "category": str, "place_rank": int,
        },
    }],
}  # fmt: skip
NOMINATIM_GEOCODEJSON: Final = {
    "type": FEATURES,
    "geocoding": {"version": str, "attribution": str, "licence": str, "query": str},
    "features": [{
        "type": FEATURE, "geometry": SHAPE,
        "properties": {"geocoding": {
            "place_id": int, "osm_type~": str, "osm_id~": int, "osm_key": str, "osm_value": str,
            "type": frozenset((
                "house", "street", "district", "city", "county", "state", "country", "locality",
            )),
            "label": str, "name?": str, "housenumber?": str, "street?": str, "locality~": str,
            "district?": str, "postcode?": str, "city?": str, "county~": str, "state~": str,
            "country?": str, "admin?": {"*": str}, "extra?": {"*": str}, "entrances-": list,
        }},
    }],
}  # fmt: skip
NOMINATIM_STATE: Final = {
    "status": int, "message": str, "data_updated": str, "software_version": str,
    "database_version": str,
}  # fmt: skip
#: From the answers of the original (5.3), whose documentation names none.
NOMINATIM_DETAILS: Final = {
    "place_id": int, "osm_type": frozenset("NWR"), "osm_id": int, "category": str, "type": str,
    "admin_level": int, "localname": str, "names": {"*": str}, "addresstags": {"*": str},
    "housenumber?": str, "calculated_postcode?": str, "country_code": str, "indexed_date": str,
    "importance": float, "calculated_importance": float, "extratags": {"*": str},
    "calculated_wikipedia?": str, "rank_address": int, "rank_search": int, "isarea": bool,
    "centroid": POINT, "geometry": SHAPE,
    "address?": [{
        "localname": str, "place_id": int, "osm_id": int, "osm_type": str,
        "place_type": (str, type(None)), "class": str, "type": str, "admin_level": int,
        "rank_address": int, "distance": float, "isaddress": bool,
    }],
}  # fmt: skip
#: Attributes of elements in XML.
NOMINATIM_XML: Final[dict[str, Schema]] = {
    "searchresults": {
        "timestamp": str, "attribution": str, "querystring": str, "polygon": str,
        "exclude_place_ids": str, "more_url": str,
    },
    "place": {
        "place_id": str, "osm_type": str, "osm_id": str, "ref?": str, "lat": str, "lon": str,
        "boundingbox": str, "place_rank": str, "address_rank": str, "display_name": str,
        "class": str, "type": str, "importance": str, "icon-": str,
    },
    "reversegeocode": {"timestamp": str, "attribution": str, "querystring": str},
    "result": {
        "place_id": str, "osm_type": str, "osm_id": str, "ref?": str, "lat": str, "lon": str,
        "boundingbox": str, "place_rank": str, "address_rank": str,
    },
}  # fmt: skip

# -- Photon --------------------------------------------------------------------------------------

PHOTON: Final = {
    "type": FEATURES,
    "features": [{
        "type": FEATURE, "geometry": SHAPE,
        "properties": {
            "osm_type~": frozenset("NWR"), "osm_id~": int, "osm_key": str, "osm_value": str,
            "type": frozenset((
                "house", "street", "locality", "district", "city", "county", "state", "country",
                "other",
            )),
            "name?": str, "housenumber?": str, "street?": str, "locality~": str, "district?": str,
            "postcode?": str, "city?": str, "county~": str, "state~": str, "country?": str,
            "countrycode?": str, "extent?": [float], "extra-": dict,
        },
    }],
}  # fmt: skip

# -- Pelias --------------------------------------------------------------------------------------

_PELIAS_LAYERS: Final = (
    "country", "macroregion", "region", "macrocounty", "county", "localadmin", "locality",
    "borough", "neighbourhood",
)  # fmt: skip
PELIAS: Final = {
    "geocoding": {
        "version": str, "attribution": str, "query": dict, "timestamp": int,
        "engine": {"name": str, "author": str, "version": str},
    },
    "type": FEATURES, "bbox": [float],
    "features": [{
        "type": FEATURE, "geometry": POINT, "bbox?": [float],
        "properties": {
            "id": str, "gid": str, "layer": str, "source": str, "source_id": str, "name": str,
            "confidence": float, "distance?": float, "label": str,
            "match_type?": frozenset(("exact", "interpolated", "fallback")),
            "accuracy": frozenset(("point", "centroid")), "housenumber?": str, "street?": str,
            "postalcode?": str, "country_a?": str, "region_a~": str,
            **{f"{name}{'?' if name in ('country', 'locality') else '~'}": str
               for name in _PELIAS_LAYERS},
            **{f"{name}_gid{'?' if name == 'country' else '~'}": str for name in _PELIAS_LAYERS},
            "addendum-": dict,
        },
    }],
}  # fmt: skip

# -- Valhalla ------------------------------------------------------------------------------------

_VALHALLA_ADMIN: Final = {
    "country_code": str, "country_text": str, "state_code~": str, "state_text~": str,
}  # fmt: skip
_VALHALLA_SUMMARY: Final = {
    "time": float, "length": float, "has_toll": bool, "has_highway": bool, "has_ferry": bool,
    "min_lat": float, "min_lon": float, "max_lat": float, "max_lon": float, "level_changes~": list,
    "admin_crossings~": list,
}  # fmt: skip
_VALHALLA_SIGN: Final = {
    f"{name}~": [{"text": str, "consecutive_count~": int}]
    for name in (
        "exit_number_elements", "exit_branch_elements", "exit_toward_elements",
        "exit_name_elements",
    )
}  # fmt: skip
_VALHALLA_MANEUVER: Final = {
    "type": int, "instruction?": str, "verbal_transition_alert_instruction?": str,
    "verbal_pre_transition_instruction?": str, "verbal_post_transition_instruction?": str,
    "street_names?": [str], "begin_street_names~": [str], "time": float, "length": float,
    "begin_shape_index": int, "end_shape_index": int, "toll~": bool, "highway~": bool,
    "rough~": bool, "gate~": bool, "ferry~": bool, "sign~": _VALHALLA_SIGN,
    "roundabout_exit_count?": int, "depart_instruction-": str, "verbal_depart_instruction-": str,
    "arrive_instruction-": str, "verbal_arrive_instruction-": str, "transit_info-": dict,
    "verbal_multi_cue?": bool, "travel_mode": frozenset(("drive", "pedestrian", "bicycle")),
    "travel_type": str, "bss_maneuver_type-": str, "bearing_before?": int, "bearing_after?": int,
    "lanes~": [{"directions": int, "valid~": int, "active~": int}],
}  # fmt: skip
VALHALLA_TRIP: Final = {
    "id?": str,
    "trip": {
        "linear_references?": [str],
        "status": int, "status_message": str, "units": frozenset(("kilometers", "miles")),
        "language": str, "warnings~": list,
        "locations": [{
            "type": str, "lat": float, "lon": float, "side_of_street~": str, "original_index": int,
            "date_time?": str, "waiting?": float, "name?": str, "city?": str,
        }],
        "summary": _VALHALLA_SUMMARY,
        "legs": [{
            "summary": {**_VALHALLA_SUMMARY, "admins?": [_VALHALLA_ADMIN]}, "shape": str,
            "maneuvers?": [_VALHALLA_MANEUVER],
            "elevation?": [float], "elevation_interval?": float,
        }],
    },
    "alternates?": list,
}  # fmt: skip
VALHALLA_MATRIX: Final = {
    "id?": str, "algorithm": str, "units": str, "warnings~": list,
    "sources": [{"lat": float, "lon": float}], "targets": [{"lat": float, "lon": float}],
    "sources_to_targets": [[{
        "time": float, "distance": float, "from_index": int, "to_index": int, "date_time-": str,
        "time_zone_offset-": str, "time_zone_name-": str, "shape-": None,
    }]],
}  # fmt: skip
VALHALLA_CONCISE_MATRIX: Final = {
    "id?": str, "algorithm": str, "units": str, "warnings~": list,
    "sources_to_targets": {"durations": [[float]], "distances": [[float]]},
}  # fmt: skip
VALHALLA_ISOCHRONE: Final = {
    "type": FEATURES, "id?": str,
    "features": [{
        "type": FEATURE, "geometry": SHAPE,
        "properties": {
            "contour?": float, "metric?": str, "color?": str, "fill?": str, "fillColor?": str,
            "fill-opacity?": float, "fillOpacity?": float, "opacity?": float, "type?": str,
            "location_index?": int,
        },
    }],
}  # fmt: skip
VALHALLA_LOCATE: Final = [{
    "input_lat": float, "input_lon": float, "warnings~": list,
    "nodes": [{"lat": float, "lon": float}],
    "edges": [{
        "way_id": int, "correlated_lat": float, "correlated_lon": float, "side_of_street": str,
        "percent_along": float,
    }],
}]  # fmt: skip
_VALHALLA_ID: Final = {"id": int, "value": int, "tile_id": int, "level": int}
VALHALLA_VERBOSE_LOCATE: Final = [{
    "input_lat": float, "input_lon": float, "warnings~": list,
    "nodes?": [{
        "lat": float, "lon": float, "traffic_signal": bool, "type": str, "node_id": _VALHALLA_ID,
        "access": dict, "edge_count": int, "administrative": dict, "intersection_type": str,
        "density": int, "local_edge_count": int, "mode_change": bool,
    }],
    "edges": [{
        "edge_id": _VALHALLA_ID, "correlated_lat": float, "correlated_lon": float,
        "side_of_street": str, "percent_along": float, "minimum_reachability-": int,
        "score-": float, "traffic_segments-": list, "access_restrictions": list, "shoulder": bool,
        "edge_info": {
            "shape": str, "way_id": int, "names?": [str], "speed_limit": None,
            "conditional_speed_limits~": dict, "levels~": list,
        },
        "edge": {
            "classification": {
                "link": bool, "internal": bool, "surface": str, "classification": str, "use": str,
            },
            "end_node": _VALHALLA_ID, "speeds": dict, "traffic_signal": bool,
            "start_restriction": dict, "end_restriction": dict,
            "geo_attributes": {"weighted_grade": float, "length": float}, "cycle_lane": str,
            "access_restriction": bool, "part_of_complex_restriction": bool,
            "country_crossing": bool, "has_sign": bool, "lane_count": int, "destination_only": bool,
            "drive_on_right-": bool, "seasonal-": bool, "unreachable-": bool, "tunnel": bool,
            "bridge": bool, "access": dict, "toll": bool, "round_about": bool,
            "bike_network": None, "forward": bool, "not_thru": bool, "truck_route": bool,
        },
    }],
}]  # fmt: skip
_VALHALLA_SIGNS: Final = {
    f"{name}~": [str] for name in ("exit_number", "exit_branch", "exit_toward", "exit_name")
}
VALHALLA_TRACE: Final = {
    "id?": str, "osm_changeset": int, "shape": str, "units": str, "warnings~": list,
    "elevation?": [float], "elevation_interval?": float,
    "admins": [_VALHALLA_ADMIN],
    "matched_points": [{
        "lat": float, "lon": float, "type": frozenset(("unmatched", "interpolated", "matched")),
        "edge_index": int, "begin_route_discontinuity~": bool, "end_route_discontinuity~": bool,
        "distance_along_edge": float, "distance_from_trace_point": float,
    }],
    "edges": [{
        "names?": [str], "source_percent_along?": float, "target_percent_along?": float,
        "length": float, "speed": float, "speed_type": str, "speeds_faded~": dict,
        "speeds_non_faded": dict, "road_class": str, "begin_heading": int, "end_heading": int,
        "begin_shape_index": int, "end_shape_index": int, "traversability": str, "use": str,
        "toll": bool, "unpaved": bool, "tunnel": bool, "bridge": bool, "roundabout": bool,
        "internal_intersection": bool, "drive_on_right": bool, "surface": str,
        "sign~": _VALHALLA_SIGNS, "travel_mode": str, "vehicle_type?": str, "pedestrian_type?": str,
        "bicycle_type?": str, "transit_type-": str, "id": int, "indoor~": bool, "way_id": int,
        "weighted_grade": float, "max_upward_grade": float, "max_downward_grade": float,
        "mean_elevation~": float, "lane_count": int, "cycle_lane": str, "bicycle_network": int,
        "sac_scale": int, "shoulder": bool, "sidewalk": str, "density": int, "speed_limit?": None,
        "truck_speed~": float, "truck_route": bool, "landmarks~": list, "country_crossing": bool,
        "forward": bool, "traffic_signal": bool, "hov_type~": str, "node_id-": int,
        "end_node": {
            "intersecting_edges?": [{
                "begin_heading": int, "from_edge_name_consistency": bool,
                "to_edge_name_consistency": bool, "driveability~": str, "cyclability~": str,
                "walkability~": str, "use": str, "road_class": str,
            }],
            "elapsed_time": float, "admin_index": int, "type": str, "traffic_signal": bool,
            "fork": bool, "time_zone~": str, "node_id-": int,
        },
    }],
}  # fmt: skip
#: With a filter of attributes.
VALHALLA_SHAPE: Final = {
    "shape_attributes": {"time": [float], "length": [float], "speed": [float]},
}
VALHALLA_HEIGHT: Final = {
    "id?": str, "shape?": [{"lat": float, "lon": float}], "encoded_polyline?": str,
    "range_height?": [[float]], "height?": [float], "warnings~": list,
}  # fmt: skip
VALHALLA_STATUS: Final = {
    "version": str, "tileset_last_modified": int, "available_actions": [str], "has_tiles?": bool,
    "has_admins?": bool, "has_timezones?": bool, "has_live_traffic?": bool,
    "bbox?": {"type": FEATURES, "features": [{"type": FEATURE, "geometry": AREA}]},
    "osm_changeset-": int, "warnings~": list,
}  # fmt: skip
VALHALLA_EXPANSION: Final = {
    "type": FEATURES, "properties": {"algorithm": str},
    "features": [{
        "type": FEATURE, "geometry": LINE,
        "properties": {
            "distance?": float, "duration?": float, "cost?": float, "edge_id?": int,
            "pred_edge_id?": int, "edge_status?": frozenset("rsc"), "expansion_type?": int,
        },
    }],
}  # fmt: skip

# -- openrouteservice ----------------------------------------------------------------------------

_ORS_METADATA: Final = {
    "id?": str, "attribution": str, "service": str, "timestamp": int, "query": dict,
    "engine": {"version": str, "build_date-": str, "graph_date": str, "osm_date": str},
    "system_message-": str,
}  # fmt: skip
_ORS_SUMMARY: Final = {
    "distance": float, "duration": float, "ascent?": float, "descent?": float, "transfers-": int,
    "fare-": int,
}  # fmt: skip
_ORS_SEGMENT: Final = {
    "distance": float, "duration": float, "detourfactor?": float, "percentage?": float,
    "avgspeed?": float, "ascent?": float, "descent?": float,
    "steps": [{
        "distance": float, "duration": float, "type": int, "instruction": str, "name": str,
        "exit_number?": int, "exit_bearings-": [int], "way_points": [int],
        "maneuver?": {"location": [float], "bearing_before": int, "bearing_after": int},
    }],
}  # fmt: skip
_ORS_EXTRAS: Final = {
    "*": {
        "values": [[float]], "summary": [{"value": float, "distance": float, "amount": float}],
    }
}  # fmt: skip
ORS_JSON: Final = {
    "bbox": [float], "metadata": _ORS_METADATA,
    "routes": [{
        "summary": _ORS_SUMMARY, "segments?": [_ORS_SEGMENT], "bbox": [float], "geometry?": str,
        "way_points": [int], "warnings-": list, "legs-": list, "departure-": str, "arrival-": str,
        "extras?": _ORS_EXTRAS,
    }],
}  # fmt: skip
ORS_GEOJSON: Final = {
    "type": FEATURES, "bbox": [float], "metadata": _ORS_METADATA,
    "features": [{
        "type": FEATURE, "bbox": [float], "geometry": LINE,
        "properties": {
            "summary": _ORS_SUMMARY, "segments": [_ORS_SEGMENT], "way_points": [int],
            "warnings-": list, "legs-": list, "departure-": str, "arrival-": str,
            "extras?": _ORS_EXTRAS,
        },
    }],
}  # fmt: skip
_ORS_PLACE: Final = {"location": [float], "name~": str, "snapped_distance": float}
ORS_MATRIX: Final = {
    "durations?": [[float]], "distances?": [[float]], "destinations": [_ORS_PLACE],
    "sources": [_ORS_PLACE], "metadata": _ORS_METADATA,
}  # fmt: skip
ORS_ISOCHRONES: Final = {
    "type": FEATURES, "bbox": [float], "metadata": _ORS_METADATA,
    "features": [{
        "type": FEATURE, "geometry": AREA,
        "properties": {
            "group_index?": int, "value?": float, "center?": [float], "area?": float,
            "reachfactor-": float, "total_pop-": float, "contours-": [[int]],
        },
    }],
}  # fmt: skip
_ORS_SNAP_METADATA: Final = {name: kind for name, kind in _ORS_METADATA.items() if name != "id?"}
ORS_SNAP: Final = {"locations": [_ORS_PLACE], "metadata": _ORS_SNAP_METADATA}
ORS_SNAP_GEOJSON: Final = {
    "type": FEATURES, "bbox": [float], "metadata": _ORS_SNAP_METADATA,
    "features": [{
        "type": FEATURE, "geometry": POINT,
        "properties": {"name~": str, "snapped_distance": float, "source_id": int},
    }],
}  # fmt: skip
_VROOM_FIGURES: Final = {
    "cost": int, "setup": int, "service": int, "duration": int, "waiting_time": int,
    "priority": int, "violations": list, "delivery?": [int], "pickup?": [int], "distance?": int,
}  # fmt: skip
ORS_OPTIMIZATION: Final = {
    "code": int,
    "summary": {
        **_VROOM_FIGURES, "routes": int, "unassigned": int,
        "computing_times-": dict,
    },
    "unassigned": [{"id": int, "type": str, "location?": [float]}],
    "routes": [{
        **_VROOM_FIGURES, "vehicle": int, "geometry?": str, "description~": str,
        "steps": [{
            "type": frozenset(("start", "job", "pickup", "delivery", "break", "end")),
            "arrival": int, "duration": int, "setup": int, "service": int, "waiting_time": int,
            "violations": list, "location?": [float], "id?": int, "load?": [int], "distance?": int,
            "description~": str,
        }],
    }],
}  # fmt: skip

# -- GraphHopper ---------------------------------------------------------------------------------

_GRAPHHOPPER_INFO: Final = {"copyrights": [str], "took": float, "road_data_timestamp": str}
_GRAPHHOPPER_STEP: Final = {
    "text": str, "street_name": str, "distance": float, "time": float, "interval": [int],
    "sign": int, "exit_number~": int, "exited~": bool, "turn_angle-": float,
}  # fmt: skip
_GRAPHHOPPER_PATH: Final = {
    "distance": float, "time": float, "weight": float, "transfers": int, "ascend?": float,
    "descend?": float, "points?": None, "points_encoded": bool, "points_encoded_multiplier?": float,
    "bbox?": [float], "snapped_waypoints": None, "points_order?": [int], "legs": list,
    "description-": list, "fare-": str,
    "details?": {"*": [list]},
    "instructions?": [{**_GRAPHHOPPER_STEP}],
}  # fmt: skip
GRAPHHOPPER_ROUTE: Final = {
    "paths": [_GRAPHHOPPER_PATH],
    "info": _GRAPHHOPPER_INFO,
    "hints": dict,
}
GRAPHHOPPER_MATCH: Final = {
    "paths": [
        {
            **{name: kind for name, kind in _GRAPHHOPPER_PATH.items() if name != "points_order?"},
            "instructions?": [_GRAPHHOPPER_STEP],
        }
    ],
    "info": _GRAPHHOPPER_INFO,
    "map_matching": {"distance": float, "time": float, "original_distance": float},
}
_GRAPHHOPPER_AREA: Final = {
    "type": FEATURE,
    "geometry": AREA,
    "properties": {"bucket": int},
}
GRAPHHOPPER_ISOCHRONE: Final = {"polygons": [_GRAPHHOPPER_AREA], "info": _GRAPHHOPPER_INFO}
GRAPHHOPPER_ISOCHRONE_GEOJSON: Final = {
    "type": FEATURES,
    "features": [{**_GRAPHHOPPER_AREA, "properties": {"bucket": int, "copyrights": [str]}}],
}
GRAPHHOPPER_MATRIX: Final = {
    "distances?": [[float]], "times?": [[float]], "weights?": [[float]], "hints~": list,
    "info": _GRAPHHOPPER_INFO,
}  # fmt: skip
GRAPHHOPPER_GEOCODE: Final = {
    "hits": [{
        "point": {"lat": float, "lng": float}, "osm_id~": int, "osm_type~": str, "osm_key": str,
        "osm_value": str, "name": str, "country?": str, "city?": str, "state~": str,
        "street?": str, "housenumber?": str, "postcode?": str, "countrycode?": str,
        "extent?": [float],
    }],
    "took": float, "locale": str,
}  # fmt: skip
GRAPHHOPPER_INFO: Final = {
    "bbox": [float], "version": str, "elevation": bool, "profiles": [{"name": str}],
    "encoded_values": {"*": list}, "import_date": str, "data_date": str, "features-": dict,
    "build_date-": str,
}  # fmt: skip
GRAPHHOPPER_NEAREST: Final = {"type": str, "coordinates": [float], "distance": float}
