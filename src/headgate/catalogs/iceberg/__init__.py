"""The Iceberg format as all Iceberg catalogs share it: types, layout, changes of metadata, partitions, storage.

Comes in: descriptions of the model. Goes out: pyiceberg's metadata, and back. Knows no catalog and no store.
"""
