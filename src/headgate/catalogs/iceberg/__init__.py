"""Iceberg's table and view metadata as the JSON documents they are.

Documents are read, checked and rewritten as plain JSON, so nothing that a newer client put there is lost, whatever the
format version. Comes in: a document and the updates and requirements of a commit. Goes out: a new document.
"""
