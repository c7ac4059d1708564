import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mapyard.geo.azimuthal import project, unproject
from mapyard.geo.sphere import haversine_m

LON = st.floats(-180, 180)
LAT = st.floats(-90, 90)


@given(LON, LAT, LON, LAT)
def test_distance_from_the_center_is_the_sphere_s(lon, lat, lon0, lat0):
    distance = float(haversine_m(lon, lat, lon0, lat0))
    if distance > 20_000_000:  # all directions meet at the antipode
        return
    xy = project(np.array([lon]), np.array([lat]), lon0, lat0)
    assert abs(float(np.hypot(*xy[0])) - distance) < 0.01


@given(LON, st.floats(-89, 89), st.floats(-200_000, 200_000), st.floats(-200_000, 200_000))
def test_there_and_back(lon0, lat0, x, y):
    lonlat = unproject(np.array([[x, y]]), lon0, lat0)
    back = project(lonlat[:, 0], lonlat[:, 1], lon0, lat0)
    assert np.allclose(back, [[x, y]], atol=0.01)


def test_directions():
    assert np.allclose(project(10.0, 51.0, 10.0, 50.0), [0, 111_195], atol=1)
    east = project(10.001, 50.0, 10.0, 50.0)
    assert east[0] > 0
    assert abs(east[1]) < 0.01
