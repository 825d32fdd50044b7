"""Generated people with valid identifiers of every kind, their check digits worked out in plain Python; and look-alikes."""

import random
import string
from collections.abc import Callable
from typing import Any

FIRST = (
    "Ann",
    "Bob",
    "Çelik",
    "Dagmar",
    "Élodie",
    "Farouk",
    "Grace",
    "Hiro",
    "Ilse",
    "José-María",
    "Kim",
    "Łukasz",
)
LAST = (
    "Archer",
    "O'Brien",
    "Castro",
    "van der Berg",
    "Eriksen",
    "Fontaine",
    "Gómez",
    "Haddad",
    "Ivanova",
    "Jansen",
)

Make = Callable[[random.Random], str]


def digits(r: random.Random, count: int) -> str:
    return "".join(r.choice(string.digits) for _ in range(count))


def email(r: random.Random) -> str:
    return f"{r.choice(FIRST[:2]).lower()}.{digits(r, 4)}@{r.choice(('example.org', 'mail.example.co.uk', 'acme.dev'))}"


def phone(r: random.Random) -> str:
    return r.choice(
        (
            f"+49 {r.randint(30, 999)} {digits(r, 7)}",
            f"+1 ({r.randint(201, 989)}) {r.randint(200, 999)}-{digits(r, 4)}",
            f"+44{r.randint(20, 79)}{digits(r, 8)}",
            f"0{r.randint(30, 899)}/{digits(r, 7)}",
            f"({r.randint(201, 989)}) {r.randint(200, 999)}-{digits(r, 4)}",
        )
    )


def iban(r: random.Random) -> str:
    country, length = r.choice((("DE", 22), ("FR", 27), ("GB", 22), ("NL", 18)))
    head = {"DE": "", "FR": "", "GB": "ABCD", "NL": "EFGH"}[country]
    body = head + digits(r, length - 4 - len(head))
    number = int("".join(str(int(c, 36)) for c in body + country + "00"))
    whole = f"{country}{98 - number % 97:02d}{body}"
    return whole if r.random() < 0.5 else " ".join(whole[n : n + 4] for n in range(0, length, 4))


def luhn(body: str) -> str:
    doubled = [int(c) for c in reversed(body)]
    total = sum(sum(divmod(2 * d, 10)) if n % 2 == 0 else d for n, d in enumerate(doubled))
    return body + str(-total % 10)


def card(r: random.Random) -> str:
    start, length = r.choice((("4", 16), ("53", 16), ("2345", 16), ("37", 15), ("6011", 16)))
    whole = luhn(start + digits(r, length - len(start) - 1))
    return whole if r.random() < 0.5 or length == 15 else "-".join(whole[n : n + 4] for n in range(0, 16, 4))


def ip(r: random.Random) -> str:
    if r.random() < 0.7:
        return f"{r.randint(1, 99)}.{r.randint(0, 255)}.{r.randint(0, 255)}.{r.randint(0, 255)}"
    return r.choice(
        (f"2001:db8::{r.randint(1, 65535):x}", ":".join(f"{r.randint(0, 65535):x}" for _ in range(8)))
    )


def name(r: random.Random) -> str:
    return f"{r.choice(FIRST)} {r.choice(LAST)}"


def spanish(r: random.Random) -> str:
    number = r.randint(0, 99_999_999)
    return f"{number:08d}{'TRWAGMYFPDXBNJZSQVHLCKE'[number % 23]}"


def polish(r: random.Random) -> str:
    body = f"{r.randint(0, 99):02d}{r.randint(1, 12):02d}{r.randint(1, 28):02d}{digits(r, 4)}"
    total = sum(int(c) * w for c, w in zip(body, (1, 3, 7, 9) * 3, strict=False))
    return f"{body}{-total % 10}"


def brazilian(r: random.Random) -> str:
    body = digits(r, 9)
    for size in (10, 11):
        total = sum(int(c) * w for c, w in zip(body, range(size, 1, -1), strict=False))
        body += str(total * 10 % 11 % 10)
    return f"{body[:3]}.{body[3:6]}.{body[6:9]}-{body[9:]}"


def finnish(r: random.Random) -> str:
    date, number = f"{r.randint(1, 28):02d}{r.randint(1, 12):02d}{digits(r, 2)}", f"{r.randint(2, 899):03d}"
    return f"{date}{r.choice('-A')}{number}{'0123456789ABCDEFHJKLMNPRSTUVWXY'[int(date + number) % 31]}"


def swedish(r: random.Random) -> str:
    whole = luhn(f"{digits(r, 2)}{r.randint(1, 12):02d}{r.randint(1, 28):02d}{digits(r, 3)}")
    return f"{whole[:6]}-{whole[6:]}"


