"""The tables. Migrations under `migrations/` make them; this is what queries are written against."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)

Id = BigInteger().with_variant(Integer, "sqlite")
Name = String(512)
Bytewise = Text().with_variant(Text(collation="C"), "postgresql")
"""A text that sorts by its bytes, as ranges of places need it; SQLite's texts always do."""

state = Table(
    "state",
    metadata,
    Column("one", Integer, primary_key=True, autoincrement=False),
    Column("revision", BigInteger, nullable=False),
    comment="One row: the revision that every change of governance state raises",
)

journal = Table(
    "journal",
    metadata,
    Column("revision", BigInteger, primary_key=True, autoincrement=False),
    Column("at", String(32), nullable=False),
    Column("actor", Name, nullable=False),
    Column("action", String(64), nullable=False),
    Column("changes", LargeBinary, nullable=False),
)

objects = Table(
    "objects",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=True),
    Column("parent", Id, nullable=False),
    Column("metalake", Id, nullable=False),
    Column("type", String(16), nullable=False),
    Column("name", Name, nullable=False),
    Column("comment", Text),
    Column("properties", LargeBinary, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Column("in_use", Boolean, nullable=False),
    Column("version", Integer, nullable=False),
    Column("creator", Name, nullable=False),
    Column("created_at", String(32), nullable=False),
    Column("modifier", Name),
    Column("modified_at", String(32)),
    UniqueConstraint("parent", "type", "name"),
    Index("ix_objects_metalake_type", "metalake", "type"),
    # Ids are never used again, so what once was granted on an object can never come to mean another.
    sqlite_autoincrement=True,
)

principals = Table(
    "principals",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=True),
    Column("metalake", Id, ForeignKey("objects.id"), nullable=False),
    Column("kind", String(8), nullable=False),
    Column("name", Name, nullable=False),
    Column("external_id", Name),
    Column("enabled", Boolean, nullable=False),
    Column("attributes", LargeBinary, nullable=False),
    Column("creator", Name, nullable=False),
    Column("created_at", String(32), nullable=False),
    Column("modifier", Name),
    Column("modified_at", String(32)),
    UniqueConstraint("metalake", "kind", "name"),
    sqlite_autoincrement=True,
)

removed_users = Table(
    "removed_users",
    metadata,
    Column("metalake", Id, ForeignKey("objects.id"), primary_key=True),
    Column("name", Name, primary_key=True),
    Column("revision", Id, nullable=False),
    comment="The revision at which the last user of a name was removed: older tokens speak for no later one",
)

group_members = Table(
    "group_members",
    metadata,
    Column("group", Id, ForeignKey("principals.id"), primary_key=True),
    Column("member", Id, ForeignKey("principals.id"), primary_key=True, index=True),
)

role_holders = Table(
    "role_holders",
    metadata,
    Column("role", Id, ForeignKey("objects.id"), primary_key=True),
    Column("principal", Id, ForeignKey("principals.id"), primary_key=True, index=True),
)

role_grants = Table(
    "role_grants",
    metadata,
    Column("role", Id, ForeignKey("objects.id"), primary_key=True),
    Column("object", Id, ForeignKey("objects.id"), primary_key=True, index=True),
    Column("allow", BigInteger, nullable=False),
    Column("deny", BigInteger, nullable=False),
)

owners = Table(
    "owners",
    metadata,
    Column("object", Id, ForeignKey("objects.id"), primary_key=True),
    Column("principal", Id, ForeignKey("principals.id"), nullable=False, index=True),
)

assignments = Table(
    "assignments",
    metadata,
    Column("label", Id, ForeignKey("objects.id"), primary_key=True),
    Column("object", Id, ForeignKey("objects.id"), primary_key=True, index=True),
    Column("field", Integer, primary_key=True, autoincrement=False),
    Column("value", Text),
    Column("creator", Name, nullable=False),
    Column("created_at", String(32), nullable=False),
    comment="Tags and policies on objects; field is the id of a column, 0 for the object itself",
)

