"""AWS Lake Formation over Glue: the data catalog of one account in one region is one catalog."""

from typing import TYPE_CHECKING

from headgate.model.extras import Extra, needs
from headgate.sync.connections import Connection, option
from headgate.sync.connectors.lakeformation.capabilities import CAPABILITIES
from headgate.sync.systems import SystemKind, SystemRecord

if TYPE_CHECKING:
    from headgate.sync.contract import Connector


def _open(name: str, at: Connection) -> "Connector":
    with needs(Extra.AWS):
        import boto3

        from headgate.sync.connectors.lakeformation.connector import LakeFormationConnector
        from headgate.sync.transport.aws import Aws

    session = boto3.Session(
        region_name=option(name, at, "region"),
        aws_access_key_id=at.user,
        aws_secret_access_key=at.password.hidden if at.password else None,
    )
    endpoint = None if at.url.hidden == SYSTEM.address else at.url.hidden
    aws = Aws.of(session, endpoint=endpoint)
    return LakeFormationConnector(aws, option(name, at, "account"), at.catalog, name)


SYSTEM = SystemRecord(
    title="Lake Formation",
    kinds=(SystemKind(kind="lakeformation", capabilities=CAPABILITIES, open=_open),),
    address="aws:",
    options=("account", "region"),
)
