"""What around a dropped object restricted it: of those that were dropped before, it is not known"""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    with op.batch_alter_table("dropped_objects", schema=None) as batch_op:
        batch_op.add_column(sa.Column("kept_by", sa.LargeBinary(), nullable=True))
