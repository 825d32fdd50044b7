"""The wheel is built and installed once for all that is asked of it."""

from tests.packaging.installed import installed, wheel

__all__ = ["installed", "wheel"]
