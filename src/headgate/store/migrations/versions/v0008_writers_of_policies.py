"""The groups that the writer of a policy was in by their token, and the revision at which they wrote it"""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    with op.batch_alter_table("policy_history", schema=None) as batch_op:
        # What was written before this was written by somebody whose groups nobody knows any more.
        batch_op.add_column(sa.Column("groups", sa.Text(), nullable=True))
        batch_op.add_column(sa.Column("revision", id, nullable=False, server_default="0"))
