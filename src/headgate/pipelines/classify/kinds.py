"""The kinds of personal data, and the signals that speak for each: conditions on a value, in Spark SQL.

A value counts for the strongest signal of a kind that it meets. How strong a signal is depends on whether the column's name says the
same: eleven digits are a phone number in a column called `mobile`, and anything at all in one called `id`.
"""

from typing import Final

import msgspec

from headgate.pipelines.classify import checksums as check

TAG: Final = "pii"

TEXT: Final = "text"
"""The column with a value as it is, trimmed."""
SOLID: Final = "solid"
"""The column with the value in capitals and without spaces, dots, hyphens and slashes."""


class Signal(msgspec.Struct, frozen=True):
    """A condition on a value; how much meeting it says by itself, and together with the column's name."""

    name: str
    sql: str
    alone: float
    named: float


class DataKind(msgspec.Struct, frozen=True):
    """A value of the tag, with its signals from strong to weak."""

    value: str
    signals: tuple[Signal, ...]


def _like(pattern: str, column: str = TEXT) -> str:
    assert "'" not in pattern, "a quote would end the literal"
    return f"{column} RLIKE r'^(?:{pattern})$'"


def _date(year: int, column: str = SOLID, wide: bool = False) -> str:
    """Whether month and day after a year of so many digits can be; `wide`: the month tells the century as well."""
    month = f"try_cast(substring({column}, {year + 1}, 2) AS INT){' % 20' if wide else ''}"
    day = f"try_cast(substring({column}, {year + 3}, 2) AS INT)"
    return f"{month} BETWEEN 1 AND 12 AND {day} BETWEEN 1 AND 31"


def _all(*conditions: str) -> str:
    return "(" + " AND ".join(conditions) + ")"


def _any(*conditions: str) -> str:
    return "(" + " OR ".join(conditions) + ")"


# -- shapes -----------------------------------------------------------------------------------------------------

_EMAIL: Final = (
    r"[A-Za-z0-9._%+\-]{1,64}@(?:[A-Za-z0-9](?:[A-Za-z0-9\-]{0,61}[A-Za-z0-9])?\.){1,8}[A-Za-z]{2,24}"
)
_OCTET: Final = r"(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
_V4: Final = rf"{_OCTET}(?:\.{_OCTET}){{3}}"
_NOBODYS: Final = r"0\..*|127\..*|255\.255\.255\.255"
_GROUP: Final = r"[0-9A-Fa-f]{1,4}"
_V6: Final = "|".join(
    (
        rf"(?:{_GROUP}:){{7}}{_GROUP}",
        *(rf"(?:{_GROUP}:){{{n}}}(?::{_GROUP}){{1,{7 - n}}}" for n in range(1, 7)),
        rf"(?:{_GROUP}:){{1,7}}:",
        rf":(?::{_GROUP}){{1,7}}",
    )
)
_DATE: Final = r"\d{1,4}[-./]\d{1,2}[-./]\d{1,4}(?:[T ].*)?"
_BETWEEN: Final = r"[ .\-/]?"
_DIGITS: Final = f"length(regexp_replace({TEXT}, '[^0-9]', ''))"
_CARDS: Final = "|".join(
    (
        r"4(?:\d{12}|\d{15}|\d{18})",
        r"5[1-5]\d{14}",
        r"2(?:22[1-9]|2[3-9]\d|[3-6]\d\d|7[01]\d|720)\d{12}",
        r"3[47]\d{13}",
        r"3(?:0[0-5]|[68]\d)\d{11}",
        r"(?:6011|64[4-9]\d|65\d\d)\d{12,15}",
        r"35(?:2[89]|[3-8]\d)\d{12,15}",
        r"62\d{14,17}",
    )
)
_PERSON: Final = (
    r"[\p{Lu}\p{Lt}\p{Lo}][\p{L}\p{M}\x27\u2019.\-]*(?:,? [\p{L}][\p{L}\p{M}\x27\u2019.\-]*){0,4}"
)
_SSN: Final = r"(?!000|666|9)\d{3}{0}(?!00)\d\d{0}(?!0000)\d{4}"


def _ssn(between: str) -> str:
    return _SSN.replace("{0}", between)


# -- kinds ------------------------------------------------------------------------------------------------------

_IBAN_LENGTHS: Final = {
    "AD": 24, "AE": 23, "AL": 28, "AT": 20, "AZ": 28, "BA": 20, "BE": 16, "BG": 22, "BH": 22, "BR": 29, "CH": 21, "CR": 22,
    "CY": 28, "CZ": 24, "DE": 22, "DK": 18, "DO": 28, "EE": 20, "ES": 24, "FI": 18, "FO": 18, "FR": 27, "GB": 22, "GE": 22,
    "GI": 23, "GL": 18, "GR": 27, "GT": 28, "HR": 21, "HU": 28, "IE": 22, "IL": 23, "IS": 26, "IT": 27, "JO": 30, "KW": 30,
    "KZ": 20, "LB": 28, "LI": 21, "LT": 20, "LU": 20, "LV": 21, "MC": 27, "MD": 24, "ME": 22, "MK": 19, "MR": 27, "MT": 31,
    "MU": 30, "NL": 18, "NO": 15, "PK": 24, "PL": 28, "PS": 29, "PT": 25, "QA": 29, "RO": 24, "RS": 22, "SA": 24, "SE": 24,
    "SI": 19, "SK": 24, "SM": 27, "TN": 24, "TR": 26, "UA": 29, "VA": 22, "VG": 24, "XK": 20,
}  # fmt: skip
"""How long the IBANs of a country are; of other countries any length will do that an IBAN can have."""


