"""Two systems held against each other: what differs in what is written and in what people may do, in memory or on Spark, and the
three-way merge that keeps two systems in step. Comes in: facts of both. Goes out: differences and clashes.
"""
