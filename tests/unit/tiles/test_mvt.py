from __future__ import annotations

import mapbox_vector_tile
import numpy as np
import pytest

from mapyard.store.columns import offsets_of
from mapyard.tiles.mvt import (
    Batch,
    encode_tile,
    encode_value,
    encode_varints,
    varint,
    varint_lengths,
)
from mapyard.tiles.shapes import LINE, POINT, POLYGON, Shapes


class ListedValues:
    """Encoded values of a list."""

    def __init__(self, values: list[str | bool | int | float]) -> None:
        self._messages = [encode_value(value) for value in values]

    def take(self, indexes: np.ndarray) -> list[bytes]:
        return [self._messages[i] for i in indexes.tolist()]


def make_shapes(features: list[list[list[tuple[int, int]]]]) -> Shapes:
    runs = [run for feature in features for run in feature]
    xy = np.array([point for run in runs for point in run], np.int64).reshape(-1, 2)
    return Shapes(
        xy,
        offsets_of(np.array([len(run) for run in runs])),
        offsets_of(np.array([len(feature) for feature in features])),
    )


def test_varints_are_those_of_protobuf() -> None:
    numbers = np.array([0, 1, 127, 128, 300, 16_383, 16_384, 2**32, 2**63, 2**64 - 1], np.uint64)
    expected = b"".join(varint(int(n)) for n in numbers)
    assert varint(300) == b"\xac\x02"
    assert encode_varints(numbers, varint_lengths(numbers)).tobytes() == expected
    assert varint_lengths(numbers).tolist() == [1, 1, 1, 2, 2, 2, 3, 5, 10, 10]
    assert encode_varints(numbers[:0], varint_lengths(numbers[:0])).tobytes() == b""


def test_a_tile_of_all_kinds_decodes_to_what_went_in() -> None:
    features = [
        [[(5, 7)]],
        [[(0, 0), (10, 0), (10, 20)], [(4000, 4000), (4100, -64)]],
        [[(0, 0), (100, 0), (100, 100), (0, 100)], [(10, 10), (10, 20), (20, 20), (20, 10)]],
        [[(2, 2)]],
    ]
    values = ListedValues(["café", True, False, 12, -3, 1.5])
    batch = Batch(
        layer=np.array([0, 1, 2, 2]),
        kind=np.array([POINT, LINE, POLYGON, POINT], np.uint8),
        ids=np.array([11, 2**40 + 2, 33, 41], np.uint64),
        shapes=make_shapes(features),
        tag_counts=np.array([2, 0, 3, 1]),
        tag_attribute=np.array([0, 1, 2, 3, 4, 2]),
        tag_value=np.array([0, 3, 1, 4, 5, 2]),
    )
    data = encode_tile(batch, ["a", "b", "c"], ["name", "n", "flag", "low", "f"], values)
    tile = mapbox_vector_tile.decode(data, default_options={"y_coord_down": True})
    assert list(tile) == ["a", "b", "c"]
    assert tile["a"]["features"][0]["properties"] == {"name": "café", "n": 12}
    assert tile["a"]["features"][0]["geometry"]["coordinates"] == [5, 7]
    line = tile["b"]["features"][0]
    assert line["id"] == 2**40 + 2
    assert line["properties"] == {}
    assert line["geometry"]["coordinates"] == [
        [[0, 0], [10, 0], [10, 20]],
        [[4000, 4000], [4100, -64]],
    ]
    area, point = tile["c"]["features"]
    assert area["properties"] == {"flag": True, "low": -3, "f": 1.5}
    assert len(area["geometry"]["coordinates"]) == 2
    assert area["geometry"]["coordinates"][0][:4] == [[0, 0], [100, 0], [100, 100], [0, 100]]
    assert point["properties"] == {"flag": False}
    assert tile["c"]["version"] == 2
    assert tile["c"]["extent"] == 4096


def test_keys_and_values_are_stored_once_per_layer() -> None:
    count = 50
    batch = Batch(
        layer=np.zeros(count, np.int64),
        kind=np.full(count, POINT, np.uint8),
        ids=np.arange(count, dtype=np.uint64),
        shapes=make_shapes([[[(i, i)]] for i in range(count)]),
        tag_counts=np.ones(count, np.int64),
        tag_attribute=np.zeros(count, np.int64),
        tag_value=np.zeros(count, np.int64),
    )
    data = encode_tile(batch, ["a"], ["name"], ListedValues(["only once"]))
    assert data.count(b"only once") == 1
    assert data.count(b"name") == 1
    assert encode_tile(batch, ["a"], ["name"], ListedValues(["only once"])) == data


def test_no_features_make_no_tile() -> None:
    empty = Batch(
        np.empty(0, np.int64), np.empty(0, np.uint8), np.empty(0, np.uint64), make_shapes([]),
        np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int64),
    )  # fmt: skip
    assert encode_tile(empty, ["a"], ["name"], ListedValues([])) == b""


@pytest.mark.parametrize("seed", range(5))
def test_random_lines_come_back(seed: int) -> None:
    random = np.random.default_rng(seed)
    features = []
    for _ in range(40):
        runs = []
        for _ in range(random.integers(1, 4)):
            steps = random.integers(-3000, 3000, (random.integers(2, 9), 2))
            runs.append([tuple(p) for p in np.cumsum(steps, axis=0).tolist()])
        features.append(runs)
    count = len(features)
    batch = Batch(
        layer=np.sort(random.integers(0, 3, count)),
        kind=np.full(count, LINE, np.uint8),
        ids=random.integers(0, 2**50, count).astype(np.uint64),
        shapes=make_shapes(features),
        tag_counts=np.zeros(count, np.int64),
        tag_attribute=np.empty(0, np.int64),
        tag_value=np.empty(0, np.int64),
    )
    data = encode_tile(batch, ["a", "b", "c"], [], ListedValues([]))
    tile = mapbox_vector_tile.decode(data, default_options={"y_coord_down": True})
    decoded = [f for layer in tile.values() for f in layer["features"]]
    assert [f["id"] for f in decoded] == batch.ids.tolist()
    for feature, runs in zip(decoded, features, strict=True):
        lines = feature["geometry"]["coordinates"]
        if feature["geometry"]["type"] == "LineString":
            lines = [lines]
        assert [[tuple(p) for p in line] for line in lines] == runs
