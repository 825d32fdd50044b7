"""Policies as the decision point holds them: parsed rules, the clauses that bind a table, what they stand on, who stands
behind them, the lens that they make together, and why it is what it is.
"""
