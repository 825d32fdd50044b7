"""What privileges let people do: actions in one vocabulary, what each system declares of its own privileges, and what everybody may
do in effect once groups, roles, gates, inheritance and denials are counted. Comes in: facts. Goes out: accesses. No I/O.
"""
