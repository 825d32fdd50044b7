"""Reports in the form of JUnit, for pipelines that read test reports."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Literal, NamedTuple
from xml.etree import ElementTree

from headgate.cli.failure import Failure


class JunitCase(NamedTuple):
    """One line of a report; a sort of "" is a success."""

    group: str
    name: str
    sort: Literal["", "failure", "skipped"] = ""
    message: str = ""


def as_junit(suites: Iterable[tuple[str, Iterable[JunitCase]]]) -> str:
    """A report of named suites."""
    root = ElementTree.Element("testsuites")
    for name, cases in suites:
        suite = ElementTree.SubElement(root, "testsuite", name=_xml(name))
        counts = Counter(_add(suite, case) for case in cases)
        suite.set("tests", str(sum(counts.values())))
        suite.set("failures", str(counts["failure"]))
        suite.set("skipped", str(counts["skipped"]))
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def keep(report: str, file: Path | None) -> None:
    """Write a report to a file, if one is asked for."""
    if file is None:
        return
    try:
        file.write_text(report, encoding="utf-8")
    except OSError as error:
        raise Failure(f"{file} cannot be written ({error.strerror})", "choose another --junit") from None


def _add(suite: ElementTree.Element, case: JunitCase) -> str:
    line = ElementTree.SubElement(suite, "testcase", classname=_xml(case.group), name=_xml(case.name))
    if case.sort:
        ElementTree.SubElement(line, case.sort, message=_xml(case.message))
    return case.sort


def _xml(text: str) -> str:
    """Text without the characters that XML has no way to say; names in other systems may hold any."""
    return "".join(
        c
        if c in "\t\n\r" or (c >= " " and not "\ud800" <= c <= "\udfff" and c not in "\ufffe\uffff")
        else "\ufffd"
        for c in text
    )
