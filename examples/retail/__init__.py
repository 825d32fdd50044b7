"""A small shop in three regions: its tables, its people, its policies, and the same query as each of them in three engines."""
