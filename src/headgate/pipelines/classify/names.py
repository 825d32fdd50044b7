"""What the name of a column says of it: its words, and which kinds of personal data they speak of."""

import re
from collections.abc import Sequence
from typing import Final

_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_a-zA-Z]+", re.UNICODE)

_SAYING: Final[dict[str, frozenset[str]]] = {
    "email": frozenset({"email", "emails", "e mail", "mail", "courriel", "correo"}),
    "phone": frozenset(
        {"phone", "phones", "telephone", "tel", "mobile", "cell", "cellphone", "fax", "msisdn", "telefon", "telefono"}
    ),
    "iban": frozenset({"iban", "bank account", "account number"}),
    "card": frozenset({"card", "creditcard", "card number", "pan", "cc number"}),
    "ip": frozenset({"ip", "ips", "ipv", "ipaddr", "ipaddress", "remote addr", "client address", "remote address"}),
    "national-id": frozenset(
        {"ssn", "nino", "pesel", "cpf", "bsn", "dni", "nie", "nir", "hetu", "personnummer", "national id", "nationalid",
         "social security", "social insurance", "national insurance", "tax id", "codice fiscale", "fiscal code",
         "personal number", "personal id", "identity number", "national number"}
    ),
}  # fmt: skip
"""Words that stand in the name anywhere."""

_NAMES: Final = frozenset(
    {"first name", "firstname", "last name", "lastname", "given name", "family name", "middle name", "full name",
     "fullname", "surname", "forename", "maiden name", "birth name", "person name", "customer name", "client name",
     "patient name", "employee name", "contact name", "holder name", "cardholder name", "cardholder", "account holder",
     "vorname", "nachname", "prenom", "apellido", "apellidos", "cognome"}
)  # fmt: skip
"""What the name of a column with people's names ends with."""

_PEOPLE: Final = frozenset(
    [
        "person",
        "persons",
        "people",
        "customer",
        "customers",
        "client",
        "clients",
        "user",
        "users",
        "employee",
        "employees",
        "patient",
        "patients",
        "member",
        "members",
        "student",
        "students",
        "contact",
        "contacts",
        "subscriber",
        "subscribers",
        "staff",
        "citizen",
        "citizens",
        "guest",
        "guests",
    ]
)
_NOT: Final = {"ip": frozenset({"version", "ver", "build", "release", "firmware", "oid"})}
"""Words that make a column another thing, whatever its values look like."""


def words(name: str) -> tuple[str, ...]:
    """The words of a name in snake case, camel case or with anything else between them."""
    return tuple(word.lower() for word in _WORD.findall(name))


def says(kind: str, column: Sequence[str], table: str) -> bool:
    """Whether the names on the way to a column speak of the kind; a mere `name` does in a table or struct of people."""
    spoken = [word for part in column for word in words(part)]
    if kind != "name":
        return any(_within(phrase.split(), spoken) for phrase in _SAYING[kind])
    own = words(column[-1])
    if any(own[-len(phrase) :] == phrase for phrase in (tuple(p.split()) for p in _NAMES)):
        return True
    around = {word for part in (table, *column[:-1]) for word in words(part)}
    return own == ("name",) and not around.isdisjoint(_PEOPLE)


def denies(kind: str, column: Sequence[str]) -> bool:
    """Whether the name says that the column is something else."""
    return not _NOT.get(kind, frozenset()).isdisjoint(word for part in column for word in words(part))


def _within(phrase: Sequence[str], spoken: Sequence[str]) -> bool:
    return any(list(spoken[n : n + len(phrase)]) == list(phrase) for n in range(len(spoken)))