def _iban_length() -> str:
    by_length: dict[int, list[str]] = {}
    for country, length in _IBAN_LENGTHS.items():
        by_length.setdefault(length, []).append(country)
    cases = " ".join(
        f"WHEN substring({SOLID}, 1, 2) IN ({', '.join(repr(c) for c in countries)}) THEN length({SOLID}) = {length}"
        for length, countries in sorted(by_length.items())
    )
    return f"CASE {cases} ELSE TRUE END"


EMAIL: Final = DataKind(
    "email",
    (Signal("address", _all(_like(_EMAIL), f"NOT contains({TEXT}, '..')"), 0.95, 1.0),),
)
IBAN: Final = DataKind(
    "iban",
    (
        Signal(
            "checked",
            _all(_like(r"[A-Z]{2}\d{2}[A-Z0-9]{11,30}", SOLID), _iban_length(), check.mod97(SOLID)),
            1.0,
            1.0,
        ),
    ),
)
CARD: Final = DataKind("card", (Signal("checked", _all(_like(_CARDS, SOLID), check.luhn(SOLID)), 0.95, 1.0),))
IP: Final = DataKind(
    "ip",
    (
        # Addresses that are everybody's own: unspecified, loopback, broadcast.
        Signal("v6", _all(_like(_V6), f"{TEXT} NOT IN ('::', '::1')"), 0.95, 1.0),
        Signal("v4", _all(_like(_V4), f"NOT {_like(_NOBODYS)}"), 0.8, 1.0),
    ),
)
NATIONAL_ID: Final = DataKind(
    "national-id",
    (
        Signal(
            "checked",
            _any(
                _all(_like(r"[XYZ\d]\d{7}[A-Z]", SOLID), check.spanish(SOLID)),
                _all(
                    _like(r"[A-Z]{6}[0-9L-NP-V]{2}[A-EHLMPRST][0-9L-NP-V]{2}[A-Z][0-9L-NP-V]{3}[A-Z]", SOLID),
                    check.italian(SOLID),
                ),
                _all(
                    _like(r"[12378]\d\d(?:0[1-9]|1[0-2]|[2-9]\d)(?:\d\d|2[AB])\d{8}", SOLID),
                    check.french(SOLID),
                ),
                _all(_like(r"[0-3]\d[01]\d{3}[-+A-FU-Y]\d{3}[0-9A-Y]"), check.finnish(TEXT)),
                _all(
                    _like(r"(?:19|20)?\d{6}[-+]\d{4}"), _date(2, f"right({SOLID}, 10)"), check.swedish(SOLID)
                ),
                _all(_like(r"(?:19|20)\d{10}", SOLID), _date(4), check.swedish(SOLID)),
                _all(_like(r"\d{11}", SOLID), _date(2, wide=True), check.polish(SOLID)),
                _all(_like(r"\d{11}", SOLID), check.brazilian(SOLID)),
            ),
            0.9,
            1.0,
        ),
        Signal(
            "shaped",
            _any(
                _like(_ssn("-")),
                _like(r"(?!BG|GB|KN|NK|NT|TN|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z]\d{6}[A-D]", SOLID),
            ),
            0.75,
            0.95,
        ),
        Signal("digits", _any(_like(_ssn("")), _all(_like(r"\d{9}"), check.dutch(TEXT))), 0.0, 0.85),
    ),
)
PHONE: Final = DataKind(
    "phone",
    (
        Signal(
            "international",
            _all(_like(rf"(?:\+|00)[1-9](?:{_BETWEEN}[()]?{_BETWEEN}\d){{6,14}}"), f"NOT {_like(_DATE)}"),
            0.85,
            1.0,
        ),
        Signal(
            "national",
            _all(
                _any(
                    _like(r"\(0?\d{2,5}\)" + rf"{_BETWEEN}\d(?:{_BETWEEN}\d){{4,9}}"),
                    _like(rf"0\d{{1,5}}[ \-/]\d(?:{_BETWEEN}\d){{3,9}}"),
                    _like(r"[2-9]\d{2}[ .\-][2-9]\d{2}[ .\-]\d{4}"),
                ),
                f"{_DIGITS} BETWEEN 8 AND 12",
                f"NOT {_like(_DATE)}",
            ),
            0.7,
            0.95,
        ),
        Signal("digits", _like(r"\d{7,15}"), 0.0, 0.8),
    ),
)
NAME: Final = DataKind("name", (Signal("shaped", _all(_like(_PERSON), f"length({TEXT}) >= 2"), 0.0, 0.85),))

KINDS: Final = (EMAIL, IBAN, CARD, NATIONAL_ID, IP, PHONE, NAME)
"""Where two kinds are equally likely, the first of them is proposed."""
