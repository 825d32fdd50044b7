"""The table of settings in docs/server.md, written from the records."""

from headgate.settings.setting import SETTINGS

_OF_THE_FILE = (
    "| | | `[[oidc]]` | issuers of tokens that are trusted | none, see [Who is calling](authentication.md) |",
    "| | | `[sync.connections.KIND.NAME]` | systems whose policies are synchronised | none, see [Policies of other catalogs](sync/README.md) |",
)


def setting_table() -> str:
    """One line per setting: where it is given, what it is for, and its default."""
    lines = ["| flag | variable | `headgate.toml` | what | default |", "|---|---|---|---|---|"]
    for setting in SETTINGS:
        sources = (
            f" `{source}`" if source else " " for source in (setting.flag, setting.variable, setting.key)
        )
        lines.append(f"|{' |'.join(sources)} | {setting.help} | {setting.default_text} |")
    return "\n".join((*lines, *_OF_THE_FILE)) + "\n"
