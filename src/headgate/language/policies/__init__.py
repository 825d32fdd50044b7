"""Policies as documents: YAML and JSON in, frozen policies out, and back in the one normal form."""