def french(r: random.Random) -> str:
    body = f"{r.choice('12')}{digits(r, 2)}{r.randint(1, 12):02d}{r.choice(('75', '13', '2A', '2B'))}{digits(r, 6)}"
    number = int(body.replace("2A", "19").replace("2B", "18"))
    return f"{body}{97 - number % 97:02d}"


def italian(r: random.Random) -> str:
    letters = "".join(r.choice("BCDFGLMNPRSTV") for _ in range(6))
    body = f"{letters}{digits(r, 2)}{r.choice('ABCDEHLMPRST')}{r.randint(1, 28):02d}{r.choice('AFHL')}{digits(r, 3)}"
    odd = {
        "0": 1, "1": 0, "2": 5, "3": 7, "4": 9, "5": 13, "6": 15, "7": 17, "8": 19, "9": 21, "A": 1, "B": 0, "C": 5, "D": 7,
        "E": 9, "F": 13, "G": 15, "H": 17, "I": 19, "J": 21, "K": 2, "L": 4, "M": 18, "N": 20, "O": 11, "P": 3, "Q": 6,
        "R": 8, "S": 12, "T": 14, "U": 16, "V": 10, "W": 22, "X": 25, "Y": 24, "Z": 23,
    }  # fmt: skip
    even = {c: n for n, c in enumerate(string.digits)} | {c: n for n, c in enumerate(string.ascii_uppercase)}
    total = sum(odd[c] if n % 2 == 0 else even[c] for n, c in enumerate(body))
    return body + string.ascii_uppercase[total % 26]


NATIONAL: dict[str, Make] = {
    "spanish": spanish,
    "polish": polish,
    "brazilian": brazilian,
    "finnish": finnish,
    "swedish": swedish,
    "french": french,
    "italian": italian,
    "american": lambda r: f"{r.randint(100, 600)}-{r.randint(10, 99)}-{r.randint(1000, 9999)}",
    "british": lambda r: f"{r.choice(('AB', 'CE', 'JK'))}{digits(r, 6)}{r.choice('ABCD')}",
}

KINDS: dict[str, Make] = {
    "email": email,
    "phone": phone,
    "iban": iban,
    "card": card,
    "ip": ip,
    "name": name,
}

LOOKALIKES: dict[str, Callable[[random.Random], Any]] = {
    "order_number": lambda r: digits(r, 16),
    "invoice": lambda r: digits(r, 11),
    "reference": lambda r: f"{r.choice(('DE', 'FR'))}{digits(r, 20)}",
    "at_text": lambda r: f"20{r.randint(10, 29)}-{r.randint(1, 12):02d}-{r.randint(1, 28):02d}",
    "day_first": lambda r: f"{r.randint(1, 9):02d}/{r.randint(1, 12):02d}/20{r.randint(10, 29)}",
    "instant": lambda r: f"2026-{r.randint(1, 12):02d}-{r.randint(1, 28):02d}T10:{r.randint(10, 59)}:00Z",
    "epoch": lambda r: str(1_700_000_000_000 + r.randint(0, 10**9)),
    "key": lambda r: "-".join(
        "".join(r.choice("0123456789abcdef") for _ in range(n)) for n in (8, 4, 4, 4, 12)
    ),
    "hash": lambda r: "".join(r.choice("0123456789abcdef") for _ in range(64)),
    "mac": lambda r: ":".join(f"{r.randint(0, 255):02x}" for _ in range(6)),
    "clock": lambda r: f"{r.randint(10, 23)}:{r.randint(10, 59)}:{r.randint(10, 59)}",
    "version": lambda r: f"{r.randint(1, 9)}.{r.randint(0, 20)}.{r.randint(0, 20)}.{r.randint(0, 99)}",
    "handle": lambda r: f"@{r.choice(FIRST[:2]).lower()}{digits(r, 3)}",
    "product_name": lambda r: f"{r.choice(('Oak', 'Steel'))} {r.choice(('Chair', 'Table'))}",
    "city": lambda r: r.choice(("Berlin", "Porto", "New York")),
    "price": lambda r: f"{r.randint(1, 999)}.{digits(r, 2)}",
    "status": lambda r: r.choice(("ACTIVE", "GONE")),
    "url": lambda r: f"https://example.org/@{digits(r, 3)}",
    "isbn": lambda r: f"978-{digits(r, 1)}-{digits(r, 4)}-{digits(r, 4)}-{digits(r, 1)}",
    "zip_code": lambda r: digits(r, 5),
    "quantity": lambda r: str(r.randint(1, 500)),
}
"""What is nobody's, by the name of its column."""
