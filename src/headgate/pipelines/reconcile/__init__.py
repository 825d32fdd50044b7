"""What was read compared with what was planned: access logs of object storage joined with the audit trail in Spark.

Comes in: events of the audit trail as the server tells them, who lost which rights, and the places of access logs. Goes out: findings,
each with who, which table, which file, how often and when. A line of a log that cannot be read is counted, never fatal.
"""

from headgate.pipelines.reconcile.evidence import Evidence, LostAccess, Terms, gather
from headgate.pipelines.reconcile.findings import KINDS, ReadFinding, Reconciliation, reconcile

__all__ = ["KINDS", "Evidence", "LostAccess", "ReadFinding", "Reconciliation", "Terms", "gather", "reconcile"]
