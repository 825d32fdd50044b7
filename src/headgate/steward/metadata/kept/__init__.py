"""Objects that no other system keeps: filesets, topics, models, functions and job templates live in the store alone."""
