"""PlazaQL, the query language of the service's own clients (docs/plazaql.md).

The way of a query: `parse` makes statements of a text, `plan` checks names, arguments and the order
of methods before anything runs, `run` finds the elements. Services such as routes and geocoding are
asked through callables that the caller hands over (`run/services.py`).
"""
