"""The policies of one system at one time: small facts, the snapshot document that is written and read from them, and the map of
principals between two systems. Nothing here does I/O, and nothing here knows what a privilege means.
"""