policy_history = Table(
    "policy_history",
    metadata,
    Column("policy", Id, primary_key=True),
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("metalake", Id, nullable=False),
    Column("name", Name, nullable=False),
    Column("on", Text),
    Column("document", LargeBinary, nullable=False),
    Column("enabled", Boolean, nullable=False),
    Column("action", String(16), nullable=False),
    Column("actor", Name, nullable=False),
    Column("at", String(32), nullable=False),
    Column("groups", Text),
    Column("revision", Id, nullable=False, server_default="0"),
    Index("ix_policy_history_metalake_name", "metalake", "name"),
    comment="What each policy of Headgate's own said, and who made it so; outlives the policy",
)

pointers = Table(
    "pointers",
    metadata,
    Column("object", Id, ForeignKey("objects.id"), primary_key=True),
    Column("location", Text, nullable=False),
    comment="Where the current Iceberg metadata of a native table or view lies",
)

places = Table(
    "places",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=True),
    Column("place", Bytewise, nullable=False, index=True),
    Column("object", Id, nullable=False, index=True),
    Column("catalog", Id, nullable=False),
    Column("state", String(16), nullable=False),
    Column("uuid", String(64), index=True),
    Column("source", Text, nullable=False),
    Column("holder", Name, nullable=False),
    Column("since", String(32), nullable=False),
    comment="Whose folder is whose: outlives the object; object is 0 for a staged table, which its holder may make",
    sqlite_autoincrement=True,
)

catalog_sources = Table(
    "catalog_sources",
    metadata,
    Column("catalog", Id, primary_key=True, autoincrement=False),
    Column("source", Name, primary_key=True, index=True),
    comment="The other servers that a catalog takes its tables from, for as long as it is there",
)

catalog_folders = Table(
    "catalog_folders",
    metadata,
    Column("catalog", Id, primary_key=True, autoincrement=False),
    Column("folder", Bytewise, primary_key=True, index=True),
    comment="Where the tables of a catalog lie, for as long as it is there",
)

outside_tables = Table(
    "outside_tables",
    metadata,
    Column("object", Id, primary_key=True, autoincrement=False),
    Column("uuid", String(64), nullable=False),
    Column("last", Integer, nullable=False),
    Column("columns", LargeBinary, nullable=False),
    Column("version", Integer, nullable=False),
    comment="Every column that a table of another server was seen to have, under every name, and which table it is",
)

replaced_columns = Table(
    "replaced_columns",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=True),
    Column("object", Id, nullable=False, index=True),
    Column("path", LargeBinary, nullable=False),
    Column("present", Boolean, nullable=False),
    comment="Columns of tables that another server made again; what is said of one stands on the field of minus its id",
    sqlite_autoincrement=True,
)

dropped_objects = Table(
    "dropped_objects",
    metadata,
    Column("object", Id, primary_key=True, autoincrement=False),
    Column("metalake", Id, nullable=False),
    Column("catalog", Id, nullable=False),
    Column("parent", Id, nullable=False),
    Column("type", String(16), nullable=False),
    Column("name", Text, nullable=False),
    Column("owner", Id),
    Column("labels", LargeBinary, nullable=False),
    Column("denials", LargeBinary, nullable=False),
    Column("document", Text),
    Column("under_policies", Boolean, nullable=False),
    Column("kept_by", LargeBinary),
    Column("at", String(32), nullable=False),
    comment="What a dropped object that still has places takes back when it is registered again",
)

model_versions = Table(
    "model_versions",
    metadata,
    Column("model", Id, ForeignKey("objects.id"), primary_key=True),
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("body", LargeBinary, nullable=False),
    Column("creator", Name, nullable=False),
    Column("created_at", String(32), nullable=False),
    Column("modifier", Name),
    Column("modified_at", String(32)),
)

model_aliases = Table(
    "model_aliases",
    metadata,
    Column("model", Id, ForeignKey("objects.id"), primary_key=True),
    Column("alias", Name, primary_key=True),
    Column("version", Integer, nullable=False),
)

