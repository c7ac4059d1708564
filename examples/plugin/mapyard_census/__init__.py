"""An example plugin for Mapyard: how many elements of each kind there are in an area."""

from mapyard.cli.commands import Command
from mapyard_census import endpoint
from mapyard_census.step import STEP

ENDPOINTS = (endpoint,)
QUESTIONS = {"census": "mapyard_census.question"}
STEPS = (STEP,)
COMMANDS = {"census": Command("mapyard_census.command", "Count elements by kind in a box.")}
