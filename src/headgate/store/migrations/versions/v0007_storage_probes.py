"""Questions whether Spark can use the storage of a catalog"""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.create_table(
        "storage_probes",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("definition", sa.LargeBinary(), nullable=False),
        sa.Column("asked_at", sa.String(length=32), nullable=False),
        sa.Column("worker", sa.String(length=64), nullable=True),
        sa.Column("outcome", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_storage_probes")),
        comment="Questions whether Spark can use the storage of a catalog, for the time that somebody waits for an answer",
    )
