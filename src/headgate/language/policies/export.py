"""Policies as YAML documents in the one normal form, so that what is exported can be compared byte by byte."""

import datetime as dt
import re
from collections.abc import Iterable, Iterator
from typing import Final

from headgate.language.policies.policy import Policy

_WORD: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_PLAIN: Final = re.compile(r"[A-Za-z(][^\x00-\x1f\x7f-\uffff]*|-?\d{1,6}|\d{4}-\d\d-\d\d(T[\d:.]+Z)?")
_FLOW_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.@/-]*(:[A-Za-z0-9_.@/-]+)?", re.ASCII)
_KEY: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*", re.ASCII)
_KEYWORDS: Final = frozenset({"true", "false", "yes", "no", "on", "off", "null", "y", "n"})


def dump(policies: Iterable[Policy]) -> str:
    """The documents of policies in the one normal form: `dump(load(text)) == text` for every text made by it."""
    return "---\n".join("".join(_lines(policy)) for policy in policies)


def _lines(policy: Policy) -> Iterator[str]:
    yield f"policy: {_scalar(policy.name)}\n"
    yield f"on: {_scalar('.'.join(part(p) for p in policy.on))}\n"
    yield f"to: {_flow(policy.to)}\n"
    if policy.except_:
        yield f"except: {_flow(policy.except_)}\n"
    if policy.when is not None:
        yield f"when: {_scalar(policy.when)}\n"
    if policy.columns:
        yield from _block("columns", policy.columns)
    if policy.rows is not None:
        yield f"rows: {_scalar(policy.rows)}\n"
    if policy.mask:
        yield from _block("mask", policy.mask)
    if policy.hide:
        yield f"hide: {_flow(policy.hide)}\n"
    if policy.effect == "deny":
        yield "deny: true\n"
    if policy.priority:
        yield f"priority: {policy.priority}\n"
    for name, moment in (("from", policy.from_), ("until", policy.until)):
        if moment is not None:
            yield f"{name}: {_moment_text(moment)}\n"
    if policy.purpose:
        yield f"purpose: {_flow(policy.purpose)}\n"
    if policy.accept:
        yield from _block("accept", policy.accept)
    if not policy.enabled:
        yield "enabled: false\n"
    if policy.comment is not None:
        yield f"comment: {_scalar(policy.comment)}\n"


def part(name: str) -> str:
    """One part of a dotted name, as documents write it."""
    return name if _WORD.fullmatch(name) else '"' + name.replace('"', '""') + '"'


def _moment_text(moment: dt.datetime) -> str:
    text = moment.replace(tzinfo=None).isoformat()
    return text.removesuffix("T00:00:00") if text.endswith("T00:00:00") else text + "Z"


def _block(name: str, entries: tuple[tuple[str, str], ...]) -> Iterator[str]:
    yield f"{name}:\n"
    for key, value in entries:
        yield f"  {key if _KEY.fullmatch(key) and key.lower() not in _KEYWORDS else _quoted(key)}: {_scalar(value, '    ')}\n"


def _flow(items: tuple[str, ...]) -> str:
    shown = (i if _FLOW_PLAIN.fullmatch(i) and i.lower() not in _KEYWORDS else _quoted(i) for i in items)
    return "[" + ", ".join(shown) + "]"


def _scalar(text: str, indent: str = "  ") -> str:
    lines = text.split("\n")
    if len(lines) > 1 and all(line.isprintable() and line == line.strip() and line for line in lines):
        return "|-\n" + "\n".join(indent + line for line in lines)
    awkward = ": " in text or " #" in text or text.endswith(":") or text != text.strip()
    if _PLAIN.fullmatch(text) and not awkward and text.lower() not in _KEYWORDS:
        return text
    return _quoted(text)


def _quoted(text: str) -> str:
    out = []
    for character in text:
        if character in '"\\':
            out.append("\\" + character)
        elif character.isprintable():
            out.append(character)
        else:
            code = ord(character)
            out.append(
                f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}"
            )
    return '"' + "".join(out) + '"'
