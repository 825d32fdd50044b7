"""What a check of the doctor finds."""

import msgspec


class DoctorFinding(msgspec.Struct, frozen=True):
    """Something that is wrong, and what to do next."""

    check: str
    problem: str
    next: str
