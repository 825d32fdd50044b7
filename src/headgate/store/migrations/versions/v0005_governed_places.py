"""Folders of governed copies become their catalog's own places"""

from alembic import op

from headgate.store.migrations.governed_places import fill

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    fill(op.get_bind())
