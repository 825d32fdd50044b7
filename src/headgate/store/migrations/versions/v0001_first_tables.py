"""First tables"""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "answers",
        sa.Column("key", sa.String(length=64), nullable=False),
        sa.Column("request", sa.String(length=64), nullable=False),
        sa.Column("status", sa.Integer(), nullable=False),
        sa.Column("answer", sa.LargeBinary(), nullable=False),
        sa.Column("expires_at", sa.String(length=32), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_answers")),
        comment="Answers to requests that carried an idempotency key",
    )
    with op.batch_alter_table("answers", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_answers_expires_at"), ["expires_at"], unique=False)

    op.create_table(
        "audit",
        sa.Column(
            "id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False
        ),
        sa.Column("at", sa.String(length=32), nullable=False),
        sa.Column("metalake", sa.String(length=512), nullable=True),
        sa.Column("user", sa.String(length=512), nullable=False),
        sa.Column("action", sa.String(length=64), nullable=False),
        sa.Column("type", sa.String(length=16), nullable=True),
        sa.Column("object", sa.Text(), nullable=True),
        sa.Column("allowed", sa.Boolean(), nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=True),
        sa.Column("details", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit")),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("audit", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_audit_at"), ["at"], unique=False)
        batch_op.create_index(batch_op.f("ix_audit_user"), ["user"], unique=False)

    op.create_table(
        "given_files",
        sa.Column("view", sa.String(length=64), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("object", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("files", sa.LargeBinary(), nullable=False),
        sa.Column("at", sa.String(length=32), nullable=False),
        sa.PrimaryKeyConstraint("view", "digest", name=op.f("pk_given_files")),
        comment="The original files that readers of a restricted view were given, as fingerprints; one row for each set",
    )
    op.create_table(
        "journal",
        sa.Column("revision", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("at", sa.String(length=32), nullable=False),
        sa.Column("actor", sa.String(length=512), nullable=False),
        sa.Column("action", sa.String(length=64), nullable=False),
        sa.Column("changes", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("revision", name=op.f("pk_journal")),
    )
    op.create_table(
        "keys",
        sa.Column("name", sa.String(length=512), nullable=False),
        sa.Column("value", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_keys")),
        comment="Secrets that the server made for itself and that all its processes share",
    )
    op.create_table(
        "lens_copies",
        sa.Column("key", sa.String(length=64), nullable=False),
        sa.Column("object", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("view", sa.String(length=64), nullable=False),
        sa.Column("snapshot", sa.BigInteger(), nullable=False),
        sa.Column("document", sa.Text(), nullable=False),
        sa.Column("source", sa.LargeBinary(), nullable=False),
        sa.Column("state", sa.String(length=8), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("after", sa.String(length=32), nullable=False),
        sa.Column("worker", sa.String(length=64), nullable=True),
        sa.Column("until", sa.String(length=32), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("body", sa.LargeBinary(), nullable=True),
        sa.Column("asked_at", sa.String(length=32), nullable=False),
        sa.Column("made_at", sa.String(length=32), nullable=True),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_lens_copies")),
        comment="Governed copies: wanted, in the making, made or failed; one row for a file with its deletes and a view",
    )
    with op.batch_alter_table("lens_copies", schema=None) as batch_op:
        batch_op.create_index("ix_lens_copies_object_view", ["object", "view"], unique=False)
        batch_op.create_index("ix_lens_copies_state_after", ["state", "after"], unique=False)

    op.create_table(
        "lens_documents",
        sa.Column(
            "object",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=False,
            nullable=False,
        ),
        sa.Column("view", sa.String(length=64), nullable=False),
        sa.Column("source", sa.String(length=64), nullable=False),
        sa.Column("location", sa.Text(), nullable=False),
        sa.Column("made_at", sa.String(length=32), nullable=False),
        sa.PrimaryKeyConstraint("object", "view", "source", name=op.f("pk_lens_documents")),
        comment="The governed document of each document of a table; source is a digest over what it was made from",
    )
    op.create_table(
        "lens_snapshots",
        sa.Column(
            "object",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=False,
            nullable=False,
        ),
        sa.Column("view", sa.String(length=64), nullable=False),
        sa.Column("snapshot", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("shape", sa.String(length=64), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("names", sa.LargeBinary(), nullable=False),
        sa.Column("made_at", sa.String(length=32), nullable=False),
        sa.PrimaryKeyConstraint("object", "view", "snapshot", "shape", name=op.f("pk_lens_snapshots")),
        comment="Snapshots whose governed manifests are written, and the keys of the copies and the originals they name",
    )
    op.create_table(
        "lens_views",
        sa.Column(
            "object",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=False,
            nullable=False,
        ),
        sa.Column("view", sa.String(length=64), nullable=False),
        sa.Column("lens", sa.String(length=64), nullable=False),
        sa.Column("catalog", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("folder", sa.Text(), nullable=False),
        sa.Column("identity", sa.LargeBinary(), nullable=False),
        sa.Column("used_at", sa.String(length=32), nullable=False),
        sa.PrimaryKeyConstraint("object", "view", name=op.f("pk_lens_views")),
        comment="The restricted views of tables that somebody had, who had each last, and where its files lie",
    )
    op.create_table(
        "objects",
        sa.Column(
            "id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False
        ),
        sa.Column("parent", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("metalake", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("type", sa.String(length=16), nullable=False),
        sa.Column("name", sa.String(length=512), nullable=False),
        sa.Column("comment", sa.Text(), nullable=True),
        sa.Column("properties", sa.LargeBinary(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("in_use", sa.Boolean(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("creator", sa.String(length=512), nullable=False),
        sa.Column("created_at", sa.String(length=32), nullable=False),
        sa.Column("modifier", sa.String(length=512), nullable=True),
        sa.Column("modified_at", sa.String(length=32), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_objects")),
        sa.UniqueConstraint("parent", "type", "name", name=op.f("uq_objects_parent_type_name")),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("objects", schema=None) as batch_op:
        batch_op.create_index("ix_objects_metalake_type", ["metalake", "type"], unique=False)

    op.create_table(
        "plans",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("object", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("user", sa.String(length=512), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("view", sa.LargeBinary(), nullable=False),
        sa.Column("request", sa.LargeBinary(), nullable=False),
        sa.Column("said", sa.LargeBinary(), nullable=False),
        sa.Column("runner", sa.String(length=64), nullable=False),
        sa.Column("until", sa.String(length=32), nullable=False),
        sa.Column("answer", sa.LargeBinary(), nullable=True),
        sa.Column("expires_at", sa.String(length=32), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_plans")),
        comment="Scan plans that took longer than a client waits: asked for again by whoever asked first, of any process",
    )
    with op.batch_alter_table("plans", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_plans_expires_at"), ["expires_at"], unique=False)

    op.create_table(
        "policy_history",
        sa.Column("policy", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("version", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("metalake", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("name", sa.String(length=512), nullable=False),
        sa.Column("on", sa.Text(), nullable=True),
        sa.Column("document", sa.LargeBinary(), nullable=False),
        sa.Column("enabled", sa.Boolean(), nullable=False),
        sa.Column("action", sa.String(length=16), nullable=False),
        sa.Column("actor", sa.String(length=512), nullable=False),
        sa.Column("at", sa.String(length=32), nullable=False),
        sa.PrimaryKeyConstraint("policy", "version", name=op.f("pk_policy_history")),
        comment="What each policy of Headgate's own said, and who made it so; outlives the policy",
    )
    with op.batch_alter_table("policy_history", schema=None) as batch_op:
        batch_op.create_index("ix_policy_history_metalake_name", ["metalake", "name"], unique=False)

    op.create_table(
        "state",
        sa.Column("one", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("one", name=op.f("pk_state")),
        comment="One row: the revision that every change of governance state raises",
    )
    op.create_table(
        "sync_locks",
        sa.Column("target", sa.String(length=512), nullable=False),
        sa.Column("holder", sa.String(length=64), nullable=False),
        sa.Column("until", sa.String(length=32), nullable=False),
        sa.PrimaryKeyConstraint("target", name=op.f("pk_sync_locks")),
        comment="One push at a time per target",
    )
    op.create_table(
        "sync_marks",
        sa.Column("target", sa.String(length=512), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("fact", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("target", "digest", name=op.f("pk_sync_marks")),
        comment="What pushes put into a target and may therefore take away again",
    )
    op.create_table(
        "sync_pushes",
        sa.Column(
            "id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False
        ),
        sa.Column("target", sa.String(length=512), nullable=False),
        sa.Column("source", sa.String(length=512), nullable=False),
        sa.Column("mode", sa.String(length=16), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("actor", sa.String(length=512), nullable=False),
        sa.Column("started_at", sa.String(length=32), nullable=False),
        sa.Column("ended_at", sa.String(length=32), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sync_pushes")),
        comment="Pushes of policies to other systems: running, done, failed or undone",
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("sync_pushes", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_sync_pushes_target"), ["target"], unique=False)

    op.create_table(
        "sync_snapshots",
        sa.Column(
            "id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False
        ),
        sa.Column("name", sa.String(length=512), nullable=False),
        sa.Column("version", sa.String(length=64), nullable=False),
        sa.Column("at", sa.String(length=32), nullable=False),
        sa.Column("document", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sync_snapshots")),
        comment="Policy snapshots that were fetched, and the last common one of each pair that is kept in step",
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("sync_snapshots", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_sync_snapshots_name"), ["name"], unique=False)

    op.create_table(
        "tokens",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("user", sa.String(length=512), nullable=False),
        sa.Column("groups", sa.LargeBinary(), nullable=False),
        sa.Column("comment", sa.Text(), nullable=True),
        sa.Column("creator", sa.String(length=512), nullable=False),
        sa.Column("created_at", sa.String(length=32), nullable=False),
        sa.Column("expires_at", sa.String(length=32), nullable=True),
        sa.Column("revoked_at", sa.String(length=32), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tokens")),
    )
    op.create_table(
        "assignments",
        sa.Column("label", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("object", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("field", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("value", sa.Text(), nullable=True),
        sa.Column("creator", sa.String(length=512), nullable=False),
        sa.Column("created_at", sa.String(length=32), nullable=False),
        sa.ForeignKeyConstraint(["label"], ["objects.id"], name=op.f("fk_assignments_label")),
        sa.ForeignKeyConstraint(["object"], ["objects.id"], name=op.f("fk_assignments_object")),
        sa.PrimaryKeyConstraint("label", "object", "field", name=op.f("pk_assignments")),
        comment="Tags and policies on objects; field is the id of a column, 0 for the object itself",
    )
    with op.batch_alter_table("assignments", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_assignments_object"), ["object"], unique=False)

    op.create_table(
        "model_aliases",
        sa.Column("model", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("alias", sa.String(length=512), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["model"], ["objects.id"], name=op.f("fk_model_aliases_model")),
        sa.PrimaryKeyConstraint("model", "alias", name=op.f("pk_model_aliases")),
    )
    op.create_table(
        "model_versions",
        sa.Column("model", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("version", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("creator", sa.String(length=512), nullable=False),
        sa.Column("created_at", sa.String(length=32), nullable=False),
        sa.Column("modifier", sa.String(length=512), nullable=True),
        sa.Column("modified_at", sa.String(length=32), nullable=True),
        sa.ForeignKeyConstraint(["model"], ["objects.id"], name=op.f("fk_model_versions_model")),
        sa.PrimaryKeyConstraint("model", "version", name=op.f("pk_model_versions")),
    )
    op.create_table(
        "pointers",
        sa.Column("object", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("location", sa.Text(), nullable=False),
        sa.Column("place", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["object"], ["objects.id"], name=op.f("fk_pointers_object")),
        sa.PrimaryKeyConstraint("object", name=op.f("pk_pointers")),
        comment="Where the current Iceberg metadata of a native table lies, and the folder that is the table's own",
    )
    with op.batch_alter_table("pointers", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_pointers_place"), ["place"], unique=False)

    op.create_table(
        "principals",
        sa.Column(
            "id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False
        ),
        sa.Column("metalake", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("kind", sa.String(length=8), nullable=False),
        sa.Column("name", sa.String(length=512), nullable=False),
        sa.Column("external_id", sa.String(length=512), nullable=True),
        sa.Column("enabled", sa.Boolean(), nullable=False),
        sa.Column("attributes", sa.LargeBinary(), nullable=False),
        sa.Column("creator", sa.String(length=512), nullable=False),
        sa.Column("created_at", sa.String(length=32), nullable=False),
        sa.Column("modifier", sa.String(length=512), nullable=True),
        sa.Column("modified_at", sa.String(length=32), nullable=True),
        sa.ForeignKeyConstraint(["metalake"], ["objects.id"], name=op.f("fk_principals_metalake")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_principals")),
        sa.UniqueConstraint("metalake", "kind", "name", name=op.f("uq_principals_metalake_kind_name")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "role_grants",
        sa.Column("role", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("object", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("allow", sa.BigInteger(), nullable=False),
        sa.Column("deny", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["object"], ["objects.id"], name=op.f("fk_role_grants_object")),
        sa.ForeignKeyConstraint(["role"], ["objects.id"], name=op.f("fk_role_grants_role")),
        sa.PrimaryKeyConstraint("role", "object", name=op.f("pk_role_grants")),
    )
    with op.batch_alter_table("role_grants", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_role_grants_object"), ["object"], unique=False)

    op.create_table(
        "statistics",
        sa.Column("object", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("partition", sa.String(length=512), nullable=False),
        sa.Column("name", sa.String(length=512), nullable=False),
        sa.Column("value", sa.LargeBinary(), nullable=False),
        sa.Column("creator", sa.String(length=512), nullable=False),
        sa.Column("created_at", sa.String(length=32), nullable=False),
        sa.Column("modifier", sa.String(length=512), nullable=True),
        sa.Column("modified_at", sa.String(length=32), nullable=True),
        sa.ForeignKeyConstraint(["object"], ["objects.id"], name=op.f("fk_statistics_object")),
        sa.PrimaryKeyConstraint("object", "partition", "name", name=op.f("pk_statistics")),
        comment="Statistics of tables; partition is empty for the table itself",
    )
    op.create_table(
        "sync_steps",
        sa.Column("push", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("position", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("before", sa.LargeBinary(), nullable=True),
        sa.Column("after", sa.LargeBinary(), nullable=True),
        sa.Column("owned", sa.Boolean(), nullable=False),
        sa.Column("outcome", sa.String(length=32), nullable=True),
        sa.Column("detail", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["push"], ["sync_pushes.id"], name=op.f("fk_sync_steps_push")),
        sa.PrimaryKeyConstraint("push", "position", name=op.f("pk_sync_steps")),
        comment="What a push changes, one fact each: what was there before, what is there after, what became of it",
    )
    op.create_table(
        "group_members",
        sa.Column("group", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("member", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.ForeignKeyConstraint(["group"], ["principals.id"], name=op.f("fk_group_members_group")),
        sa.ForeignKeyConstraint(["member"], ["principals.id"], name=op.f("fk_group_members_member")),
        sa.PrimaryKeyConstraint("group", "member", name=op.f("pk_group_members")),
    )
    with op.batch_alter_table("group_members", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_group_members_member"), ["member"], unique=False)

    op.create_table(
        "owners",
        sa.Column("object", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("principal", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.ForeignKeyConstraint(["object"], ["objects.id"], name=op.f("fk_owners_object")),
        sa.ForeignKeyConstraint(["principal"], ["principals.id"], name=op.f("fk_owners_principal")),
        sa.PrimaryKeyConstraint("object", name=op.f("pk_owners")),
    )
    with op.batch_alter_table("owners", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_owners_principal"), ["principal"], unique=False)

    op.create_table(
        "role_holders",
        sa.Column("role", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("principal", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.ForeignKeyConstraint(["principal"], ["principals.id"], name=op.f("fk_role_holders_principal")),
        sa.ForeignKeyConstraint(["role"], ["objects.id"], name=op.f("fk_role_holders_role")),
        sa.PrimaryKeyConstraint("role", "principal", name=op.f("pk_role_holders")),
    )
    with op.batch_alter_table("role_holders", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_role_holders_principal"), ["principal"], unique=False)
    op.execute("INSERT INTO state (one, revision) VALUES (1, 0)")
