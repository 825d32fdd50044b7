"""Policies, tags and keys of masks: written, checked, inspected; and the guard that lets nobody widen their own view."""
