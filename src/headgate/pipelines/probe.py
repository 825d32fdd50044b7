"""Whether Spark can do where a catalog's tables lie what jobs do: find documents, write files, and read them again."""

import re
import uuid
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from headgate.catalogs.iceberg.storage import Storage
from headgate.model.errors import ConnectionFailed, HeadgateError
from headgate.model.schema import LONG, Field, Schema
from headgate.pipelines.job_tables import registered, write_empty
from headgate.pipelines.session import jobs_catalog

if TYPE_CHECKING:
    from headgate.pipelines.session import SparkSession

_SCHEMA: Final = Schema((Field(1, "n", LONG),))
_MOST: Final = 4_000
_TRACE: Final = re.compile(r"^\s*(at [\w.$/<>]+\(|\.\.\. \d+ more|JVM stacktrace|Driver stacktrace)")
_SECRETS: Final = ("s3.access-key-id", "s3.secret-access-key", "s3.session-token")


def probe(spark: "SparkSession", storage: Storage, folder: str) -> None:
    """Write a table of one row into a folder of its own, read it, and delete it, or raise ConnectionFailed.

    What goes wrong is told in Spark's own words: there is no value of anybody's table in them.
    """
    try:
        catalog = jobs_catalog(spark, storage.settings)
        document = write_empty(storage, _SCHEMA, folder, f"{folder}/data")
        with registered(spark, catalog, {"probe": document}, uuid.uuid4().hex) as names:
            spark.range(1).selectExpr("id AS n").writeTo(names["probe"]).append()
            spark.table(names["probe"]).collect()
        return
    except HeadgateError:
        raise
    except Exception as error:
        failure = ConnectionFailed("Spark cannot use the warehouse", hint=words_of(error, storage))
    finally:
        with suppress(HeadgateError):
            storage.delete_folder(folder)
    raise failure


def words_of(error: Exception, storage: Storage) -> str:
    """All that Spark says of an error and its causes, without stack traces and without the keys of the storage."""
    texts = [str(error)]
    java: Any = getattr(error, "_origin", None) or getattr(error, "java_exception", None)
    while java is not None and len(texts) < 12:
        texts.append(f"{java.getClass().getSimpleName()}: {java.getMessage()}")
        java = java.getCause()
    lines = [line.strip() for text in texts for line in text.splitlines() if not _TRACE.match(line)]
    found = "; ".join(dict.fromkeys(line for line in lines if line))
    for name in _SECRETS:
        if secret := storage.settings.get(name):
            found = found.replace(secret, "…")
    return found[:_MOST]
