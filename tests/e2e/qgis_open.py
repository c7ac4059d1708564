"""For the system's Python, where QGIS is: open a project, draw it, say what is in it."""

from __future__ import annotations

import json
import os
import sys

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
from qgis.core import (  # type: ignore[import-not-found]
    QgsApplication,
    QgsMapRendererParallelJob,
    QgsMapSettings,
    QgsProject,
    QgsRectangle,
)
from qgis.PyQt.QtCore import QSize  # type: ignore[import-not-found]

file, picture = sys.argv[1:]
application = QgsApplication([], False)
application.initQgis()
project = QgsProject.instance()
opened = project.read(file)
layers = list(project.mapLayers().values())
settings = QgsMapSettings()
settings.setLayers(project.layerTreeRoot().layerOrder())
settings.setDestinationCrs(project.crs())
settings.setExtent(QgsRectangle(825800, 5424000, 827300, 5425500))
settings.setOutputSize(QSize(800, 800))
job = QgsMapRendererParallelJob(settings)
job.start()
job.waitForFinished()
image = job.renderedImage()
image.save(picture)
found = {
    "opened": opened,
    "layers": {layer.name(): layer.isValid() for layer in layers},
    "colors": len({image.pixel(x, y) for x in range(0, 800, 4) for y in range(0, 800, 4)}),
}
sys.stdout.write("FOUND" + json.dumps(found) + "\n")
sys.stdout.flush()
os._exit(0)  # QGIS tears down what Python still holds
