"""The version of this software: that of the tag it was built from."""

from __future__ import annotations

try:
    from mapyard._version import __version__
except ImportError:  # a source tree that was never set up
    __version__ = "0+unknown"

__all__ = ["__version__"]
