"""The tree of objects: metalakes, catalogs, schemas, tables and views, and the places where their files lie.

What lives in another system is asked there through `catalogs`; what Headgate keeps by itself is in `kept`.
"""