statistics = Table(
    "statistics",
    metadata,
    Column("object", Id, ForeignKey("objects.id"), primary_key=True),
    Column("partition", Name, primary_key=True),
    Column("name", Name, primary_key=True),
    Column("value", LargeBinary, nullable=False),
    Column("creator", Name, nullable=False),
    Column("created_at", String(32), nullable=False),
    Column("modifier", Name),
    Column("modified_at", String(32)),
    comment="Statistics of tables; partition is empty for the table itself",
)

tokens = Table(
    "tokens",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("digest", String(64), nullable=False),
    Column("user", Name, nullable=False),
    Column("groups", LargeBinary, nullable=False),
    Column("comment", Text),
    Column("creator", Name, nullable=False),
    Column("created_at", String(32), nullable=False),
    Column("expires_at", String(32)),
    Column("revoked_at", String(32)),
    Column("revision", Id, nullable=False, server_default="0"),
)

plans = Table(
    "plans",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("object", Id, nullable=False),
    Column("user", Name, nullable=False),
    Column("status", String(16), nullable=False),
    Column("view", LargeBinary, nullable=False),
    Column("request", LargeBinary, nullable=False),
    Column("said", LargeBinary, nullable=False, key="circumstances"),
    Column("runner", String(64), nullable=False),
    Column("until", String(32), nullable=False),
    Column("answer", LargeBinary),
    Column("expires_at", String(32), nullable=False, index=True),
    comment="Scan plans that took longer than a client waits: asked for again by whoever asked first, of any process",
)

given_files = Table(
    "given_files",
    metadata,
    Column("view", String(64), primary_key=True),
    Column("digest", String(64), primary_key=True),
    Column("object", Id, nullable=False),
    Column("files", LargeBinary, nullable=False),
    Column("at", String(32), nullable=False),
    comment="The original files that readers of a restricted view were given, as fingerprints; one row for each set",
)

answers = Table(
    "answers",
    metadata,
    Column("key", String(64), primary_key=True),
    Column("request", String(64), nullable=False),
    Column("status", Integer, nullable=False),
    Column("answer", LargeBinary, nullable=False),
    Column("expires_at", String(32), nullable=False, index=True),
    comment="Answers to requests that carried an idempotency key",
)

keys = Table(
    "keys",
    metadata,
    Column("name", Name, primary_key=True),
    Column("value", LargeBinary, nullable=False),
    comment="Secrets that the server made for itself and that all its processes share",
)

mask_key_tables = Table(
    "mask_key_tables",
    metadata,
    Column("metalake", Id, primary_key=True, autoincrement=False),
    Column("name", Name, primary_key=True),
    Column("table", Id, primary_key=True, autoincrement=False, index=True),
    Column("pool", String(32), nullable=False),
    comment="Tables that share the tokens of a mask's key, and which key they share",
)

table_writers = Table(
    "table_writers",
    metadata,
    Column("object", Id, primary_key=True, autoincrement=False),
    Column("user", Name, primary_key=True),
    comment="Who ever wrote a table, by name; kept while a dropped table may come back",
)

audit = Table(
    "audit",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=True),
    Column("at", String(32), nullable=False, index=True),
    Column("metalake", Name),
    Column("user", Name, nullable=False, index=True),
    Column("action", String(64), nullable=False),
    Column("type", String(16)),
    Column("object", Text),
    Column("allowed", Boolean, nullable=False),
    Column("revision", BigInteger),
    Column("details", LargeBinary, nullable=False),
    sqlite_autoincrement=True,
)

sync_pushes = Table(
    "sync_pushes",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=True),
    Column("target", Name, nullable=False, index=True),
    Column("source", Name, nullable=False),
    Column("mode", String(16), nullable=False),
    Column("state", String(16), nullable=False),
    Column("actor", Name, nullable=False),
    Column("started_at", String(32), nullable=False),
    Column("ended_at", String(32)),
    comment="Pushes of policies to other systems: running, done, failed or undone",
    sqlite_autoincrement=True,
)

