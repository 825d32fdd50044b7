"""Scan planning for a caller: plans are made or answered from what was evaluated before, go on in the background, and are
recorded; partitions are listed from the same files.
"""
