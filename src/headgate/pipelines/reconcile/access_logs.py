"""Access logs of object storage as rows: S3 server access logs and MinIO's audit log, told apart line by line.

Goes out: one row per line with whether it could be read; of those that could, the time, who asked, what was done with which object and
how it ended. All of it is Spark SQL that never fails on a line.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

S3: Final = "s3"
MINIO: Final = "minio"
FORMATS: Final = ("auto", S3, MINIO)

_WORD: Final = r"(\S+)"
# A quoted field ends at the quote before the next field, so a quote that a client put into its name does no harm.
_LINE: Final = " ".join(
    (
        _WORD,  # 1 bucket owner
        _WORD,  # 2 bucket
        r"\[([^\]]*)\]",  # 3 time
        _WORD,  # 4 remote address
        _WORD,  # 5 requester
        _WORD,  # 6 request id
        _WORD,  # 7 operation
        _WORD,  # 8 key
        r'(".*?"|-)',  # 9 request line
        r"(\d{3}|-)",  # 10 status
        _WORD,  # 11 error code
        r"(\d+|-)",  # 12 bytes sent
        r"(\d+|-)",  # 13 object size
        r"(\d+|-)",  # 14 total time
        r"(\d+|-)",  # 15 turn-around time
        r'(".*?"|-)',  # 16 referrer
        r'(".*"|-)',  # 17 user agent
        _WORD,  # 18 version id
    )
)
_MORE: Final = r"((?: \S+)*)"
"""Host id, signature, cipher and what else S3 adds at the end from time to time."""
_TAKEN: Final = (2, 3, 5, 7, 8, 10, 12)
_BREAK: Final = "\\u0001"

_AUDIT: Final = (
    "time STRING, accessKey STRING, parentUser STRING, "
    "api STRUCT<name: STRING, bucket: STRING, object: STRING, statusCode: INT, tx: BIGINT>, "
    "requestClaims STRUCT<accessKey: STRING, parent: STRING>"
)
_SESSION: Final = r"assumed-role/[^/]+/(.+)$"
READS: Final = (
    "REST.GET.OBJECT",
    "REST.COPY.OBJECT_GET",
    "REST.SELECT.OBJECT",
    "GetObject",
    "SelectObjectContent",
)
"""What counts as reading an object, in the words of each format."""


def read_logs(spark: "SparkSession", paths: Sequence[str], format: str = "auto") -> "DataFrame":
    """All lines of these files and folders, compressed or not, subfolders included."""
    from pyspark.sql import functions as f

    lines = (
        spark.read.option("recursiveFileLookup", "true")
        .text(list(paths))
        .select(f.col("value"), f.col("_metadata.file_path").alias("log"))
        .where("trim(value) <> ''")
    )
    minio = f.lit(format == MINIO) if format != "auto" else f.expr(r"value RLIKE r'^\s*\{'")
    parsed = lines.withColumn("minio", minio).withColumns(
        {"s": _s3(), "m": f.expr(f"CASE WHEN minio THEN from_json(value, '{_AUDIT}') END")}
    )
    return parsed.selectExpr("log", "minio", *_members()).withColumns(
        {
            "readable": f.expr(
                "at IS NOT NULL AND operation IS NOT NULL AND bucket IS NOT NULL AND "
                "(key IS NOT NULL OR NOT operation IN (" + ", ".join(map(repr, READS)) + "))"
            ),
            "path": f.expr("concat('s3://', bucket, '/', key)"),
        }
    )


def _s3() -> "Column":
    """The fields that matter, split out by one pass of the pattern; of another line there is a first field only."""
    from pyspark.sql import functions as f

    taken = _BREAK.join(f"${n}" for n in _TAKEN)
    replaced = f"regexp_replace(value, r'^{_LINE}{_MORE}$', '{taken}')"
    return f.expr(f"CASE WHEN NOT minio THEN split({replaced}, '{_BREAK}') END")


def _members() -> list[str]:
    def of(place: int) -> str:
        return f"nullif(get(s, {place}), '-')"

    fields = {
        "bucket": (of(0), "m.api.bucket"),
        "at": (f"try_to_timestamp({of(1)}, 'dd/MMM/yyyy:HH:mm:ss Z')", "try_to_timestamp(m.time)"),
        "requester": (of(2), "coalesce(m.accessKey, m.requestClaims.accessKey)"),
        "operation": (of(3), "m.api.name"),
        # Keys are encoded as in a form: a space is a plus.
        "key": (f"try_url_decode({of(4)})", "m.api.object"),
        "status": (f"try_cast({of(5)} AS INT)", "m.api.statusCode"),
        "bytes": (f"try_cast({of(6)} AS BIGINT)", "m.api.tx"),
        "session": (
            f"nullif(regexp_extract({of(2)}, r'{_SESSION}', 1), '')",
            "coalesce(m.accessKey, m.requestClaims.accessKey)",
        ),
        "parent": ("CAST(NULL AS STRING)", "coalesce(m.parentUser, m.requestClaims.parent)"),
    }
    return [f"CASE WHEN minio THEN {m} ELSE {s} END AS {name}" for name, (s, m) in fields.items()]
