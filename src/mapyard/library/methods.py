"""The methods of a map. Written by `mapyard docs`; do not edit."""
# ruff: noqa: E501
# fmt: off

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from mapyard.library.inputs import (
        BboxLike,
        GeometryLike,
        Numbers,
        PositionLike,
        PositionsLike,
        TagsLike,
        Texts,
    )
    from mapyard.library.results.feature import Feature, Features
    from mapyard.library.results.heights import Heights, Profile
    from mapyard.library.results.matrix import Matrix
    from mapyard.library.results.overpass import OverpassFeatures
    from mapyard.library.results.places import PlaceBatch, Places
    from mapyard.library.results.plaza import PlazaFeatures
    from mapyard.library.results.solutions import SparqlResult
    from mapyard.library.results.tags import TagCounts
    from mapyard.library.results.ways import (
        Areas,
        MatchedTrace,
        NearestRoads,
        Route,
        Tour,
        TourPlan,
    )
    from mapyard.results.plan import QueryPlan


class Questions:
    """One method per question."""

    def _ask(self, name: str, values: dict[str, Any]) -> Any:
        raise NotImplementedError

    def features(
        self,
        *,
        type: Texts | None = None,
        tags: TagsLike | None = None,
        bbox: BboxLike | None = None,
        near: GeometryLike | None = None,
        radius: float | None = None,
        within: GeometryLike | None = None,
        intersects: GeometryLike | None = None,
        contains: GeometryLike | None = None,
        crosses: GeometryLike | None = None,
        touches: GeometryLike | None = None,
        not_within: GeometryLike | None = None,
        not_intersects: GeometryLike | None = None,
        not_contains: GeometryLike | None = None,
        h3: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        lang: Texts | None = None,
        output: Mapping[str, Any] | None = None,
        timeout: float | None = None,
        max_bytes: int | None = None,
        cancel: threading.Event | None = None,
    ) -> Features:
        """List elements by type, tags and place.

        Filters are ANDed; at most one of the spatial predicates may be given. The order is by
        (osm_id, type), or as `output[sort]` says.

        Args:
            type: element types, all by default.
            tags: tag filters, all must hold: tags[amenity]=cafe, cafe|bar (one of), ~^Caf (regular
                expression, RE2), * (any value), ! (no such tag); or tags=amenity=cafe,
                tags=amenity:cafe, tags=amenity; a backslash escapes | * ! ~.
            bbox: south,west,north,east; geometries that have a point in common with it.
            near: within radius of lat,lng or of a GeoJSON geometry.
            radius: meters: of around (default 500), or by which the geometry of another predicate is
                widened.
            within: GeoJSON geometry.
            intersects: GeoJSON geometry.
            contains: GeoJSON geometry.
            crosses: GeoJSON geometry.
            touches: GeoJSON geometry.
            not_within: GeoJSON geometry.
            not_intersects: GeoJSON geometry.
            not_contains: GeoJSON geometry.
            h3: H3 cell index.
            limit: page size, 1 to 1000, default 20; a stream is whole unless given, and has no largest
                limit.
            cursor: cursor of the page before.
            offset: how many to skip, instead of a cursor; a cursor wins.
            lang: languages of names, the preferred first: de, or pt-BR,pt,en.
            output: see docs/library.md.
            timeout: seconds, after which `Timeout` is raised.
            max_bytes: memory that a query language may use.
            cancel: when set, `Cancelled` is raised.
        """
        return self._ask("features", locals())

    def feature(
        self,
        type: Literal['node', 'relation', 'way'],
        id: int,
        *,
        lang: Texts | None = None,
        output: Mapping[str, Any] | None = None,
        timeout: float | None = None,
        max_bytes: int | None = None,
        cancel: threading.Event | None = None,
    ) -> Feature:
        """Return one element by type and id, untagged nodes included.

        Args:
            type: element type.
            id: OpenStreetMap id.
            lang: languages of names, the preferred first: de, or pt-BR,pt,en.
            output: see docs/library.md.
            timeout: seconds, after which `Timeout` is raised.
            max_bytes: memory that a query language may use.
            cancel: when set, `Cancelled` is raised.
        """
        return self._ask("feature", locals())

    def lookup(
        self,
        elements: Sequence[Any],
        *,
        lang: Texts | None = None,
        output: Mapping[str, Any] | None = None,
        timeout: float | None = None,
        max_bytes: int | None = None,
        cancel: threading.Event | None = None,
    ) -> Features:
        """Return up to 100 elements in the order asked; those not in the dataset are in `missing`.

        Args:
            elements: [{"type": "node", "id": 1}, …].
            lang: languages of names, the preferred first: de, or pt-BR,pt,en.
            output: see docs/library.md.
            timeout: seconds, after which `Timeout` is raised.
            max_bytes: memory that a query language may use.
            cancel: when set, `Cancelled` is raised.
        """
        return self._ask("lookup", locals())

    def nearby(
        self,
        at: PositionLike,
        *,
        radius: float | None = None,
        type: Texts | None = None,
        tags: TagsLike | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        lang: Texts | None = None,
        output: Mapping[str, Any] | None = None,
        timeout: float | None = None,
        max_bytes: int | None = None,
        cancel: threading.Event | None = None,
    ) -> Features:
        """Return ways, relations and tagged nodes within `radius`, nearest first, with `distance_m`.

        An area that holds the position is at distance 0.

        Args:
            at: where to search from.
            radius: search radius in meters; default 500.0.
            type: element types, all by default.
            tags: tag filters, all must hold: tags[amenity]=cafe, cafe|bar (one of), ~^Caf (regular
                expression, RE2), * (any value), ! (no such tag); or tags=amenity=cafe,
                tags=amenity:cafe, tags=amenity; a backslash escapes | * ! ~.
            limit: page size, 1 to 1000, default 20.
            cursor: cursor of the page before.
            offset: how many to skip, instead of a cursor; a cursor wins.
            lang: languages of names, the preferred first: de, or pt-BR,pt,en.
            output: see docs/library.md.
            timeout: seconds, after which `Timeout` is raised.
            max_bytes: memory that a query language may use.
            cancel: when set, `Cancelled` is raised.
        """
        return self._ask("nearby", locals())

    def search(
        self,
        q: str,
        *,
        type: Texts | None = None,
        tags: TagsLike | None = None,
        bbox: BboxLike | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        lang: Texts | None = None,
        output: Mapping[str, Any] | None = None,
        timeout: float | None = None,
        max_bytes: int | None = None,
        cancel: threading.Event | None = None,
    ) -> Features:
        """Find elements by name, ref, operator or brand; whole words or their beginnings.

        Order: whole names of places, whole names, all words, beginnings of words, then ref, operator
        and brand; within each by (osm_id, type).

        Args:
            q: name in any language, ref, operator or brand: whole words or their beginnings, one typo
                per word when nothing else is found.
            type: element types, all by default.
            tags: tag filters as in /features, all must hold.
            bbox: south,west,north,east; only elements that meet it.
            limit: page size, default 25; caps a stream if given.
            cursor: cursor of the page before.
            offset: how many to skip, instead of a cursor; a cursor wins.
            lang: languages of names, the preferred first: de, or pt-BR,pt,en.
            output: see docs/library.md.
            timeout: seconds, after which `Timeout` is raised.
            max_bytes: memory that a query language may use.
            cancel: when set, `Cancelled` is raised.
        """
        return self._ask("search", locals())

    def geocode(
        self,
        q: str | None = None,
        *,
        focus: PositionLike | None = None,
        country_code: Texts | None = None,
        lang: Texts | None = None,
        layer: Texts | None = None,
        exclude: Texts | None = None,
        shape: Literal['full', 'point'] | None = None,
        areas: bool | None = None,
        debug: bool | None = None,
        tags: TagsLike | None = None,
        bbox: BboxLike | None = None,
        bounded: bool | None = None,
        street: str | None = None,
        housenumber: str | None = None,
        postcode: str | None = None,
        city: str | None = None,
        county: str | None = None,
        state: str | None = None,
        country: str | None = None,
        amenity: str | None = None,
        neighbourhood: str | None = None,
        limit: int | None = None,
        timeout: float | None = None,
        max_bytes: int | None = None,
        cancel: threading.Event | None = None,
    ) -> Places:
        """Find a place, address or point of interest by text, or by an address in parts.

        `match` in the properties says which words were matched, how, and which were not; `confidence`
        (0-1) is how much of the query the result answers. A house number that is not mapped is placed
        between its neighbors (`source: interpolation`), or the street is returned.

        Args:
            q: address or name in any order and spelling, a kind with a place (pizzeria vaduz),
                coordinates or a plus code.
            focus: results near to it come first.
            country_code: ISO 3166-1 alpha-2 codes, one or several.
            lang: languages of names, the preferred first: de, or pt-BR,pt,en.
            layer: one or several of address (houses, streets, postcodes), poi, admin (places), street,
                postcode; with ! before them all others.
            exclude: elements that are left out: way/5,node/7.
            shape: full: the geometry of the element, with its point in the properties; default point.
            areas: true: each result has `areas`, those around it from the country to the quarter.
            debug: true: results say what their score is made of.
            tags: only elements with these tags, as in /features: tags[amenity]=pharmacy, ! for absent.
            bbox: south,west,north,east.
            bounded: false: results in bbox are only preferred, not required; default True.
            street: street, instead of q; its number may stand with it.
            housenumber: house number.
            postcode: postcode.
            city: town or village.
            county: county or district.
            state: state or region.
            country: name or ISO 3166-1 alpha-2 code; alone, too.
            amenity: name or kind of a point of interest.
            neighbourhood: quarter, suburb or district.
            limit: largest number of results; default 20.
            timeout: seconds, after which `Timeout` is raised.
            max_bytes: memory that a query language may use.
            cancel: when set, `Cancelled` is raised.
        """
        return self._ask("geocode", locals())

    def autocomplete(
        self,
        q: str,
        *,
        focus: PositionLike | None = None,
        country_code: Texts | None = None,
        lang: Texts | None = None,
        layer: Texts | None = None,
        exclude: Texts | None = None,
        shape: Literal['full', 'point'] | None = None,
        areas: bool | None = None,
        debug: bool | None = None,
        tags: TagsLike | None = None,
        bbox: BboxLike | None = None,
        bounded: bool | None = None,
        limit: int | None = None,
        timeout: float | None = None,
        max_bytes: int | None = None,
        cancel: threading.Event | None = None,
    ) -> Places:
        """Return what an unfinished text may become.

        House numbers are offered once a digit is typed, or when a street is typed in full.

        Args:
            q: text whose last word may be unfinished.
            focus: results near to it come first.
            country_code: ISO 3166-1 alpha-2 codes, one or several.
            lang: languages of names, the preferred first: de, or pt-BR,pt,en.
            layer: one or several of address (houses, streets, postcodes), poi, admin (places), street,
                postcode; with ! before them all others.
            exclude: elements that are left out: way/5,node/7.
            shape: full: the geometry of the element, with its point in the properties; default point.
            areas: true: each result has `areas`, those around it from the country to the quarter.
            debug: true: results say what their score is made of.
            tags: only elements with these tags, as in /features: tags[amenity]=pharmacy, ! for absent.
            bbox: south,west,north,east.
            bounded: false: results in bbox are only preferred, not required; default True.
            limit: largest number of results; default 10.
            timeout: seconds, after which `Timeout` is raised.
            max_bytes: memory that a query language may use.
            cancel: when set, `Cancelled` is raised.
        """
        return self._ask("autocomplete", locals())

    def reverse(
        self,
        at: PositionLike,
        *,
        radius: float | None = None,
        limit: int | None = None,
        layer: Texts | None = None,
        zoom: int | None = None,
        exclude: Texts | None = None,
        shape: Literal['full', 'point'] | None = None,
        areas: bool | None = None,
        tags: TagsLike | None = None,
        lang: Texts | None = None,
        timeout: float | None = None,
        max_bytes: int | None = None,
        cancel: threading.Event | None = None,
    ) -> Places:
        """Return the address, street or area at a position, with its distance to the real outline.

        The building that the position is in comes first, then houses of the nearest street, then other
        houses, interpolated numbers, the street, and the areas around.

        Args:
            at: the position.
            radius: largest distance, meters; default 200.0.
            limit: largest number of results; default 1.
            layer: one or several of house (address), poi, street, natural, and admin (areas), together
                by distance.
            zoom: as of a map: 3 the country, 5 the state, 8 the county, 10 the town, 14 a part of it,
                16 the street, 18 the house.
            exclude: elements that are left out: way/5,node/7.
            shape: full: the geometry of the element, with its point in the properties; default point.
            areas: true: each result has `areas`, those around it from the country to the quarter.
            tags: only elements with these tags, as in /features: tags[amenity]=pharmacy, ! for absent.
            lang: languages of names, the preferred first: de, or pt-BR,pt,en.
            timeout: seconds, after which `Timeout` is raised.
            max_bytes: memory that a query language may use.
            cancel: when set, `Cancelled` is raised.
        """
        return self._ask("reverse", locals())

    def geocode_batch(
        self,
        addresses: Sequence[Any] | None = None,
        *,
        csv: str | None = None,
        ndjson: str | None = None,
        limit: int | None = None,
        focus: PositionLike | None = None,
        country_code: Texts | None = None,
        lang: Texts | None = None,
        layer: Texts | None = None,
        radius: float | None = None,
        timeout: float | None = None,
        max_bytes: int | None = None,
        cancel: threading.Event | None = None,
    ) -> PlaceBatch:
        """Geocode up to 1000 rows; one collection of places per row, in input order.

        A row that cannot be read has an `error` and no places; the others are answered.

        Args:
            addresses: 1 to 1000 rows: texts, address parts ({street, housenumber, postcode, city,
                state, country}), or positions ({lat, lng}, [lng, lat], Point) for reverse.
            csv: the rows as CSV with a header line; or send the body as text/csv.
            ndjson: the rows as NDJSON; or send the body as application/jsonl.
            limit: results per row; default 1.
            focus: results near to it come first.
            country_code: ISO 3166-1 alpha-2 codes, one or several.
            lang: languages of names, the preferred first: de, or pt-BR,pt,en.
            layer: as of /geocode, for texts.
            radius: largest distance for positions, meters; default 200.0.
            timeout: seconds, after which `Timeout` is raised.
            max_bytes: memory that a query language may use.
            cancel: when set, `Cancelled` is raised.
        """
        return self._ask("geocode_batch", locals())

    def route(
        self,
        origin: PositionLike,
        destination: PositionLike,
        *,
        waypoints: PositionsLike | None = None,
        mode: Literal['auto', 'bicycle', 'bus', 'foot', 'hike', 'motor_scooter', 'motorcycle', 'taxi', 'truck', 'wheelchair'] | None = None,
        alternatives: int | None = None,
        steps: bool | None = None,
        lang: str | None = None,
        units: Literal['imperial', 'metric'] | None = None,
        annotations: bool | None = None,
        extra_info: Texts | None = None,
        overview: Literal['false', 'full', 'simplified'] | None = None,
        geometries: Literal['geojson', 'polyline', 'polyline6'] | None = None,
        costing: Mapping[str, Any] | None = None,
        depart_at: str | None = None,
        arrive_by: str | None = None,
        exclude: Texts | None = None,
        avoid_polygons: GeometryLike | None = None,
        avoid_lines: GeometryLike | None = None,
        avoid_points: PositionsLike | None = None,
        snap_radius: float | None = None,
        snap_radiuses: Numbers | None = None,
        snap_exclude: Texts | None = None,
        headings: Numbers | None = None,
        heading_tolerance: float | None = None,
        sides: Texts | None = None,
        through: Numbers | None = None,
        ev: Mapping[str, Any] | None = None,
        elevation: bool | None = None,
        timeout: float | None = None,
        max_bytes: int | None = None,
        cancel: threading.Event | None = None,
    ) -> Route:
        """Return the quickest route between positions.

        Properties: `distance` and `distance_m` in meters, `duration` and `duration_s` in seconds (the
        same values under both names), `mode`, `waypoints` (each position on its road, with distance
        and road name), `legs`. A position farther than `snap_radius` from every road is an error with
        the code `no_road_found`; its `details["index"]` counts origin 0, waypoints, destination.

        Args:
            origin: where the route begins.
            destination: where it ends.
            waypoints: positions on the way, in order.
            mode: how to travel: auto (a car), truck, motor_scooter, motorcycle, taxi, bus, bicycle,
                foot, wheelchair, hike; default auto.
            alternatives: other routes to look for; the answer is a collection then.
            steps: instructions, in property `steps`.
            lang: language of the instructions: de, en-GB, …; default en-US.
            units: of distances in the texts of steps; figures are in meters; default metric.
            annotations: figures per road edge, in properties `annotations` and `edges`.
            extra_info: pieces and sums of the way by surface, smoothness, tracktype, way_type,
                road_class, incline, sac_scale, maxspeed, toll, tunnel, bridge, osm_way_id, steepness,
                in property `extras`.
            overview: how fine the geometry is; false leaves it out; default full.
            geometries: polyline and polyline6 give the line as text in property `polyline`, and a null
                geometry; default geojson.
            costing: how the mode moves, where it differs from the defaults: vehicle, speeds, what it
                likes and avoids.
            depart_at: time of the departure, as 2026-06-17T08:30 in the local time of the place, or
                with an offset or Z; without any, noon of a working day counts.
            arrive_by: time of the arrival, instead of depart_at.
            exclude: toll, motorway, ferry, unpaved (motor vehicles only), tunnel, bridge.
            avoid_polygons: area not to enter: Polygon or MultiPolygon.
            avoid_lines: not to cross: LineString or MultiLineString.
            avoid_points: places whose nearest roads are not taken.
            snap_radius: a position farther from every road is refused, meters; default 1000.0.
            snap_radiuses: per position (origin, waypoints, destination), meters; null: snap_radius.
            snap_exclude: kinds of roads that no position goes to.
            headings: per position, direction of travel there, degrees clockwise from north; null: any.
            heading_tolerance: of headings, degrees to either side; default 45.0.
            sides: per position, on which side of the road it is to lie: any, same (the one that traffic
                drives on), opposite.
            through: indexes of waypoints that are passed without stopping: no new leg, and no turning
                around there.
            ev: an electric car (modes auto and taxi): its battery and what it uses; the route stops at
                charging stations where it has to.
            elevation: heights: a third coordinate, and property `elevation`.
            timeout: seconds, after which `Timeout` is raised.
            max_bytes: memory that a query language may use.
            cancel: when set, `Cancelled` is raised.
        """
        return self._ask("route", locals())

    def nearest(
        self,
        at: PositionLike,
        *,
        radius: float | None = None,
        mode: Literal['auto', 'bicycle', 'bus', 'foot', 'hike', 'motor_scooter', 'motorcycle', 'taxi', 'truck', 'wheelchair'] | None = None,
        number: int | None = None,
        output: Mapping[str, Any] | None = None,
        timeout: float | None = None,
        max_bytes: int | None = None,
        cancel: threading.Event | None = None,
    ) -> NearestRoads:
        """Return the places on the nearest roads that the mode may use, nearest first.

        Properties: `distance_m`, `edge_id` (of this dataset only), `edge_length_m`, `highway`, `name`,
        `surface`, `osm_way_id`.

        Args:
            at: the position.
            radius: search radius, meters; default 500.0.
            mode: how to travel: auto (a car), truck, motor_scooter, motorcycle, taxi, bus, bicycle,
                foot, wheelchair, hike; default auto.
            number: how many roads; more than 1 gives a collection; default 1.
            output: see docs/library.md.
            timeout: seconds, after which `Timeout` is raised.
            max_bytes: memory that a query language may use.
            cancel: when set, `Cancelled` is raised.
        """
        return self._ask("nearest", locals())

    def isochrone(
        self,
        at: PositionLike,
        time: Numbers | None = None,
        *,
        costing: Mapping[str, Any] | None = None,
        depart_at: str | None = None,
        exclude: Texts | None = None,
        avoid_polygons: GeometryLike | None = None,
        avoid_lines: GeometryLike | None = None,
        avoid_points: PositionsLike | None = None,
        contours_minutes: Numbers | None = None,
        distance: Numbers | None = None,
        mode: Literal['auto', 'bicycle', 'bus', 'foot', 'hike', 'motor_scooter', 'motorcycle', 'taxi', 'truck', 'wheelchair'] | None = None,
        others: PositionsLike | None = None,
        intersections: bool | None = None,
        count: Texts | None = None,
        population: bool | None = None,
        reverse: bool | None = None,
        denoise: float | None = None,
        polygons: bool | None = None,
        snap_radius: float | None = None,
        output: Mapping[str, Any] | None = None,
        timeout: float | None = None,
        max_bytes: int | None = None,
        cancel: threading.Event | None = None,
    ) -> Areas:
        """Return the area within reach of a position for each time or distance.

        One Polygon or MultiPolygon per value, in the order asked for, times before distances; larger
        areas hold the smaller ones. Properties: `time_seconds` or `distance_meters`, `mode`, `area_m2`.
        With `others`, `position` is the index of the area's position; the common areas of
        `intersections` come last and have `positions`.

        Args:
            at: the position.
            time: seconds, 1 to 7200, one or several.
            costing: how the mode moves, where it differs from the defaults: vehicle, speeds, what it
                likes and avoids.
            depart_at: time of the departure, as 2026-06-17T08:30 in the local time of the place, or
                with an offset or Z; without any, noon of a working day counts.
            exclude: toll, motorway, ferry, unpaved (motor vehicles only), tunnel, bridge.
            avoid_polygons: area not to enter: Polygon or MultiPolygon.
            avoid_lines: not to cross: LineString or MultiLineString.
            avoid_points: places whose nearest roads are not taken.
            contours_minutes: the same in minutes.
            distance: meters on the road, instead of time.
            mode: how to travel: auto (a car), truck, motor_scooter, motorcycle, taxi, bus, bicycle,
                foot, wheelchair, hike; default auto.
            others: further positions, up to 9: each has its areas.
            intersections: with others: per value also the area within reach of all positions.
            count: tags whose elements inside are counted, in property `counts`: amenity=cafe, shop,
                highway=bus_stop|platform.
            population: people in the cities, towns, villages and hamlets whose center lies inside, as
                far as they are tagged with a population.
            reverse: from where the position is reached, instead of what is reached.
            denoise: leave out parts and holes under this share of the largest.
            polygons: false: the outlines as lines; default True.
            snap_radius: a position farther from every road is refused, meters; default 1000.0.
            output: see docs/library.md.
            timeout: seconds, after which `Timeout` is raised.
            max_bytes: memory that a query language may use.
            cancel: when set, `Cancelled` is raised.
        """
        return self._ask("isochrone", locals())

    def matrix(
        self,
        origins: PositionsLike,
        destinations: PositionsLike,
        *,
        costing: Mapping[str, Any] | None = None,
        depart_at: str | None = None,
        exclude: Texts | None = None,
        avoid_polygons: GeometryLike | None = None,
        avoid_lines: GeometryLike | None = None,
        avoid_points: PositionsLike | None = None,
        mode: Literal['auto', 'bicycle', 'bus', 'foot', 'hike', 'motor_scooter', 'motorcycle', 'taxi', 'truck', 'wheelchair'] | None = None,
        fallback_speed: float | None = None,
        snap_radius: float | None = None,
        timeout: float | None = None,
        max_bytes: int | None = None,
        cancel: threading.Event | None = None,
    ) -> Matrix:
        """Return meters and seconds from every origin (rows) to every destination (columns).

        A cell is NaN (null in JSON) where no way leads. `details["index"]` of the error `no_road_found`
        counts the origins first, then the destinations.

        Args:
            origins: rows of the matrix.
            destinations: columns of the matrix.
            costing: how the mode moves, where it differs from the defaults: vehicle, speeds, what it
                likes and avoids.
            depart_at: time of the departure, as 2026-06-17T08:30 in the local time of the place, or
                with an offset or Z; without any, noon of a working day counts.
            exclude: toll, motorway, ferry, unpaved (motor vehicles only), tunnel, bridge.
            avoid_polygons: area not to enter: Polygon or MultiPolygon.
            avoid_lines: not to cross: LineString or MultiLineString.
            avoid_points: places whose nearest roads are not taken.
            mode: how to travel: auto (a car), truck, motor_scooter, motorcycle, taxi, bus, bicycle,
                foot, wheelchair, hike; default auto.
            fallback_speed: km/h: unreachable cells are filled as the crow flies at this speed.
            snap_radius: a position farther from every road is refused, meters; default 1000.0.
            timeout: seconds, after which `Timeout` is raised.
            max_bytes: memory that a query language may use.
            cancel: when set, `Cancelled` is raised.
        """
        return self._ask("matrix", locals())

    def match(
        self,
        trace: PositionsLike | None = None,
        *,
        gpx: str | None = None,
        radiuses: Numbers | None = None,
        timestamps: Numbers | None = None,
        accuracies: Numbers | None = None,
        mode: Literal['auto', 'bicycle', 'bus', 'foot', 'hike', 'motor_scooter', 'motorcycle', 'taxi', 'truck', 'wheelchair'] | None = None,
        steps: bool | None = None,
        lang: str | None = None,
        units: Literal['imperial', 'metric'] | None = None,
        annotations: bool | None = None,
        extra_info: Texts | None = None,
        geometries: Literal['geojson', 'polyline', 'polyline6'] | None = None,
        timeout: float | None = None,
        max_bytes: int | None = None,
        cancel: threading.Event | None = None,
    ) -> MatchedTrace:
        """Return the way that a trace was travelled on.

        A LineString, a MultiLineString where the trace has gaps, with `legs`: exactly one between each
        two consecutive trace points (`matched`, `distance`, `duration`, `way_ids`, `names`).
        `confidence` is 0 to 1: the share of points that lie on a road, each weighed by its distance
        from it; less where other roads run along as near, for detours and for breaks. `outliers` are
        points that were left out, `stops` (with timestamps) where the trace stayed.

        Args:
            trace: trace points in order of travel, 2 to 10,000.
            gpx: the trace as GPX text.
            radiuses: per point, how far its road may be, meters: default 50, at most 100.
            timestamps: per point, seconds, ascending.
            accuracies: per point, the receiver's own error, meters: points count less where it is
                larger; radiuses are three times it where none are given, 50 to 100.
            mode: how to travel: auto (a car), truck, motor_scooter, motorcycle, taxi, bus, bicycle,
                foot, wheelchair, hike; default auto.
            steps: instructions, in property `steps`.
            lang: language of the instructions: de, en-GB, …; default en-US.
            units: of distances in the texts of steps; default metric.
            annotations: figures per road edge, in each of `matchings`.
            extra_info: pieces and sums of the way by surface, way_type, steepness, … (as of routes), in
                each of `matchings`.
            geometries: polyline and polyline6 give the line of each of `matchings` as text, and a null
                geometry; default geojson.
            timeout: seconds, after which `Timeout` is raised.
            max_bytes: memory that a query language may use.
            cancel: when set, `Cancelled` is raised.
        """
        return self._ask("match", locals())

    def optimize(
        self,
        waypoints: PositionsLike,
        *,
        mode: Literal['auto', 'bicycle', 'bus', 'foot', 'hike', 'motor_scooter', 'motorcycle', 'taxi', 'truck', 'wheelchair'] | None = None,
        roundtrip: bool | None = None,
        source: str | None = None,
        destination: str | None = None,
        snap_radius: float | None = None,
        timeout: float | None = None,
        max_bytes: int | None = None,
        cancel: threading.Event | None = None,
    ) -> Tour:
        """Return stops in the best order of visiting, and the route through them.

        Members: `route` (a LineString feature with legs), `waypoint_order`, `distance_m`,
        `duration_s`, `total_cost_s`, `optimization`, `roundtrip`, `status`.

        Args:
            waypoints: stops, 2 to 100.
            mode: how to travel: auto (a car), truck, motor_scooter, motorcycle, taxi, bus, bicycle,
                foot, wheelchair, hike; default auto.
            roundtrip: end where the tour began; default True.
            source: first: begin at the first waypoint; any; or an index; default first.
            destination: any; last: end at the last waypoint; or an index (no round trips); default any.
            snap_radius: a position farther from every road is refused, meters; default 1000.0.
            timeout: seconds, after which `Timeout` is raised.
            max_bytes: memory that a query language may use.
            cancel: when set, `Cancelled` is raised.
        """
        return self._ask("optimize", locals())

    def plan_tours(
        self,
        vehicles: Sequence[Any],
        jobs: Sequence[Any] | None = None,
        shipments: Sequence[Any] | None = None,
        *,
        matrices: Any | None = None,
        options: Any | None = None,
        snap_radius: float | None = None,
        timeout: float | None = None,
        max_bytes: int | None = None,
        cancel: threading.Event | None = None,
    ) -> TourPlan:
        """Return tours of several vehicles over jobs and shipments, in the form of VROOM.

        Members: `summary`, `routes` (with `steps`: arrivals, loads, distances), `unassigned` with a
        `reason` each. Members of the problem that VROOM does not know are refused by name.

        Args:
            vehicles: id, profile (a mode), start, end, capacity, skills, time_window, breaks, costs,
                speed_factor, max_tasks, max_travel_time, max_distance, steps.
            jobs: id, location, service, setup, delivery, pickup, skills, priority, time_windows.
            shipments: pickup and delivery (id, location, service, time_windows), amount, skills,
                priority.
            matrices: per profile your own durations, distances, costs; else ours.
            options: g: lines of the tours; c: keep the vehicles' steps, and time them.
            snap_radius: a position farther from every road is refused, meters; default 1000.0.
            timeout: seconds, after which `Timeout` is raised.
            max_bytes: memory that a query language may use.
            cancel: when set, `Cancelled` is raised.
        """
        return self._ask("plan_tours", locals())

    def elevation(
        self,
        coordinates: PositionsLike,
        *,
        output: Mapping[str, Any] | None = None,
        timeout: float | None = None,
        max_bytes: int | None = None,
        cancel: threading.Event | None = None,
    ) -> Heights:
        """Return heights of positions in meters above the sea (EGM96), in input order.

        Bilinear between the cells of the raster; null where there is no data. Small voids are filled
        from around, which property `filled` tells.

        Args:
            coordinates: positions.
            output: see docs/library.md.
            timeout: seconds, after which `Timeout` is raised.
            max_bytes: memory that a query language may use.
            cancel: when set, `Cancelled` is raised.
        """
        return self._ask("elevation", locals())

    def elevation_profile(
        self,
        geometry: PositionsLike,
        *,
        interval: float | None = None,
        output: Mapping[str, Any] | None = None,
        timeout: float | None = None,
        max_bytes: int | None = None,
        cancel: threading.Event | None = None,
    ) -> Profile:
        """Return a line with its heights, and the figures of its profile.

        Ascent and descent leave out ups and downs below 5 m, which are noise of the raster.

        Args:
            geometry: LineString, or positions in order.
            interval: lines: add positions, at most this many meters apart.
            output: see docs/library.md.
            timeout: seconds, after which `Timeout` is raised.
            max_bytes: memory that a query language may use.
            cancel: when set, `Cancelled` is raised.
        """
        return self._ask("elevation_profile", locals())

    def overpass(
        self,
        data: str,
        *,
        bbox: BboxLike | None = None,
        center: PositionLike | None = None,
        timeout: float | None = None,
        max_bytes: int | None = None,
        cancel: threading.Event | None = None,
    ) -> OverpassFeatures:
        """Run an Overpass QL query; the elements as features, each once.

        The order is that of the out statements, then what they ask for. `counts` and `warnings` are
        beside the features; `native` gives the original's JSON, XML or CSV.

        Args:
            data: Overpass QL; macros such as {{bbox}} and {{geocodeArea:…}} are expanded.
            bbox: south,west,north,east: what {{bbox}} stands for.
            center: lat,lng: what {{center}} stands for.
            timeout: seconds, after which `Timeout` is raised.
            max_bytes: memory that a query language may use.
            cancel: when set, `Cancelled` is raised.
        """
        return self._ask("overpass", locals())

    def sparql(
        self,
        query: str,
        *,
        timeout: float | None = None,
        max_bytes: int | None = None,
        cancel: threading.Event | None = None,
    ) -> SparqlResult:
        """Run a SPARQL query; a sequence of solutions, a boolean, or triples.

        The prefixes of osm2rdf/QLever and Sophox are declared.

        Args:
            query: SPARQL 1.1 query; the prefixes of osm2rdf/QLever and Sophox are declared.
            timeout: seconds, after which `Timeout` is raised.
            max_bytes: memory that a query language may use.
            cancel: when set, `Cancelled` is raised.
        """
        return self._ask("sparql", locals())

    def plazaql(
        self,
        data: str,
        *,
        timeout: float | None = None,
        max_bytes: int | None = None,
        cancel: threading.Event | None = None,
    ) -> PlazaFeatures:
        """Run a PlazaQL query; the features of all its outputs, each with the name of its output.

        Values such as `.count()` are in `result`, or by name in `outputs`.

        Args:
            data: PlazaQL (docs/plazaql.md).
            timeout: seconds, after which `Timeout` is raised.
            max_bytes: memory that a query language may use.
            cancel: when set, `Cancelled` is raised.
        """
        return self._ask("plazaql", locals())

    def explain_overpass(
        self,
        data: str,
        *,
        bbox: BboxLike | None = None,
        center: PositionLike | None = None,
        timeout: float | None = None,
        max_bytes: int | None = None,
        cancel: threading.Event | None = None,
    ) -> QueryPlan:
        """Run an Overpass QL query and show its steps: rows expected and found, and time.

        The query runs whole; its answer is not written.

        Args:
            data: Overpass QL; macros such as {{bbox}} and {{geocodeArea:…}} are expanded.
            bbox: south,west,north,east: what {{bbox}} stands for.
            center: lat,lng: what {{center}} stands for.
            timeout: seconds, after which `Timeout` is raised.
            max_bytes: memory that a query language may use.
            cancel: when set, `Cancelled` is raised.
        """
        return self._ask("explain_overpass", locals())

    def explain_sparql(
        self,
        query: str,
        *,
        timeout: float | None = None,
        max_bytes: int | None = None,
        cancel: threading.Event | None = None,
    ) -> QueryPlan:
        """Run a SPARQL query and show its steps: rows expected and found, and time.

        The query runs whole; its answer is not written.

        Args:
            query: SPARQL 1.1 query; the prefixes of osm2rdf/QLever and Sophox are declared.
            timeout: seconds, after which `Timeout` is raised.
            max_bytes: memory that a query language may use.
            cancel: when set, `Cancelled` is raised.
        """
        return self._ask("explain_sparql", locals())

    def tile(
        self,
        z: int,
        x: int,
        y: int,
        *,
        timeout: float | None = None,
        max_bytes: int | None = None,
        cancel: threading.Event | None = None,
    ) -> bytes:
        """Return a vector tile in the Shortbread 1.1 schema (Mapbox Vector Tile 2.1), not compressed.

        Empty bytes where nothing is in it.

        Args:
            z: zoom; 14 is drawn at higher zooms too.
            x: column, from the west.
            y: row, from the north.
            timeout: seconds, after which `Timeout` is raised.
            max_bytes: memory that a query language may use.
            cancel: when set, `Cancelled` is raised.
        """
        return self._ask("tile", locals())

    def tags(
        self,
        key: str | None = None,
        *,
        prefix: str | None = None,
        value: str | None = None,
        combinations: bool | None = None,
        history: bool | None = None,
        limit: int | None = None,
        timeout: float | None = None,
        max_bytes: int | None = None,
        cancel: threading.Event | None = None,
    ) -> TagCounts:
        """Count elements by key, or by the values of one key, the most frequent first.

        `total` is the number of keys or values there are, of which `limit` are listed. With
        `combinations` the other keys of the elements with `key` (and `value`) are counted, in
        `elements` of them: all, or 20,000 taken evenly where there are more. With `history` each row
        has its counts at the end of earlier days: of the first day that is known, of each day on which
        an update changed it, and of the day of the data; with `key` also the key itself.

        Args:
            key: count the values of this key; without, all keys.
            prefix: only keys, or values, that begin so.
            value: with combinations or history: only elements with this value of key.
            combinations: count the other keys of elements that have the key, or key and value.
            history: also the counts on earlier days, from updates.
            limit: largest number of rows; default 100.
            timeout: seconds, after which `Timeout` is raised.
            max_bytes: memory that a query language may use.
            cancel: when set, `Cancelled` is raised.
        """
        return self._ask("tags", locals())


