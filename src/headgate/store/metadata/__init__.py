"""What objects have besides their row: places, what is kept of dropped ones, pointers to metadata of native tables, versions
of models, and statistics."""
