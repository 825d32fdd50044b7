"""Changes of facts made in Lake Formation."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Final

from headgate.model.errors import ConnectionFailed, HeadgateError
from headgate.model.objects import ObjectType
from headgate.model.privileges import Condition
from headgate.sync.connectors.lakeformation.reading import data_cells_filters, granted
from headgate.sync.connectors.lakeformation.rows import (
    SECURITY,
    CellsFilter,
    Filters,
    filters_of,
    reached,
    shows_rows,
)
from headgate.sync.connectors.lakeformation.words import ResourcePermission, Words
from headgate.sync.pushing.results import Applied, Change, Outcome
from headgate.sync.snapshots.facts import Fact, GrantFact, Kind, Known, RowFilter, Securable, Tag
from headgate.sync.transport.aws import Aws, AwsError
from headgate.sync.transport.pacing import Busy

_T = ObjectType
_BATCH: Final = 20
_NOTHING_TO_REVOKE: Final = "No permissions revoked"


class Passes(HeadgateError):
    """A grant would show rows that a filter is to hide."""


class LakeFormationWriter:
    """Makes changes in batches: runs of grants and runs of revocations, in the order they came; row filters one by one."""

    def __init__(self, aws: Aws, words: Words) -> None:
        self.aws = aws
        self.words = words
        self.filters = data_cells_filters(aws, words)

    def make(self, changes: Sequence[Change]) -> list[Applied]:
        answers = [Applied(Outcome.APPLIED)] * len(changes)
        waiting: list[dict[str, Any]] = []
        doing = ""
        for number, change in enumerate(changes):
            if isinstance(change.fact, RowFilter):
                self._send(doing, waiting, answers)
                waiting = []
                answers[number] = self._row_filter(change)
                continue
            if isinstance(change.fact, Tag):
                answers[number] = self._tag(change)
                continue
            try:
                steps = self._steps(change)
            except ConnectionFailed:
                raise
            except Passes as error:
                answers[number] = Applied(Outcome.WIDENS, str(error))
                continue
            except AwsError as error:
                answers[number] = Applied(Outcome.FAILED, str(error))
                continue
            except HeadgateError as error:
                answers[number] = Applied(Outcome.UNSUPPORTED, str(error))
                continue
            for part, (operation, entry) in enumerate(steps):
                if operation != doing or len(waiting) == _BATCH:
                    self._send(doing, waiting, answers)
                    waiting = []
                doing = operation
                waiting.append({"Id": f"{number}.{part}", **entry.arguments})
        self._send(doing, waiting, answers)
        return answers

    def _steps(self, change: Change) -> list[tuple[str, ResourcePermission]]:
        """What a change comes to. To hand on as well is granted on top; no longer to hand on is granted anew."""
        before, after = change.before, change.after
        on_top = isinstance(after, GrantFact) and after.option and before is not None
        steps: list[tuple[str, ResourcePermission]] = []
        if before is not None and not on_top:
            steps += [("batch_revoke_permissions", entry) for entry in self._held(before)]
        if after is not None:
            steps.append(("batch_grant_permissions", self._entry(after)))
        return steps

    def _held(self, fact: Fact) -> list[ResourcePermission]:
        """All the ways in which a fact can be held: on the table, and through a filter of it."""
        plain = self._plain(fact)
        assert isinstance(fact, GrantFact)
        if fact.object.type is not _T.TABLE or fact.privilege != "SELECT":
            return [plain]
        own = self.filters.names.get((fact.object, f"|{fact.holder.name}"))
        return [plain] if own is None else [self._through(fact, own), plain]

    def _entry(self, fact: Fact) -> ResourcePermission:
        """How a fact is granted: on a filter, where one is for its holder."""
        plain = self._plain(fact)
        assert isinstance(fact, GrantFact)
        if not shows_rows(fact):
            return plain
        tables = sorted({f.table for f in self.filters.records if reached(fact, f.table)})
        met = [way for table in tables if (way := self.filters.way(table, fact.holder.name))]
        if not met:
            return plain
        if fact.privilege == "SELECT" and fact.object == met[0].table:
            self._make(met[0])
            return self._through(fact, met[0])
        raise Passes(f"it would show rows of {met[0].table} that a row filter hides")

    def _plain(self, fact: Fact) -> ResourcePermission:
        match fact:
            case GrantFact(holder, object, word, Condition.ALLOW, option):
                return self.words.render(object, word).to(holder.name, option)
            case GrantFact():
                raise HeadgateError("there is no deny")
            case Known():
                raise HeadgateError("principals are made in IAM")
            case _:
                raise HeadgateError("there is no such thing")

    def _through(self, grant: GrantFact, way: CellsFilter) -> ResourcePermission:
        resource = {"DataCellsFilter": way.place(self.words.account)}
        return ResourcePermission("SELECT", resource).to(grant.holder.name, grant.option)

    # -- tags ----------------------------------------------------------------------------------------------------

    def _tag(self, change: Change) -> Applied:
        try:
            for fact, holds in ((change.before, False), (change.after, True)):
                if isinstance(fact, Tag) and (why := self._tag_side(fact, holds)):
                    return Applied(Outcome.UNSUPPORTED, why)
        except ConnectionFailed:
            raise
        except HeadgateError as error:
            return Applied(Outcome.FAILED, str(error))
        return Applied(Outcome.APPLIED)

    def _tag_side(self, tag: Tag, holds: bool) -> str:
        """Put a tag on an object or take it off; or why not."""
        if tag.name not in self.tags or tag.value not in self.tags[tag.name]:
            return f"there is no LF-tag '{tag.name}' with the value '{tag.value}'"
        # INVARIANT: a push never grants by the way: what grants ask for is put and taken by people.
        if tag.name in self.granting:
            return f"a grant asks for the LF-tag '{tag.name}'"
        resource = self.words.render(
            tag.object, "SELECT" if tag.object.type is _T.COLUMN else "DESCRIBE"
        ).resource
        operation = "add_lf_tags_to_resource" if holds else "remove_lf_tags_from_resource"
        pairs = [{"TagKey": tag.name, "TagValues": [tag.value]}]
        answer = self.aws(
            "lakeformation", operation, CatalogId=self.words.account, Resource=resource, LFTags=pairs
        )
        if answer.get("Failures"):
            raise AwsError.of(answer["Failures"][0]["Error"])
        return ""

    @cached_property
    def tags(self) -> dict[str, set[str]]:
        """The LF-tags that there are, with their values."""
        found = self.aws.all("lakeformation", "list_lf_tags", "LFTags", CatalogId=self.words.account)
        return {entry["TagKey"]: set(entry["TagValues"]) for entry in found}

    @cached_property
    def granting(self) -> set[str]:
        """The LF-tags that grants ask for; all of them, if a grant asks for an expression by its name."""
        found: set[str] = set()
        for grant in granted(self.aws, self.words, self.filters).plain:
            if grant.object.type is _T.CATALOG and " ON {" in grant.privilege:
                policy = self.words.render(grant.object, grant.privilege).resource.get("LFTagPolicy")
                if policy is not None:
                    found |= {term["TagKey"] for term in policy.get("Expression") or ()} or set(self.tags)
        return found

    # -- rows ----------------------------------------------------------------------------------------------------

    def _row_filter(self, change: Change) -> Applied:
        rule = change.fact
        assert isinstance(rule, RowFilter)
        if rule.name == SECURITY:
            return Applied(Outcome.UNSUPPORTED, "row-level security of others is left alone")
        try:
            wanted = filters_of(rule) if change.after is not None else []
            why = self._settle(rule.object, rule.name, wanted)
        except ConnectionFailed:
            raise
        except HeadgateError as error:
            return Applied(Outcome.FAILED, str(error))
        finally:
            self.filters = data_cells_filters(self.aws, self.words)
        return Applied(Outcome.UNSUPPORTED, why) if why else Applied(Outcome.APPLIED)

    def _settle(self, table: Securable, rule: str, wanted: list[CellsFilter]) -> str:
        """Make these the filters of a rule, and let everybody read the table through theirs; or why that cannot be."""
        old = {f for f in self.filters.records if (f.table, f.rule) == (table, rule)}
        after = Filters((self.filters.all - old) | set(wanted))
        held = granted(self.aws, self.words, self.filters)
        plain = [grant for grant in held.plain if shows_rows(grant) and reached(grant, table)]
        for grant in plain if wanted else ():
            met = after.way(table, grant.holder.name) is not None
            beside = met and (grant.object, grant.privilege) != (table, "SELECT")
            if beside or grant.holder.kind is Kind.GROUP:
                return f"{grant.holder} holds {grant.privilege} on {grant.object}, which shows the rows"
        self._lead(table, plain, [grant for grant, way in held.through if way.table == table], after)
        for made in wanted:
            self._make(made)
        names = {made.name for made in wanted}
        for gone in [*(f for f in sorted(old) if f.name not in names), *after.stale(table)]:
            self.aws("lakeformation", "delete_data_cells_filter", **gone.place(self.words.account))
        return ""

    def _lead(
        self, table: Securable, plain: list[GrantFact], through: list[GrantFact], after: Filters
    ) -> None:
        """Let everybody who reads the table read it through their filter, or without one if no rule is for them."""
        for grant in plain:
            way = after.way(table, grant.holder.name)
            if way is not None and (grant.object, grant.privilege) == (table, "SELECT"):
                self._make(way)
                self._one("grant_permissions", self._through(grant, way))
                self._one("revoke_permissions", self._plain(grant))
        for grant in through:
            way = after.way(table, grant.holder.name)
            if way is None:
                self._one("grant_permissions", self._plain(grant))
            else:
                self._make(way)

    def _make(self, made: CellsFilter) -> None:
        data = made.wire(self.words.account)
        try:
            self.aws("lakeformation", "create_data_cells_filter", TableData=data)
        except AwsError as error:
            if error.code != "AlreadyExistsException":
                raise
            self.aws("lakeformation", "update_data_cells_filter", TableData=data)

    def _one(self, operation: str, entry: ResourcePermission) -> None:
        try:
            self.aws("lakeformation", operation, CatalogId=self.words.account, **entry.arguments)
        except AwsError as error:
            if _NOTHING_TO_REVOKE not in str(error):
                raise

    # -- batches -------------------------------------------------------------------------------------------------

    def _send(self, operation: str, entries: list[dict[str, Any]], answers: list[Applied]) -> None:
        """INVARIANT: the service answers yes to a batch of which parts failed; each failure is one's own."""
        if not entries:
            return
        left = {entry["Id"]: entry for entry in entries}

        def ask() -> None:
            answer = self.aws.once(
                "lakeformation", operation, CatalogId=self.words.account, Entries=list(left.values())
            )
            failures = {f["RequestEntry"]["Id"]: f["Error"] for f in answer.get("Failures") or ()}
            busy = ""
            for id in list(left):
                error = AwsError.of(failures[id]) if id in failures else None
                if error is not None and error.busy:
                    busy = str(error)
                    continue
                del left[id]
                if error is not None and _NOTHING_TO_REVOKE not in str(error):
                    answers[int(id.partition(".")[0])] = Applied(Outcome.FAILED, str(error))
            if left:
                raise Busy(busy)

        try:
            self.aws.pacing(ask)
        except AwsError as error:
            for id in left:
                answers[int(id.partition(".")[0])] = Applied(Outcome.FAILED, str(error))
