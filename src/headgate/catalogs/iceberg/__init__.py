"""The Iceberg format as all Iceberg catalogs share it: types, layout, changes of metadata, partitions, storage.

Table and view metadata are also read, checked and rewritten as the plain JSON documents they are, so nothing that a
newer client put there is lost. Comes in: descriptions of the model; documents with the updates of a commit. Goes out:
metadata. Knows no catalog and no store.
"""
