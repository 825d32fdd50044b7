"""Policies tried out on a lake that is only described, and the tests that a team writes for them."""