sync_steps = Table(
    "sync_steps",
    metadata,
    Column("push", Id, ForeignKey("sync_pushes.id"), primary_key=True),
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("before", LargeBinary),
    Column("after", LargeBinary),
    Column("owned", Boolean, nullable=False),
    Column("outcome", String(32)),
    Column("detail", Text),
    comment="What a push changes, one fact each: what was there before, what is there after, what became of it",
)

sync_marks = Table(
    "sync_marks",
    metadata,
    Column("target", Name, primary_key=True),
    Column("digest", String(64), primary_key=True),
    Column("fact", LargeBinary, nullable=False),
    comment="What pushes put into a target and may therefore take away again",
)

sync_locks = Table(
    "sync_locks",
    metadata,
    Column("target", Name, primary_key=True),
    Column("holder", String(64), nullable=False),
    Column("until", String(32), nullable=False),
    comment="One push at a time per target",
)

sync_snapshots = Table(
    "sync_snapshots",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=True),
    Column("name", Name, nullable=False, index=True),
    Column("version", String(64), nullable=False),
    Column("at", String(32), nullable=False),
    Column("document", LargeBinary, nullable=False),
    comment="Policy snapshots that were fetched, and the last common one of each pair that is kept in step",
    sqlite_autoincrement=True,
)

lens_views = Table(
    "lens_views",
    metadata,
    Column("object", Id, primary_key=True, autoincrement=False),
    Column("view", String(64), primary_key=True),
    Column("lens", String(64), nullable=False),
    Column("catalog", Id, nullable=False),
    Column("folder", Text, nullable=False),
    Column("identity", LargeBinary, nullable=False),
    Column("used_at", String(32), nullable=False),
    comment="The restricted views of tables that somebody had, who had each last, and where its files lie",
)

lens_copies = Table(
    "lens_copies",
    metadata,
    Column("key", String(64), primary_key=True),
    Column("object", Id, nullable=False),
    Column("view", String(64), nullable=False),
    Column("snapshot", BigInteger, nullable=False),
    Column("document", Text, nullable=False),
    Column("source", LargeBinary, nullable=False),
    Column("state", String(8), nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("after", String(32), nullable=False),
    Column("worker", String(64)),
    Column("until", String(32)),
    Column("reason", Text),
    Column("body", LargeBinary),
    Column("asked_at", String(32), nullable=False),
    Column("made_at", String(32)),
    Index("ix_lens_copies_object_view", "object", "view"),
    Index("ix_lens_copies_state_after", "state", "after"),
    comment="Governed copies: wanted, in the making, made or failed; one row for a file with its deletes and a view",
)

lens_snapshots = Table(
    "lens_snapshots",
    metadata,
    Column("object", Id, primary_key=True, autoincrement=False),
    Column("view", String(64), primary_key=True),
    Column("snapshot", BigInteger, primary_key=True, autoincrement=False),
    Column("shape", String(64), primary_key=True),
    Column("body", LargeBinary, nullable=False),
    Column("names", LargeBinary, nullable=False),
    Column("made_at", String(32), nullable=False),
    comment="Snapshots whose governed manifests are written, and the keys of the copies and the originals they name",
)

lens_documents = Table(
    "lens_documents",
    metadata,
    Column("object", Id, primary_key=True, autoincrement=False),
    Column("view", String(64), primary_key=True),
    Column("source", String(64), primary_key=True),
    Column("location", Text, nullable=False),
    Column("made_at", String(32), nullable=False),
    comment="The governed document of each document of a table; source is a digest over what it was made from",
)

storage_probes = Table(
    "storage_probes",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("definition", LargeBinary, nullable=False),
    Column("asked_at", String(32), nullable=False),
    Column("worker", String(64)),
    Column("outcome", Text),
    comment="Questions whether Spark can use the storage of a catalog, for the time that somebody waits for an answer",
)
