"""The engines' side: what an engine is told so that it works with a catalog.

Comes in: a catalog as its caller may see it, and which engine asks. Goes out: text. Knows the words of other people's engines;
decides nothing about access and reads no store. `config` writes the settings of clients.
"""
