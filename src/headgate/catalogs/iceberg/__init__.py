"""The Iceberg format as all Iceberg catalogs share it: documents, types, layout, partitions, storage.

A table's metadata is read, checked and rewritten as the JSON document it is, so nothing that a newer client put there is
lost, whatever the format version. Comes in: descriptions of the model, or the updates and requirements of a commit. Goes
out: documents, and descriptions of them. Knows no catalog and no store.
"""
