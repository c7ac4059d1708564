"""For the system's Python, where QGIS is: load layers of a server, draw them, say what came."""

from __future__ import annotations

import json
import os
import sys

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
from qgis.core import (  # type: ignore[import-not-found]
    QgsApplication,
    QgsCoordinateReferenceSystem,
    QgsMapRendererParallelJob,
    QgsMapSettings,
    QgsRectangle,
    QgsVectorLayer,
    QgsVectorTileLayer,
)
from qgis.PyQt.QtCore import QSize  # type: ignore[import-not-found]
from qgis.PyQt.QtGui import QColor  # type: ignore[import-not-found]

server, tiles, picture = sys.argv[1:]
application = QgsApplication([], False)
application.initQgis()

buildings = QgsVectorLayer(
    f"pagingEnabled='true' restrictToRequestBBOX='1' typename='buildings' url='{server}/ogc'",
    "buildings",
    "OAPIF",
)
base = QgsVectorTileLayer(f"type=xyz&url={tiles}&zmin=0&zmax=14", "tiles")
found = {
    "features": buildings.isValid(),
    "tiles": base.isValid(),
    "crs": buildings.crs().authid(),
    "fields": [field.name() for field in buildings.fields()],
    "geometry": buildings.geometryType(),
}


def render(layers: list[object], crs: str, box: QgsRectangle, name: str) -> int:
    """Draw layers into a picture; return how many colors it has."""
    settings = QgsMapSettings()
    settings.setLayers(layers)
    settings.setDestinationCrs(QgsCoordinateReferenceSystem(crs))
    settings.setExtent(box)
    settings.setOutputSize(QSize(500, 500))
    settings.setBackgroundColor(QColor(255, 255, 255))
    job = QgsMapRendererParallelJob(settings)
    job.start()
    job.waitForFinished()
    image = job.renderedImage()
    image.save(f"{picture}-{name}.png")
    return len({image.pixel(x, y) for x in range(0, 500, 5) for y in range(0, 500, 5)})


monaco = QgsRectangle(7.420, 43.735, 7.427, 43.741)
found["colors of features"] = render([buildings], "EPSG:4326", monaco, "features")
found["colors of tiles"] = render(
    [base], "EPSG:3857", QgsRectangle(825800, 5424000, 827300, 5425500), "tiles"
)
buildings.setSubsetString("")
found["count"] = sum(1 for _ in buildings.getFeatures(monaco))
sys.stdout.write("FOUND" + json.dumps(found) + "\n")
sys.stdout.flush()
del buildings, base
application.exitQgis()
