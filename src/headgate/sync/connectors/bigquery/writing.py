"""How changes of facts are made in a BigQuery project."""

from collections.abc import Sequence

from headgate.model.errors import ConnectionFailed, HeadgateError
from headgate.model.objects import ObjectType
from headgate.model.privileges import Condition
from headgate.sync.connectors.bigquery.bindings import Bindings, Project
from headgate.sync.connectors.bigquery.capabilities import (
    LEVELS,
)
from headgate.sync.connectors.bigquery.columns import OF_ITS_OWN
from headgate.sync.connectors.bigquery.rows import Rows
from headgate.sync.pushing.results import Applied, Change, Outcome
from headgate.sync.snapshots.facts import GrantFact, RowFilter, Securable

_T = ObjectType


class BigQueryWriter:
    """Makes changes: what is taken away first, then what is given, each policy written once with all that concerns it."""

    def __init__(self, project: Project) -> None:
        self.bindings = Bindings(project)
        self.rows = Rows(project)

    def make(self, changes: Sequence[Change]) -> list[Applied]:
        answers = [Applied(Outcome.APPLIED)] * len(changes)
        together = [change.after for change in changes if isinstance(change.after, RowFilter)]
        for holds in (False, True):
            by_object: dict[Securable, list[int]] = {}
            for number, change in enumerate(changes):
                fact = change.after if holds else change.before
                match fact:
                    case None:
                        pass
                    case GrantFact(_, object, _, Condition.ALLOW, False) if object.type in LEVELS:
                        by_object.setdefault(object, []).append(number)
                    case RowFilter() if not holds and change.after is not None:
                        # INVARIANT: a filter that is replaced never goes before the other is there.
                        pass
                    case RowFilter(name=name) if name == OF_ITS_OWN:
                        answers[number] = Applied(Outcome.UNSUPPORTED, "it belongs to the view")
                    case RowFilter():
                        answers[number] = self._row(fact, holds, together)
                    case _:
                        answers[number] = Applied(Outcome.UNSUPPORTED, "there is no such thing to be written")
            for object, numbers in by_object.items():
                self._write(object, numbers, holds, changes, answers)
        return answers

    def _row(self, rule: RowFilter, holds: bool, together: list[RowFilter]) -> Applied:
        try:
            why = self.rows.put(rule, together) if holds else self.rows.drop(rule)
        except ConnectionFailed:
            raise
        except HeadgateError as error:
            return Applied(Outcome.FAILED, str(error))
        return Applied(Outcome.UNSUPPORTED, why) if why else Applied(Outcome.APPLIED)

    def _write(
        self,
        object: Securable,
        numbers: list[int],
        holds: bool,
        changes: Sequence[Change],
        answers: list[Applied],
    ) -> None:
        facts = [changes[n].after if holds else changes[n].before for n in numbers]
        grants = [fact for fact in facts if isinstance(fact, GrantFact)]
        try:
            self.bindings.write(object, grants, holds)
        except ConnectionFailed:
            raise
        except HeadgateError as error:
            if len(numbers) == 1:
                answers[numbers[0]] = Applied(Outcome.FAILED, str(error))
                return
            # One of them spoils the whole policy: find out which.
            for number in numbers:
                self._write(object, [number], holds, changes, answers)
