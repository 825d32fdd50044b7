"""Blocks as text, one function per form; each form quotes in its own way."""

import json
import re
import shlex
import textwrap
from collections.abc import Iterable

from headgate.engines.config.blocks import Block, Blocks, Placeholder
from headgate.engines.config.names import ConfigFormat

_WIDTH = 118


def comments(notes: Iterable[str], sign: str = "#") -> str:
    """Sentences as comment lines."""
    lead = f"{sign} "
    return "".join(
        textwrap.fill(
            note,
            _WIDTH,
            initial_indent=lead,
            subsequent_indent=lead,
            break_long_words=False,
            break_on_hyphens=False,
        )
        + "\n"
        for note in notes
    )


def head(block: Block, format: ConfigFormat, sign: str = "#") -> str:
    """What the block is, where it goes, and the rest."""
    place = block.places.get(format)
    return comments((*block.notes[:1], *((place,) if place else ()), *block.notes[1:]), sign)


def properties(blocks: Blocks) -> str:
    """A Java properties file; signs outside ASCII are escaped, as the encoding is not the same everywhere."""

    return "\n".join(
        head(block, ConfigFormat.PROPERTIES)
        + "".join(f"{pair.key}={escaped(pair.text)}\n" for pair in block.pairs)
        for block in blocks
    )


def escaped(text: str) -> str:
    """Signs outside ASCII as Java writes them, in units of UTF-16; JSON does so too."""
    return json.dumps(text)[1:-1] if not text.isascii() else text


def shell(blocks: Blocks, program: str) -> str:
    """A command with every setting as an option."""
    return "\n".join(
        head(block, ConfigFormat.SHELL)
        + " \\\n  ".join((program, *(f"--conf {shlex.quote(f'{p.key}={p.text}')}" for p in block.pairs)))
        + "\n"
        for block in blocks
    )


def yaml(blocks: Blocks) -> str:
    """Catalogs of pyiceberg's configuration file."""
    texts = []
    for block in blocks:
        lines = "".join(f"    {pair.key}: {literal(pair.text)}\n" for pair in block.pairs)
        texts.append(f"{head(block, ConfigFormat.YAML)}catalog:\n  {block.name}:\n{lines}")
    return "\n".join(texts)


def sql_with(blocks: Blocks, statement: str, *, quote_keys: str = "'", taken: str | None = None) -> str:
    """``CREATE CATALOG … WITH (…)``. `taken` is the setting that stands in the statement itself, as ``{taken}``."""
    texts = []
    for block in blocks:
        listed = [pair for pair in block.pairs if pair.key != taken]
        first = next((pair.text for pair in block.pairs if pair.key == taken), "")
        lines = ",\n".join(f"  {quote_keys}{p.key}{quote_keys} = {sql_text(p.text)}" for p in listed)
        begin = statement.format(name=block.name, taken=first)
        texts.append(f"{head(block, ConfigFormat.SQL, '--')}{begin} WITH (\n{lines}\n);\n")
    return "\n".join(texts)


def python_arguments(block: Block, indent: str = "    ") -> str:
    """The members of a dict, one to a line."""
    return "".join(f"{indent}{literal(pair.key)}: {python_value(pair.value)},\n" for pair in block.pairs)


def python_value(value: str | Placeholder) -> str:
    """A value in Python; what stands in <> is taken from the environment."""
    if isinstance(value, Placeholder):
        return f"os.environ[{literal(value.variable)}]"
    filled = re.sub(r"<(\w+)>", r"{os.environ['\1']}", value)
    return literal(value) if filled == value else f"f{literal(filled)}"


def literal(text: str) -> str:
    """A text in double quotes, as Python, YAML and JSON read it alike."""
    return json.dumps(text, ensure_ascii=False)


def database_of(url: str) -> str:
    """The database that an address of JDBC names; "" if it names none."""
    return url.split("//", 1)[-1].partition("?")[0].partition("/")[2]


def sql_text(text: str) -> str:
    doubled = text.replace("'", "''")
    return f"'{doubled}'"