class AsyncQuestions:
    """One method per question."""

    async def _ask(self, name: str, values: dict[str, Any]) -> Any:
        raise NotImplementedError

    async def features(
        self,
        *,
        type: Texts | None = None,
        tags: TagsLike | None = None,
        bbox: BboxLike | None = None,
        near: GeometryLike | None = None,
        radius: float | None = None,
        within: GeometryLike | None = None,
        intersects: GeometryLike | None = None,
        contains: GeometryLike | None = None,
        crosses: GeometryLike | None = None,
        touches: GeometryLike | None = None,
        not_within: GeometryLike | None = None,
        not_intersects: GeometryLike | None = None,
        not_contains: GeometryLike | None = None,
        h3: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        lang: Texts | None = None,
        output: Mapping[str, Any] | None = None,
        timeout: float | None = None,
        max_bytes: int | None = None,
        cancel: threading.Event | None = None,
    ) -> Features:
        """List elements by type, tags and place.

        Filters are ANDed; at most one of the spatial predicates may be given. The order is by
        (osm_id, type), or as `output[sort]` says.

        Args:
            type: element types, all by default.
            tags: tag filters, all must hold: tags[amenity]=cafe, cafe|bar (one of), ~^Caf (regular
                expression, RE2), * (any value), ! (no such tag); or tags=amenity=cafe,
                tags=amenity:cafe, tags=amenity; a backslash escapes | * ! ~.
            bbox: south,west,north,east; geometries that have a point in common with it.
            near: within radius of lat,lng or of a GeoJSON geometry.
            radius: meters: of around (default 500), or by which the geometry of another predicate is
                widened.
            within: GeoJSON geometry.
            intersects: GeoJSON geometry.
            contains: GeoJSON geometry.
            crosses: GeoJSON geometry.
            touches: GeoJSON geometry.
            not_within: GeoJSON geometry.
            not_intersects: GeoJSON geometry.
            not_contains: GeoJSON geometry.
            h3: H3 cell index.
            limit: page size, 1 to 1000, default 20; a stream is whole unless given, and has no largest
                limit.
            cursor: cursor of the page before.
            offset: how many to skip, instead of a cursor; a cursor wins.
            lang: languages of names, the preferred first: de, or pt-BR,pt,en.
            output: see docs/library.md.
            timeout: seconds, after which `Timeout` is raised.
            max_bytes: memory that a query language may use.
            cancel: when set, `Cancelled` is raised.
        """
        return await self._ask("features", locals())

    async def feature(
        self,
        type: Literal['node', 'relation', 'way'],
        id: int,
        *,
        lang: Texts | None = None,
        output: Mapping[str, Any] | None = None,
        timeout: float | None = None,
        max_bytes: int | None = None,
        cancel: threading.Event | None = None,
    ) -> Feature:
        """Return one element by type and id, untagged nodes included.

        Args:
            type: element type.
            id: OpenStreetMap id.
            lang: languages of names, the preferred first: de, or pt-BR,pt,en.
            output: see docs/library.md.
            timeout: seconds, after which `Timeout` is raised.
            max_bytes: memory that a query language may use.
            cancel: when set, `Cancelled` is raised.
        """
        return await self._ask("feature", locals())

    async def lookup(
        self,
        elements: Sequence[Any],
        *,
        lang: Texts | None = None,
        output: Mapping[str, Any] | None = None,
        timeout: float | None = None,
        max_bytes: int | None = None,
        cancel: threading.Event | None = None,
    ) -> Features:
        """Return up to 100 elements in the order asked; those not in the dataset are in `missing`.

        Args:
            elements: [{"type": "node", "id": 1}, …].
            lang: languages of names, the preferred first: de, or pt-BR,pt,en.
            output: see docs/library.md.
            timeout: seconds, after which `Timeout` is raised.
            max_bytes: memory that a query language may use.
            cancel: when set, `Cancelled` is raised.
        """
        return await self._ask("lookup", locals())

    async def nearby(
        self,
        at: PositionLike,
        *,
        radius: float | None = None,
        type: Texts | None = None,
        tags: TagsLike | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        lang: Texts | None = None,
        output: Mapping[str, Any] | None = None,
        timeout: float | None = None,
        max_bytes: int | None = None,
        cancel: threading.Event | None = None,
    ) -> Features:
        """Return ways, relations and tagged nodes within `radius`, nearest first, with `distance_m`.

        An area that holds the position is at distance 0.

        Args:
            at: where to search from.
            radius: search radius in meters; default 500.0.
            type: element types, all by default.
            tags: tag filters, all must hold: tags[amenity]=cafe, cafe|bar (one of), ~^Caf (regular
                expression, RE2), * (any value), ! (no such tag); or tags=amenity=cafe,
                tags=amenity:cafe, tags=amenity; a backslash escapes | * ! ~.
            limit: page size, 1 to 1000, default 20.
            cursor: cursor of the page before.
            offset: how many to skip, instead of a cursor; a cursor wins.
            lang: languages of names, the preferred first: de, or pt-BR,pt,en.
            output: see docs/library.md.
            timeout: seconds, after which `Timeout` is raised.
            max_bytes: memory that a query language may use.
            cancel: when set, `Cancelled` is raised.
        """
        return await self._ask("nearby", locals())

    async def search(
        self,
        q: str,
        *,
        type: Texts | None = None,
        tags: TagsLike | None = None,
        bbox: BboxLike | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        lang: Texts | None = None,
        output: Mapping[str, Any] | None = None,
        timeout: float | None = None,
        max_bytes: int | None = None,
        cancel: threading.Event | None = None,
    ) -> Features:
        """Find elements by name, ref, operator or brand; whole words or their beginnings.

        Order: whole names of places, whole names, all words, beginnings of words, then ref, operator
        and brand; within each by (osm_id, type).

        Args:
            q: name in any language, ref, operator or brand: whole words or their beginnings, one typo
                per word when nothing else is found.
            type: element types, all by default.
            tags: tag filters as in /features, all must hold.
            bbox: south,west,north,east; only elements that meet it.
            limit: page size, default 25; caps a stream if given.
            cursor: cursor of the page before.
            offset: how many to skip, instead of a cursor; a cursor wins.
            lang: languages of names, the preferred first: de, or pt-BR,pt,en.
            output: see docs/library.md.
            timeout: seconds, after which `Timeout` is raised.
            max_bytes: memory that a query language may use.
            cancel: when set, `Cancelled` is raised.
        """
        return await self._ask("search", locals())

    async def geocode(
        self,
        q: str | None = None,
        *,
        focus: PositionLike | None = None,
        country_code: Texts | None = None,
        lang: Texts | None = None,
        layer: Texts | None = None,
        exclude: Texts | None = None,
        shape: Literal['full', 'point'] | None = None,
        areas: bool | None = None,
        debug: bool | None = None,
        tags: TagsLike | None = None,
        bbox: BboxLike | None = None,
        bounded: bool | None = None,
        street: str | None = None,
        housenumber: str | None = None,
        postcode: str | None = None,
        city: str | None = None,
        county: str | None = None,
        state: str | None = None,
        country: str | None = None,
        amenity: str | None = None,
        neighbourhood: str | None = None,
        limit: int | None = None,
        timeout: float | None = None,
        max_bytes: int | None = None,
        cancel: threading.Event | None = None,
    ) -> Places:
        """Find a place, address or point of interest by text, or by an address in parts.

        `match` in the properties says which words were matched, how, and which were not; `confidence`
        (0-1) is how much of the query the result answers. A house number that is not mapped is placed
        between its neighbors (`source: interpolation`), or the street is returned.

        Args:
            q: address or name in any order and spelling, a kind with a place (pizzeria vaduz),
                coordinates or a plus code.
            focus: results near to it come first.
            country_code: ISO 3166-1 alpha-2 codes, one or several.
            lang: languages of names, the preferred first: de, or pt-BR,pt,en.
            layer: one or several of address (houses, streets, postcodes), poi, admin (places), street,
                postcode; with ! before them all others.
            exclude: elements that are left out: way/5,node/7.
            shape: full: the geometry of the element, with its point in the properties; default point.
            areas: true: each result has `areas`, those around it from the country to the quarter.
            debug: true: results say what their score is made of.
            tags: only elements with these tags, as in /features: tags[amenity]=pharmacy, ! for absent.
            bbox: south,west,north,east.
            bounded: false: results in bbox are only preferred, not required; default True.
            street: street, instead of q; its number may stand with it.
            housenumber: house number.
            postcode: postcode.
            city: town or village.
            county: county or district.
            state: state or region.
            country: name or ISO 3166-1 alpha-2 code; alone, too.
            amenity: name or kind of a point of interest.
            neighbourhood: quarter, suburb or district.
            limit: largest number of results; default 20.
            timeout: seconds, after which `Timeout` is raised.
            max_bytes: memory that a query language may use.
            cancel: when set, `Cancelled` is raised.
        """
        return await self._ask("geocode", locals())

    async def autocomplete(
        self,
        q: str,
        *,
        focus: PositionLike | None = None,
        country_code: Texts | None = None,
        lang: Texts | None = None,
        layer: Texts | None = None,
        exclude: Texts | None = None,
        shape: Literal['full', 'point'] | None = None,
        areas: bool | None = None,
        debug: bool | None = None,
        tags: TagsLike | None = None,
        bbox: BboxLike | None = None,
        bounded: bool | None = None,
        limit: int | None = None,
        timeout: float | None = None,
        max_bytes: int | None = None,
        cancel: threading.Event | None = None,
    ) -> Places:
        """Return what an unfinished text may become.

        House numbers are offered once a digit is typed, or when a street is typed in full.

        Args:
            q: text whose last word may be unfinished.
            focus: results near to it come first.
            country_code: ISO 3166-1 alpha-2 codes, one or several.
            lang: languages of names, the preferred first: de, or pt-BR,pt,en.
            layer: one or several of address (houses, streets, postcodes), poi, admin (places), street,
                postcode; with ! before them all others.
            exclude: elements that are left out: way/5,node/7.
            shape: full: the geometry of the element, with its point in the properties; default point.
            areas: true: each result has `areas`, those around it from the country to the quarter.
            debug: true: results say what their score is made of.
            tags: only elements with these tags, as in /features: tags[amenity]=pharmacy, ! for absent.
            bbox: south,west,north,east.
            bounded: false: results in bbox are only preferred, not required; default True.
            limit: largest number of results; default 10.
            timeout: seconds, after which `Timeout` is raised.
            max_bytes: memory that a query language may use.
            cancel: when set, `Cancelled` is raised.
        """
        return await self._ask("autocomplete", locals())

    async def reverse(
        self,
        at: PositionLike,
        *,
        radius: float | None = None,
        limit: int | None = None,
        layer: Texts | None = None,
        zoom: int | None = None,
        exclude: Texts | None = None,
        shape: Literal['full', 'point'] | None = None,
        areas: bool | None = None,
        tags: TagsLike | None = None,
        lang: Texts | None = None,
        timeout: float | None = None,
        max_bytes: int | None = None,
        cancel: threading.Event | None = None,
    ) -> Places:
        """Return the address, street or area at a position, with its distance to the real outline.

        The building that the position is in comes first, then houses of the nearest street, then other
        houses, interpolated numbers, the street, and the areas around.

        Args:
            at: the position.
            radius: largest distance, meters; default 200.0.
            limit: largest number of results; default 1.
            layer: one or several of house (address), poi, street, natural, and admin (areas), together
                by distance.
            zoom: as of a map: 3 the country, 5 the state, 8 the county, 10 the town, 14 a part of it,
                16 the street, 18 the house.
            exclude: elements that are left out: way/5,node/7.
            shape: full: the geometry of the element, with its point in the properties; default point.
            areas: true: each result has `areas`, those around it from the country to the quarter.
            tags: only elements with these tags, as in /features: tags[amenity]=pharmacy, ! for absent.
            lang: languages of names, the preferred first: de, or pt-BR,pt,en.
            timeout: seconds, after which `Timeout` is raised.
            max_bytes: memory that a query language may use.
            cancel: when set, `Cancelled` is raised.
        """
        return await self._ask("reverse", locals())

    async def geocode_batch(
        self,
        addresses: Sequence[Any] | None = None,
        *,
        csv: str | None = None,
        ndjson: str | None = None,
        limit: int | None = None,
        focus: PositionLike | None = None,
        country_code: Texts | None = None,
        lang: Texts | None = None,
        layer: Texts | None = None,
        radius: float | None = None,
        timeout: float | None = None,
        max_bytes: int | None = None,
        cancel: threading.Event | None = None,
    ) -> PlaceBatch:
        """Geocode up to 1000 rows; one collection of places per row, in input order.

        A row that cannot be read has an `error` and no places; the others are answered.

        Args:
            addresses: 1 to 1000 rows: texts, address parts ({street, housenumber, postcode, city,
                state, country}), or positions ({lat, lng}, [lng, lat], Point) for reverse.
            csv: the rows as CSV with a header line; or send the body as text/csv.
            ndjson: the rows as NDJSON; or send the body as application/jsonl.
            limit: results per row; default 1.
            focus: results near to it come first.
            country_code: ISO 3166-1 alpha-2 codes, one or several.
            lang: languages of names, the preferred first: de, or pt-BR,pt,en.
            layer: as of /geocode, for texts.
            radius: largest distance for positions, meters; default 200.0.
            timeout: seconds, after which `Timeout` is raised.
            max_bytes: memory that a query language may use.
            cancel: when set, `Cancelled` is raised.
        """
        return await self._ask("geocode_batch", locals())

    async def route(
        self,
        origin: PositionLike,
        destination: PositionLike,
        *,
        waypoints: PositionsLike | None = None,
        mode: Literal['auto', 'bicycle', 'bus', 'foot', 'hike', 'motor_scooter', 'motorcycle', 'taxi', 'truck', 'wheelchair'] | None = None,
        alternatives: int | None = None,
        steps: bool | None = None,
        lang: str | None = None,
        units: Literal['imperial', 'metric'] | None = None,
        annotations: bool | None = None,
        extra_info: Texts | None = None,
        overview: Literal['false', 'full', 'simplified'] | None = None,
        geometries: Literal['geojson', 'polyline', 'polyline6'] | None = None,
        costing: Mapping[str, Any] | None = None,
        depart_at: str | None = None,
        arrive_by: str | None = None,
        exclude: Texts | None = None,
        avoid_polygons: GeometryLike | None = None,
        avoid_lines: GeometryLike | None = None,
        avoid_points: PositionsLike | None = None,
        snap_radius: float | None = None,
        snap_radiuses: Numbers | None = None,
        snap_exclude: Texts | None = None,
        headings: Numbers | None = None,
        heading_tolerance: float | None = None,
        sides: Texts | None = None,
        through: Numbers | None = None,
        ev: Mapping[str, Any] | None = None,
        elevation: bool | None = None,
        timeout: float | None = None,
        max_bytes: int | None = None,
        cancel: threading.Event | None = None,
    ) -> Route:
        """Return the quickest route between positions.

        Properties: `distance` and `distance_m` in meters, `duration` and `duration_s` in seconds (the
        same values under both names), `mode`, `waypoints` (each position on its road, with distance
        and road name), `legs`. A position farther than `snap_radius` from every road is an error with
        the code `no_road_found`; its `details["index"]` counts origin 0, waypoints, destination.

        Args:
            origin: where the route begins.
            destination: where it ends.
            waypoints: positions on the way, in order.
            mode: how to travel: auto (a car), truck, motor_scooter, motorcycle, taxi, bus, bicycle,
                foot, wheelchair, hike; default auto.
            alternatives: other routes to look for; the answer is a collection then.
            steps: instructions, in property `steps`.
            lang: language of the instructions: de, en-GB, …; default en-US.
            units: of distances in the texts of steps; figures are in meters; default metric.
            annotations: figures per road edge, in properties `annotations` and `edges`.
            extra_info: pieces and sums of the way by surface, smoothness, tracktype, way_type,
                road_class, incline, sac_scale, maxspeed, toll, tunnel, bridge, osm_way_id, steepness,
                in property `extras`.
            overview: how fine the geometry is; false leaves it out; default full.
            geometries: polyline and polyline6 give the line as text in property `polyline`, and a null
                geometry; default geojson.
            costing: how the mode moves, where it differs from the defaults: vehicle, speeds, what it
                likes and avoids.
            depart_at: time of the departure, as 2026-06-17T08:30 in the local time of the place, or
                with an offset or Z; without any, noon of a working day counts.
            arrive_by: time of the arrival, instead of depart_at.
            exclude: toll, motorway, ferry, unpaved (motor vehicles only), tunnel, bridge.
            avoid_polygons: area not to enter: Polygon or MultiPolygon.
            avoid_lines: not to cross: LineString or MultiLineString.
            avoid_points: places whose nearest roads are not taken.
            snap_radius: a position farther from every road is refused, meters; default 1000.0.
            snap_radiuses: per position (origin, waypoints, destination), meters; null: snap_radius.
            snap_exclude: kinds of roads that no position goes to.
            headings: per position, direction of travel there, degrees clockwise from north; null: any.
            heading_tolerance: of headings, degrees to either side; default 45.0.
            sides: per position, on which side of the road it is to lie: any, same (the one that traffic
                drives on), opposite.
            through: indexes of waypoints that are passed without stopping: no new leg, and no turning
                around there.
            ev: an electric car (modes auto and taxi): its battery and what it uses; the route stops at
                charging stations where it has to.
            elevation: heights: a third coordinate, and property `elevation`.
            timeout: seconds, after which `Timeout` is raised.
            max_bytes: memory that a query language may use.
            cancel: when set, `Cancelled` is raised.
        """
        return await self._ask("route", locals())

    async def nearest(
        self,
        at: PositionLike,
        *,
        radius: float | None = None,
        mode: Literal['auto', 'bicycle', 'bus', 'foot', 'hike', 'motor_scooter', 'motorcycle', 'taxi', 'truck', 'wheelchair'] | None = None,
        number: int | None = None,
        output: Mapping[str, Any] | None = None,
        timeout: float | None = None,
        max_bytes: int | None = None,
        cancel: threading.Event | None = None,
    ) -> NearestRoads:
        """Return the places on the nearest roads that the mode may use, nearest first.

        Properties: `distance_m`, `edge_id` (of this dataset only), `edge_length_m`, `highway`, `name`,
        `surface`, `osm_way_id`.

        Args:
            at: the position.
            radius: search radius, meters; default 500.0.
            mode: how to travel: auto (a car), truck, motor_scooter, motorcycle, taxi, bus, bicycle,
                foot, wheelchair, hike; default auto.
            number: how many roads; more than 1 gives a collection; default 1.
            output: see docs/library.md.
            timeout: seconds, after which `Timeout` is raised.
            max_bytes: memory that a query language may use.
            cancel: when set, `Cancelled` is raised.
        """
        return await self._ask("nearest", locals())

    async def isochrone(
        self,
        at: PositionLike,
        time: Numbers | None = None,
        *,
        costing: Mapping[str, Any] | None = None,
        depart_at: str | None = None,
        exclude: Texts | None = None,
        avoid_polygons: GeometryLike | None = None,
        avoid_lines: GeometryLike | None = None,
        avoid_points: PositionsLike | None = None,
        contours_minutes: Numbers | None = None,
        distance: Numbers | None = None,
        mode: Literal['auto', 'bicycle', 'bus', 'foot', 'hike', 'motor_scooter', 'motorcycle', 'taxi', 'truck', 'wheelchair'] | None = None,
        others: PositionsLike | None = None,
        intersections: bool | None = None,
        count: Texts | None = None,
        population: bool | None = None,
        reverse: bool | None = None,
        denoise: float | None = None,
        polygons: bool | None = None,
        snap_radius: float | None = None,
        output: Mapping[str, Any] | None = None,
        timeout: float | None = None,
        max_bytes: int | None = None,
        cancel: threading.Event | None = None,
    ) -> Areas:
        """Return the area within reach of a position for each time or distance.

        One Polygon or MultiPolygon per value, in the order asked for, times before distances; larger
        areas hold the smaller ones. Properties: `time_seconds` or `distance_meters`, `mode`, `area_m2`.
        With `others`, `position` is the index of the area's position; the common areas of
        `intersections` come last and have `positions`.

        Args:
            at: the position.
            time: seconds, 1 to 7200, one or several.
            costing: how the mode moves, where it differs from the defaults: vehicle, speeds, what it
                likes and avoids.
            depart_at: time of the departure, as 2026-06-17T08:30 in the local time of the place, or
                with an offset or Z; without any, noon of a working day counts.
            exclude: toll, motorway, ferry, unpaved (motor vehicles only), tunnel, bridge.
            avoid_polygons: area not to enter: Polygon or MultiPolygon.
            avoid_lines: not to cross: LineString or MultiLineString.
            avoid_points: places whose nearest roads are not taken.
            contours_minutes: the same in minutes.
            distance: meters on the road, instead of time.
            mode: how to travel: auto (a car), truck, motor_scooter, motorcycle, taxi, bus, bicycle,
                foot, wheelchair, hike; default auto.
            others: further positions, up to 9: each has its areas.
            intersections: with others: per value also the area within reach of all positions.
            count: tags whose elements inside are counted, in property `counts`: amenity=cafe, shop,
                highway=bus_stop|platform.
            population: people in the cities, towns, villages and hamlets whose center lies inside, as
                far as they are tagged with a population.
            reverse: from where the position is reached, instead of what is reached.
            denoise: leave out parts and holes under this share of the largest.
            polygons: false: the outlines as lines; default True.
            snap_radius: a position farther from every road is refused, meters; default 1000.0.
            output: see docs/library.md.
            timeout: seconds, after which `Timeout` is raised.
            max_bytes: memory that a query language may use.
            cancel: when set, `Cancelled` is raised.
        """
        return await self._ask("isochrone", locals())

    async def matrix(
        self,
        origins: PositionsLike,
        destinations: PositionsLike,
        *,
        costing: Mapping[str, Any] | None = None,
        depart_at: str | None = None,
        exclude: Texts | None = None,
        avoid_polygons: GeometryLike | None = None,
        avoid_lines: GeometryLike | None = None,
        avoid_points: PositionsLike | None = None,
        mode: Literal['auto', 'bicycle', 'bus', 'foot', 'hike', 'motor_scooter', 'motorcycle', 'taxi', 'truck', 'wheelchair'] | None = None,
        fallback_speed: float | None = None,
        snap_radius: float | None = None,
        timeout: float | None = None,
        max_bytes: int | None = None,
        cancel: threading.Event | None = None,
    ) -> Matrix:
        """Return meters and seconds from every origin (rows) to every destination (columns).

        A cell is NaN (null in JSON) where no way leads. `details["index"]` of the error `no_road_found`
        counts the origins first, then the destinations.

        Args:
            origins: rows of the matrix.
            destinations: columns of the matrix.
            costing: how the mode moves, where it differs from the defaults: vehicle, speeds, what it
                likes and avoids.
            depart_at: time of the departure, as 2026-06-17T08:30 in the local time of the place, or
                with an offset or Z; without any, noon of a working day counts.
            exclude: toll, motorway, ferry, unpaved (motor vehicles only), tunnel, bridge.
            avoid_polygons: area not to enter: Polygon or MultiPolygon.
            avoid_lines: not to cross: LineString or MultiLineString.
            avoid_points: places whose nearest roads are not taken.
            mode: how to travel: auto (a car), truck, motor_scooter, motorcycle, taxi, bus, bicycle,
                foot, wheelchair, hike; default auto.
            fallback_speed: km/h: unreachable cells are filled as the crow flies at this speed.
            snap_radius: a position farther from every road is refused, meters; default 1000.0.
            timeout: seconds, after which `Timeout` is raised.
            max_bytes: memory that a query language may use.
            cancel: when set, `Cancelled` is raised.
        """
        return await self._ask("matrix", locals())

    async def match(
        self,
        trace: PositionsLike | None = None,
        *,
        gpx: str | None = None,
        radiuses: Numbers | None = None,
        timestamps: Numbers | None = None,
        accuracies: Numbers | None = None,
        mode: Literal['auto', 'bicycle', 'bus', 'foot', 'hike', 'motor_scooter', 'motorcycle', 'taxi', 'truck', 'wheelchair'] | None = None,
        steps: bool | None = None,
        lang: str | None = None,
        units: Literal['imperial', 'metric'] | None = None,
        annotations: bool | None = None,
        extra_info: Texts | None = None,
        geometries: Literal['geojson', 'polyline', 'polyline6'] | None = None,
        timeout: float | None = None,
        max_bytes: int | None = None,
        cancel: threading.Event | None = None,
    ) -> MatchedTrace:
        """Return the way that a trace was travelled on.

        A LineString, a MultiLineString where the trace has gaps, with `legs`: exactly one between each
        two consecutive trace points (`matched`, `distance`, `duration`, `way_ids`, `names`).
        `confidence` is 0 to 1: the share of points that lie on a road, each weighed by its distance
        from it; less where other roads run along as near, for detours and for breaks. `outliers` are
        points that were left out, `stops` (with timestamps) where the trace stayed.

        Args:
            trace: trace points in order of travel, 2 to 10,000.
            gpx: the trace as GPX text.
            radiuses: per point, how far its road may be, meters: default 50, at most 100.
            timestamps: per point, seconds, ascending.
            accuracies: per point, the receiver's own error, meters: points count less where it is
                larger; radiuses are three times it where none are given, 50 to 100.
            mode: how to travel: auto (a car), truck, motor_scooter, motorcycle, taxi, bus, bicycle,
                foot, wheelchair, hike; default auto.
            steps: instructions, in property `steps`.
            lang: language of the instructions: de, en-GB, …; default en-US.
            units: of distances in the texts of steps; default metric.
            annotations: figures per road edge, in each of `matchings`.
            extra_info: pieces and sums of the way by surface, way_type, steepness, … (as of routes), in
                each of `matchings`.
            geometries: polyline and polyline6 give the line of each of `matchings` as text, and a null
                geometry; default geojson.
            timeout: seconds, after which `Timeout` is raised.
            max_bytes: memory that a query language may use.
            cancel: when set, `Cancelled` is raised.
        """
        return await self._ask("match", locals())

    async def optimize(
        self,
        waypoints: PositionsLike,
        *,
        mode: Literal['auto', 'bicycle', 'bus', 'foot', 'hike', 'motor_scooter', 'motorcycle', 'taxi', 'truck', 'wheelchair'] | None = None,
        roundtrip: bool | None = None,
        source: str | None = None,
        destination: str | None = None,
        snap_radius: float | None = None,
        timeout: float | None = None,
        max_bytes: int | None = None,
        cancel: threading.Event | None = None,
    ) -> Tour:
        """Return stops in the best order of visiting, and the route through them.

        Members: `route` (a LineString feature with legs), `waypoint_order`, `distance_m`,
        `duration_s`, `total_cost_s`, `optimization`, `roundtrip`, `status`.

        Args:
            waypoints: stops, 2 to 100.
            mode: how to travel: auto (a car), truck, motor_scooter, motorcycle, taxi, bus, bicycle,
                foot, wheelchair, hike; default auto.
            roundtrip: end where the tour began; default True.
            source: first: begin at the first waypoint; any; or an index; default first.
            destination: any; last: end at the last waypoint; or an index (no round trips); default any.
            snap_radius: a position farther from every road is refused, meters; default 1000.0.
            timeout: seconds, after which `Timeout` is raised.
            max_bytes: memory that a query language may use.
            cancel: when set, `Cancelled` is raised.
        """
        return await self._ask("optimize", locals())

    async def plan_tours(
        self,
        vehicles: Sequence[Any],
        jobs: Sequence[Any] | None = None,
        shipments: Sequence[Any] | None = None,
        *,
        matrices: Any | None = None,
        options: Any | None = None,
        snap_radius: float | None = None,
        timeout: float | None = None,
        max_bytes: int | None = None,
        cancel: threading.Event | None = None,
    ) -> TourPlan:
        """Return tours of several vehicles over jobs and shipments, in the form of VROOM.

        Members: `summary`, `routes` (with `steps`: arrivals, loads, distances), `unassigned` with a
        `reason` each. Members of the problem that VROOM does not know are refused by name.

        Args:
            vehicles: id, profile (a mode), start, end, capacity, skills, time_window, breaks, costs,
                speed_factor, max_tasks, max_travel_time, max_distance, steps.
            jobs: id, location, service, setup, delivery, pickup, skills, priority, time_windows.
            shipments: pickup and delivery (id, location, service, time_windows), amount, skills,
                priority.
            matrices: per profile your own durations, distances, costs; else ours.
            options: g: lines of the tours; c: keep the vehicles' steps, and time them.
            snap_radius: a position farther from every road is refused, meters; default 1000.0.
            timeout: seconds, after which `Timeout` is raised.
            max_bytes: memory that a query language may use.
            cancel: when set, `Cancelled` is raised.
        """
        return await self._ask("plan_tours", locals())

    async def elevation(
        self,
        coordinates: PositionsLike,
        *,
        output: Mapping[str, Any] | None = None,
        timeout: float | None = None,
        max_bytes: int | None = None,
        cancel: threading.Event | None = None,
    ) -> Heights:
        """Return heights of positions in meters above the sea (EGM96), in input order.

        Bilinear between the cells of the raster; null where there is no data. Small voids are filled
        from around, which property `filled` tells.

        Args:
            coordinates: positions.
            output: see docs/library.md.
            timeout: seconds, after which `Timeout` is raised.
            max_bytes: memory that a query language may use.
            cancel: when set, `Cancelled` is raised.
        """
        return await self._ask("elevation", locals())

    async def elevation_profile(
        self,
        geometry: PositionsLike,
        *,
        interval: float | None = None,
        output: Mapping[str, Any] | None = None,
        timeout: float | None = None,
        max_bytes: int | None = None,
        cancel: threading.Event | None = None,
    ) -> Profile:
        """Return a line with its heights, and the figures of its profile.

        Ascent and descent leave out ups and downs below 5 m, which are noise of the raster.

        Args:
            geometry: LineString, or positions in order.
            interval: lines: add positions, at most this many meters apart.
            output: see docs/library.md.
            timeout: seconds, after which `Timeout` is raised.
            max_bytes: memory that a query language may use.
            cancel: when set, `Cancelled` is raised.
        """
        return await self._ask("elevation_profile", locals())

    async def overpass(
        self,
        data: str,
        *,
        bbox: BboxLike | None = None,
        center: PositionLike | None = None,
        timeout: float | None = None,
        max_bytes: int | None = None,
        cancel: threading.Event | None = None,
    ) -> OverpassFeatures:
        """Run an Overpass QL query; the elements as features, each once.

        The order is that of the out statements, then what they ask for. `counts` and `warnings` are
        beside the features; `native` gives the original's JSON, XML or CSV.

        Args:
            data: Overpass QL; macros such as {{bbox}} and {{geocodeArea:…}} are expanded.
            bbox: south,west,north,east: what {{bbox}} stands for.
            center: lat,lng: what {{center}} stands for.
            timeout: seconds, after which `Timeout` is raised.
            max_bytes: memory that a query language may use.
            cancel: when set, `Cancelled` is raised.
        """
        return await self._ask("overpass", locals())

    async def sparql(
        self,
        query: str,
        *,
        timeout: float | None = None,
        max_bytes: int | None = None,
        cancel: threading.Event | None = None,
    ) -> SparqlResult:
        """Run a SPARQL query; a sequence of solutions, a boolean, or triples.

        The prefixes of osm2rdf/QLever and Sophox are declared.

        Args:
            query: SPARQL 1.1 query; the prefixes of osm2rdf/QLever and Sophox are declared.
            timeout: seconds, after which `Timeout` is raised.
            max_bytes: memory that a query language may use.
            cancel: when set, `Cancelled` is raised.
        """
        return await self._ask("sparql", locals())

    async def plazaql(
        self,
        data: str,
        *,
        timeout: float | None = None,
        max_bytes: int | None = None,
        cancel: threading.Event | None = None,
    ) -> PlazaFeatures:
        """Run a PlazaQL query; the features of all its outputs, each with the name of its output.

        Values such as `.count()` are in `result`, or by name in `outputs`.

        Args:
            data: PlazaQL (docs/plazaql.md).
            timeout: seconds, after which `Timeout` is raised.
            max_bytes: memory that a query language may use.
            cancel: when set, `Cancelled` is raised.
        """
        return await self._ask("plazaql", locals())

    async def explain_overpass(
        self,
        data: str,
        *,
        bbox: BboxLike | None = None,
        center: PositionLike | None = None,
        timeout: float | None = None,
        max_bytes: int | None = None,
        cancel: threading.Event | None = None,
    ) -> QueryPlan:
        """Run an Overpass QL query and show its steps: rows expected and found, and time.

        The query runs whole; its answer is not written.

        Args:
            data: Overpass QL; macros such as {{bbox}} and {{geocodeArea:…}} are expanded.
            bbox: south,west,north,east: what {{bbox}} stands for.
            center: lat,lng: what {{center}} stands for.
            timeout: seconds, after which `Timeout` is raised.
            max_bytes: memory that a query language may use.
            cancel: when set, `Cancelled` is raised.
        """
        return await self._ask("explain_overpass", locals())

    async def explain_sparql(
        self,
        query: str,
        *,
        timeout: float | None = None,
        max_bytes: int | None = None,
        cancel: threading.Event | None = None,
    ) -> QueryPlan:
        """Run a SPARQL query and show its steps: rows expected and found, and time.

        The query runs whole; its answer is not written.

        Args:
            query: SPARQL 1.1 query; the prefixes of osm2rdf/QLever and Sophox are declared.
            timeout: seconds, after which `Timeout` is raised.
            max_bytes: memory that a query language may use.
            cancel: when set, `Cancelled` is raised.
        """
        return await self._ask("explain_sparql", locals())

    async def tile(
        self,
        z: int,
        x: int,
        y: int,
        *,
        timeout: float | None = None,
        max_bytes: int | None = None,
        cancel: threading.Event | None = None,
    ) -> bytes:
        """Return a vector tile in the Shortbread 1.1 schema (Mapbox Vector Tile 2.1), not compressed.

        Empty bytes where nothing is in it.

        Args:
            z: zoom; 14 is drawn at higher zooms too.
            x: column, from the west.
            y: row, from the north.
            timeout: seconds, after which `Timeout` is raised.
            max_bytes: memory that a query language may use.
            cancel: when set, `Cancelled` is raised.
        """
        return await self._ask("tile", locals())

    async def tags(
        self,
        key: str | None = None,
        *,
        prefix: str | None = None,
        value: str | None = None,
        combinations: bool | None = None,
        history: bool | None = None,
        limit: int | None = None,
        timeout: float | None = None,
        max_bytes: int | None = None,
        cancel: threading.Event | None = None,
    ) -> TagCounts:
        """Count elements by key, or by the values of one key, the most frequent first.

        `total` is the number of keys or values there are, of which `limit` are listed. With
        `combinations` the other keys of the elements with `key` (and `value`) are counted, in
        `elements` of them: all, or 20,000 taken evenly where there are more. With `history` each row
        has its counts at the end of earlier days: of the first day that is known, of each day on which
        an update changed it, and of the day of the data; with `key` also the key itself.

        Args:
            key: count the values of this key; without, all keys.
            prefix: only keys, or values, that begin so.
            value: with combinations or history: only elements with this value of key.
            combinations: count the other keys of elements that have the key, or key and value.
            history: also the counts on earlier days, from updates.
            limit: largest number of rows; default 100.
            timeout: seconds, after which `Timeout` is raised.
            max_bytes: memory that a query language may use.
            cancel: when set, `Cancelled` is raised.
        """
        return await self._ask("tags", locals())
