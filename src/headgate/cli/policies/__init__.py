"""Policies and what they do: one by one, as code, tested, decided, explained, and the copies that readers are given."""
