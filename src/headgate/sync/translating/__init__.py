"""From one system's words to another's: into the canonical form, and from it into what a target can hold. A translation is exact,
or narrower and recorded as a loss, never wider. Comes in: facts and the capabilities of both. Goes out: facts and losses. No I/O.
"""
