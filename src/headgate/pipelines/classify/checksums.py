"""Check digits in Spark SQL: each function takes the SQL of a text and gives the SQL of a condition on it.

All of them are total: whatever the text is, they are true, false or NULL and never fail, because a failing expression
would carry the value it met into a message.
"""

from collections.abc import Sequence
from typing import Final

LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_DOUBLED: Final = "array(0, 2, 4, 6, 8, 1, 3, 5, 7, 9)"
_ODD: Final = (1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23)
_SPANISH: Final = "TRWAGMYFPDXBNJZSQVHLCKE"
_FINNISH: Final = "0123456789ABCDEFHJKLMNPRSTUVWXY"


def luhn(text: str) -> str:
    """The sum of cards: from the right every second digit doubled, its digits added."""
    digit = "try_cast(c AS INT)"
    counted = (
        f"transform(split(reverse({text}), ''), (c, i) -> "
        f"coalesce(CASE WHEN i % 2 = 1 THEN get({_DOUBLED}, {digit}) ELSE {digit} END, 0))"
    )
    return f"{_sum(counted)} % 10 = 0"


def mod97(text: str) -> str:
    """ISO 7064 for an IBAN: the first four characters to the end, letters as 10 to 35, the remainder of 97 is 1."""
    value = f"instr('{LETTERS}', c) + 9"
    step = (
        f"CASE WHEN c RLIKE '[A-Z]' THEN (rest * 100 + {value}) % 97 "
        "WHEN c RLIKE '[0-9]' THEN (rest * 10 + coalesce(try_cast(c AS INT), 0)) % 97 ELSE rest END"
    )
    moved = f"concat(substring({text}, 5), substring({text}, 1, 4))"
    return f"aggregate(split({moved}, ''), 0, (rest, c) -> {step}) = 1"


def weighted(text: str, weights: Sequence[int]) -> str:
    """The digits from the left, each times its weight, added up; digits beyond the weights do not count."""
    row = f"array({', '.join(map(str, weights))})"
    return _sum(f"zip_with(split({text}, ''), {row}, (c, w) -> coalesce(try_cast(c AS INT) * w, 0))")


def spanish(text: str) -> str:
    """DNI and NIE: the last letter is the number modulo 23."""
    number = _number(f"translate(substring({text}, 1, 8), 'XYZ', '012')")
    return f"substring('{_SPANISH}', {number} % 23 + 1, 1) = substring({text}, 9, 1)"


def italian(text: str) -> str:
    """Codice fiscale: odd places by a table, even ones by the alphabet, modulo 26 the last letter."""
    # Digits count like the first ten letters, in both tables.
    letters = f"translate(substring({text}, 1, 15), '0123456789', '{LETTERS[:10]}')"
    place = f"instr('{LETTERS}', c) - 1"
    odd = f"array({', '.join(map(str, _ODD))})"
    counted = (
        f"transform(split({letters}, ''), (c, i) -> CASE WHEN c = '' THEN 0 WHEN i % 2 = 0 "
        f"THEN coalesce(get({odd}, {place}), 0) ELSE {place} END)"
    )
    return f"substring('{LETTERS}', {_sum(counted)} % 26 + 1, 1) = substring({text}, 16, 1)"


def polish(text: str) -> str:
    """PESEL."""
    check = f"(10 - {weighted(text, (1, 3, 7, 9, 1, 3, 7, 9, 1, 3))} % 10) % 10"
    return f"{check} = {_digit(text, 11)}"


def french(text: str) -> str:
    """NIR with its key; the departments of Corsica count as numbers."""
    number = f"replace(replace(substring({text}, 1, 13), '2A', '19'), '2B', '18')"
    return f"97 - {_number(number)} % 97 = {_number(f'substring({text}, 14, 2)')}"


def finnish(text: str) -> str:
    """Henkilötunnus: date and number modulo 31, as one of 31 characters."""
    number = _number(f"concat(substring({text}, 1, 6), substring({text}, 8, 3))")
    return f"substring('{_FINNISH}', {number} % 31 + 1, 1) = substring({text}, 11, 1)"


def swedish(text: str) -> str:
    """Personnummer: the sum of cards over its last ten digits."""
    return luhn(f"right({text}, 10)")


def brazilian(text: str) -> str:
    """CPF: two check digits; eleven equal digits meet both and are nobody's."""
    first = f"{weighted(text, range(10, 1, -1))} * 10 % 11 % 10 = {_digit(text, 10)}"
    second = f"{weighted(text, range(11, 1, -1))} * 10 % 11 % 10 = {_digit(text, 11)}"
    return f"{text} <> repeat(substring({text}, 1, 1), 11) AND {first} AND {second}"


def dutch(text: str) -> str:
    """BSN: the test of eleven."""
    return f"{weighted(text, (9, 8, 7, 6, 5, 4, 3, 2, -1))} % 11 = 0"


def _sum(numbers: str) -> str:
    return f"aggregate({numbers}, 0, (sum, n) -> sum + n)"


def _digit(text: str, place: int) -> str:
    return f"try_cast(substring({text}, {place}, 1) AS INT)"


def _number(text: str) -> str:
    return f"try_cast({text} AS BIGINT)"
