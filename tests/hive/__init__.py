"""A real Hive Metastore for tests: Derby in a folder of its own, on a port of its own, and gone afterwards."""
