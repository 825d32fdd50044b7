"""How tests of the hunt are marked: they share one server and one Spark."""

import pytest

HUNT = [
    pytest.mark.real,
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.xdist_group("leaks"),
    # py4j and pyiceberg leave their sockets to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning"),
]
