"""The index between manifests and plans: each manifest as a segment of small columns, kept in memory and on disk, with what is
known of its columns and which delete files apply to which data files.
"""
