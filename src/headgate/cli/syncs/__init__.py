"""Policies of other systems, as `headgate sync` shows them."""
