"""Sentences that settings of several engines say, and why some are not written."""

from collections.abc import Mapping

from headgate.engines.config.blocks import TOKEN_VARIABLE
from headgate.engines.config.catalog import Behind, EngineCatalog, FileAccess
from headgate.model.errors import IllegalArgument
from headgate.model.objects import clip

WARNING = (
    "WARNING: Headgate's policies do not hold on this way. Who uses these settings sees what the system behind the "
    "catalog and its storage let them see: no grant, row filter or mask of Headgate applies, and nothing of it is audited."
)
SHARED = "Whoever uses this catalog reads as the user whom the token belongs to."
AWS_IDENTITY = (
    "AWS keys are not written here: the engine finds its own, from its environment or its machine's role."
)


def title(catalog: EngineCatalog, engine: str) -> str:
    return f"{engine}: catalog '{catalog.name}' of metalake '{catalog.metalake}', through Headgate."


def past(catalog: EngineCatalog, engine: str) -> tuple[str, ...]:
    """What stands above settings that go past Headgate."""
    return (f"{engine}: catalog '{catalog.name}' of metalake '{catalog.metalake}', past Headgate.", WARNING)


def named(catalog: EngineCatalog, name: str) -> tuple[str, ...]:
    """Said where an engine does not call the catalog by its own name, which would need quotes or capitals."""
    return () if name == catalog.name else (f"The catalog is called {name} here.",)


def token(how: str) -> str:
    return f"{how} 'headgate token create --user NAME' makes one."


def from_environment(where: str) -> str:
    return token(f"The token is read from the variable {TOKEN_VARIABLE} {where}.")


def access(catalog: EngineCatalog) -> tuple[str, ...]:
    """Where the access to the files comes from."""
    storage = FileAccess.of(catalog)
    if storage.s3 and storage.role:
        return (
            "Storage credentials come with each table (vended-credentials), for what its reader sees and no more: "
            "the engine needs no keys of its own, and should have none.",
        )
    if storage.s3 and storage.signs:
        return (
            "Requests to the storage are signed by Headgate one by one (remote-signing), which Spark, Flink and pyiceberg "
            "with s3fs can do. Other engines need keys of their own.",
        )
    if storage.s3:
        return (
            "Storage credentials come with each table (vended-credentials) where the catalog has a role to assume. Where "
            "it has none, the engine uses AWS keys of its own, with which it can read the files past every policy.",
        )
    if storage.local:
        return (
            "The tables are files in a local folder: run this where the server runs, as the server's user.",
        )
    if catalog.behind in (Behind.NATIVE, Behind.MEMORY):
        return (
            "The catalog names no storage: it is in the server's own warehouse. These settings are for a local folder, "
            "where the engine runs as the server's user. If the warehouse is in S3, set s3-region on the catalog and ask again.",
        )
    return (
        "The catalog names no storage of its own: add how the engine reaches the files if it has to be told.",
    )


_HERE = "Headgate itself keeps its tables: there is no system behind it to go to"
_NONE = "it holds no tables that an engine reads"
NO_TABLES: Mapping[Behind, str] = {
    Behind.NATIVE: _HERE,
    Behind.MEMORY: _HERE,
    Behind.KAFKA: "its topics are no tables of a catalog: give the engine's own Kafka connector the brokers in bootstrap.servers",
    Behind.TOPICS: _NONE,
    Behind.FILESETS: _NONE,
    Behind.MODELS: _NONE,
}
"""Kinds of catalogs that no engine reads past Headgate."""

NOT_SERVED: Mapping[Behind, str] = {
    **{kind: why for kind, why in NO_TABLES.items() if why is not _HERE},
    **dict.fromkeys(
        (Behind.POSTGRESQL, Behind.MYSQL), "tables of a database are not served by the Iceberg door"
    ),
}
"""Kinds of catalogs that the Iceberg door does not serve."""


def refusal(
    catalog: EngineCatalog, engine: str, why: str, *, past: bool = False, native: bool = False
) -> IllegalArgument:
    """Why there are no settings, and what to ask for instead. `native` says that there are some past Headgate."""
    if past and catalog.behind not in NOT_SERVED:
        hint = "ask for --through headgate"
    elif native:
        hint = "--through native writes settings for the system behind it, without Headgate's policies"
    else:
        hint = (
            "ask for another engine"
            if catalog.behind not in NO_TABLES
            else "ask for a catalog that holds tables"
        )
    way = "past Headgate" if past else "through Headgate"
    return IllegalArgument(
        f"there are no settings for {engine} to read catalog '{clip(catalog.name)}' {way}: {why}", hint=hint
    )


def reserved(catalog: EngineCatalog, engine: str) -> IllegalArgument:
    """Why a catalog of some names has no settings: they would replace a part of the engine, or be taken for it."""
    return IllegalArgument(
        f"{engine} would call catalog '{clip(catalog.name)}' {catalog.alias}, which is a name of its own",
        hint="rename the catalog, or ask for the settings of another engine",
    )
