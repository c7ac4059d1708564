"""OSRM's binding behind a bare Starlette, for `bench.routing_http` to compare with.

python -m bench.osrm_server BASE.osrm PORT
"""

from __future__ import annotations

import sys

import orjson
import osrm
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route


def main(base: str, port: str) -> None:
    engine = osrm.OSRM(
        algorithm="MLD", storage_config=base, use_shared_memory=False,
        max_locations_trip=500, max_locations_viaroute=500, max_locations_distance_table=2_000,
        max_locations_map_matching=20_000, max_results_nearest=10, max_alternatives=3,
        default_radius="unlimited",
    )  # fmt: skip

    async def route(request: Request) -> Response:
        places = [
            [float(part) for part in place.split(",")]
            for place in request.path_params["places"].split(";")
        ]
        ask = osrm.RouteParameters(coordinates=places, overview="full", radiuses=[1000, 1000])
        try:
            found = engine.Route(ask)
        except RuntimeError as error:
            return Response(str(error), 400)
        routes = [
            {"distance": one["distance"], "duration": one["duration"],
             "geometry": str(one["geometry"])}
            for one in found["routes"]
        ]  # fmt: skip
        waypoints = [
            {"location": list(one["location"]), "distance": one["distance"], "name": one["name"]}
            for one in found["waypoints"]
        ]
        body = {"code": "Ok", "routes": routes, "waypoints": waypoints}
        return Response(orjson.dumps(body), media_type="application/json")

    app = Starlette(routes=[Route("/route/{places}", route)])
    uvicorn.run(app, host="127.0.0.1", port=int(port), log_level="error", access_log=False)


if __name__ == "__main__":
    main(*sys.argv[1:])
