"""What every adapter of another system stands on: claimed places, ids of columns, pointers, and the line to the system.

Comes in: what the other system says of its tables, which is believed in nothing that concerns anybody else's. Goes out:
documents and descriptions of tables that have their places to themselves, or a refusal.
"""
