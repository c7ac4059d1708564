"""The published Python client asks SPARQL, unchanged, against a running server."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import plaza
import pytest

from osm_files import EXAMPLES
from servers import copy_data, running

QUERY = 'SELECT ?s ?name WHERE { ?s osm:name ?name . ?s osm:amenity "cafe" } LIMIT 10'


def test_the_client_s_own_example(build_once: Callable[..., Path], tmp_path: Path) -> None:
    source = build_once("monaco-store", EXAMPLES / "monaco.osm.pbf", ["store"])
    data = copy_data(source, tmp_path / "data")
    with (
        running(data, tmp_path / "log") as server,
        plaza.Plaza(
            base_url=server.address,
            api_key=server.key,
            max_retries=0,
            _strict_response_validation=True,
        ) as client,
    ):
        answer = client.v1.execute_sparql(query=QUERY)
        assert len(answer.results) == 10
        assert all(feature.properties["name"] for feature in answer.results)
        assert answer.results[0].geometry.type == "Point"
        with pytest.raises(plaza.BadRequestError) as caught:
            client.v1.execute_sparql(query="SELECT ?s WHERE { ?s osm:amenity cafe }")
        assert caught.value.body["error"]["code"] == "invalid_query"  # type: ignore[index]
