"""What columns hold of people: a bounded sample of a table is counted in Spark, and tags are proposed with a confidence.

Comes in: a Spark session and the name of a table as Spark reads it, so under the rights of whoever opened the session. Goes out:
proposals with counts. INVARIANT: no value of the table leaves the executors; what is collected are numbers.
"""

from headgate.pipelines.classify.kinds import KINDS, TAG
from headgate.pipelines.classify.proposals import Proposal
from headgate.pipelines.classify.sample import MOST_ROWS, Classified, classify

__all__ = ["KINDS", "MOST_ROWS", "TAG", "Classified", "Proposal", "classify"]
