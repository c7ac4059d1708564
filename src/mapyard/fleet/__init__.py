"""Beyond one machine: a map cut into regions, built and served by many; imported when asked for."""
