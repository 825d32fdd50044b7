"""Promise: an engine that is not decided about for some kind of catalog does not exist; versions are those that the worker runs."""

import msgspec
import pytest

from headgate.engines.config import iceberg_java, words
from headgate.engines.config.catalog import Behind
from headgate.engines.config.names import FORMATS, EngineName
from headgate.engines.config.writing import ENGINES
from headgate.pipelines import needs


@pytest.mark.parametrize("name", EngineName)
@pytest.mark.parametrize("kind", Behind)
def test_a_kind_that_is_left_out_or_said_twice_is_named(name: EngineName, kind: Behind) -> None:
    known = ENGINES[name]
    native = {key: writer for key, writer in known.native.items() if key is not kind}
    refused = {key: why for key, why in known.refused.items() if key is not kind}
    with pytest.raises(TypeError, match=rf"{name}: settings for {kind} are"):
        msgspec.structs.replace(known, native=native, refused=refused)
    with pytest.raises(TypeError, match=rf"{name}: settings for {kind} are"):
        msgspec.structs.replace(
            known, native={**native, kind: known.headgate}, refused={**refused, kind: "twice"}
        )


def test_every_engine_has_formats_and_every_kind_without_tables_is_refused_both_ways() -> None:
    assert all(FORMATS[name] for name in EngineName)
    for kind in words.NO_TABLES.keys() - {Behind.NATIVE, Behind.MEMORY}:
        assert kind in words.NOT_SERVED


def test_the_versions_of_iceberg_are_those_of_the_worker() -> None:
    assert iceberg_java.SPARK_RUNTIME == needs.RUNTIME
    assert iceberg_java.AWS_BUNDLE == needs.AWS
