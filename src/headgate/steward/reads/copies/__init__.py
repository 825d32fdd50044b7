"""Governed copies: which exist, which are wanted, who makes them, and when they go."""
