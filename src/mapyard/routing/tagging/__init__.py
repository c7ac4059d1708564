"""From OSM's tags to what the engine's tile builder understands: one pass over a file.

The engine reads OSM's tags itself, but only some of them, and some otherwise than they are meant.
So `rewriting.rewrite` reads the rules of access, barriers, directions, turns and speeds here, once,
and writes them as the few tags that the engine takes at their word.
"""
