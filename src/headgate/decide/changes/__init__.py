"""What a change of policies would do: whose lens becomes another, whether anybody would see more, and what policies that still
wait would have reached.
"""
