"""All commands: name, module, and the line that `mapyard --help` shows without importing it."""

from __future__ import annotations

from typing import Final, NamedTuple

#: Commands that are made from a question of the library of the same name.
ASK: Final = "mapyard.cli.ask.command"


class Command(NamedTuple):
    """Where a command is and what it does. A module has `command` (a function) or `app`."""

    module: str
    summary: str
    panel: str = "Plugins"


def _data(module: str, summary: str) -> Command:
    return Command(f"mapyard.cli.{module}", summary, "Data")


def _ask(summary: str, module: str = ASK) -> Command:
    return Command(module, summary, "Ask")


def _serve(module: str, summary: str) -> Command:
    return Command(f"mapyard.cli.{module}", summary, "Serve")


COMMANDS: Final[dict[str, Command]] = {
    "demo": _serve("demo", "Build and serve the demo dataset, with a key to try."),
    "serve": _serve("serve", "Serve the current dataset."),
    "open": _serve("open", "Print a link that opens the operator's map page once."),
    "mcp": _serve("mcp", "Serve tools for an assistant."),
    "accounts": _serve("accounts", "Create, list, show, back up and restore accounts."),
    "keys": _serve("keys", "Create, list and revoke API keys."),
    "doctor": _serve("doctor", "Look at settings, permissions, limits, disk and servers."),
    "settings": _serve("settings", "Show every setting."),
    "install-service": _serve("install_service", "Install as a service of systemd."),
    "uninstall-service": _serve("uninstall_service", "Stop and remove that service."),
    "build": _data("build", "Build a dataset out of OpenStreetMap extracts."),
    "regions": _data("regions", "Cut a large extract into regions."),
    "fleet": _serve("fleet", "Build and serve a map on many machines."),
    "update": _data("update", "Fetch and apply what changed since."),
    "status": _data("status", "Show the served dataset and its age."),
    "datasets": _data("datasets", "Maps of a data folder; files of your own."),
    "speeds": _data("speeds", "Speeds of your own, for routes, matrices and areas."),
    "export": _data("export", "Write elements to a file: GeoParquet, GeoPackage, CSV, …"),
    "bulk": _data("bulk", "Ask a question of every row of a file."),
    "tiles": _data("tiles", "Write vector tiles to a file."),
    "geocode": _ask("Find an address or place, or those of a CSV file.", "mapyard.cli.geocode"),
    "autocomplete": _ask("Complete a text while it is typed."),
    "reverse": _ask("Find what is at a position."),
    "search": _ask("Find elements by name."),
    "features": _ask("List elements by type, tags and place."),
    "feature": _ask("Show one element."),
    "lookup": _ask("Show several elements."),
    "nearby": _ask("List the elements nearest to a position."),
    "tags": _ask("Count keys, or the values of a key."),
    "route": _ask("Find the way between positions."),
    "isochrone": _ask("Find the area within reach."),
    "matrix": _ask("Compute distances and times between many positions."),
    "nearest": _ask("Find the nearest road."),
    "match": _ask("Put a GPS trace on roads."),
    "optimize": _ask("Find the best order of visiting stops."),
    "plan-tours": _ask("Plan tours of several vehicles."),
    "elevation": _ask("Show the height of positions."),
    "elevation-profile": _ask("Show the heights along a line."),
    "query": _ask("Run an Overpass QL query.", "mapyard.cli.query"),
    "plazaql": _ask("Run a PlazaQL query.", "mapyard.cli.plazaql"),
    "sparql": _ask("Run a SPARQL query.", "mapyard.cli.sparql"),
    "overpass": _ask("Write an Overpass query in another form.", "mapyard.cli.overpass"),
    "tile": _ask("Write one vector tile."),
    "docs": _serve("docs", "Write the reference, or man pages and completions."),
}
