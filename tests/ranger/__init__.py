"""Apache Ranger's own policy engine in a small program of ours, asked line by line."""
