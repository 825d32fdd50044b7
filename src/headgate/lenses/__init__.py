"""What a lens leaves of a table in storage: governed copies of data files, and governed metadata over them. Reads a
table's manifests and writes new ones through the storage it is given; knows no principals, no HTTP, no SQL and no Spark."""
