"""The compiled loop that walks Avro records.

The only module that imports numba, and imported on first need: it costs about a second and some memory that a server of
small tables never has to spend. Compiled code is kept on disk, so only the first process of an installation compiles.
Nothing here raises: a walk answers `OK` or why it stopped, and every read is checked against the end of the data.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from headgate.planning.manifests.layout import (
    COUNTS,
    FIXED,
    LIST,
    LONG,
    PARTITION_BEGIN,
    PARTITION_END,
    SPAN,
)


def _compiled(function: Any) -> Any:
    """Compile a function when it is first called, and keep what was compiled where there is a folder for it."""
    try:
        return njit(cache=True, nogil=True)(function)
    except RuntimeError:
        # Installed by somebody else, and without a home: every process compiles for itself.
        return njit(nogil=True)(function)


OK, TRUNCATED, MALFORMED, TOO_MANY_COLUMNS, TOO_MANY_ITEMS = 0, 1, 2, 3, 4


@_compiled
def _long(data, position, end):  # type: ignore[no-untyped-def]
    """Read a zigzag number; a negative new position means that there is none."""
    value = np.uint64(0)
    shift = np.uint64(0)
    while position < end and shift < 70:
        byte = data[position]
        position += 1
        value |= np.uint64(byte & 0x7F) << shift
        if byte < 0x80:
            return np.int64(value >> np.uint64(1)) ^ -np.int64(value & np.uint64(1)), position
        shift += np.uint64(7)
    return np.int64(0), np.int64(-1)


@_compiled
def _slot_of(key, guess, ids, used):  # type: ignore[no-untyped-def]
    """Find the slot of a column; columns come in the same order in every record, so the guess mostly holds."""
    count = used[0]
    if guess < count and ids[guess] == key:
        return guess
    for slot in range(count):
        if ids[slot] == key:
            return slot
    if count == ids.shape[0]:
        return -1
    ids[count] = key
    used[0] = count + 1
    return count


@_compiled
def walk(  # type: ignore[no-untyped-def]
    data,
    start,
    rows,
    program,
    ints,
    valid,
    starts,
    lengths,
    items_out,
    ids,
    used,
    counts,
    bound_at,
    bound_len,
):
    """Decode `rows` records from `start`; answers (code, position behind them).

    `starts` and `lengths` of a list field point into `items_out`, of every other field into `data`. `used` counts the
    columns met and the list items written.
    """
    end = data.shape[0]
    position = np.int64(start)
    steps = program.shape[0]
    for row in range(rows):
        for step in range(steps):
            operation = program[step, 0]
            null_branch = program[step, 1]
            slot = program[step, 2]
            if operation == PARTITION_BEGIN:
                starts[slot, row] = position
                continue
            if operation == PARTITION_END:
                lengths[slot, row] = position - starts[slot, row]
                continue
            if null_branch >= 0:
                branch, position = _long(data, position, end)
                if position < 0:
                    return TRUNCATED, position
                if branch == null_branch:
                    continue
                if branch != 1 - null_branch:
                    return MALFORMED, position
            if operation == LONG:
                value, position = _long(data, position, end)
                if position < 0:
                    return TRUNCATED, position
                ints[slot, row] = value
                valid[slot, row] = 1
            elif operation in (SPAN, FIXED):
                length = program[step, 3]
                if operation == SPAN:
                    length, position = _long(data, position, end)
                    if position < 0:
                        return TRUNCATED, position
                if length < 0 or position + length > end:
                    return TRUNCATED, position
                starts[slot, row] = position
                lengths[slot, row] = length
                position += length
            elif operation == LIST:
                begin = used[1]
                while True:
                    items, position = _long(data, position, end)
                    if position < 0:
                        return TRUNCATED, position
                    if items == 0:
                        break
                    if items < 0:
                        items = -items
                        _, position = _long(data, position, end)
                        if position < 0:
                            return TRUNCATED, position
                    if items < 0 or items > end - position:
                        return MALFORMED, position
                    if used[1] + items > items_out.shape[0]:
                        return TOO_MANY_ITEMS, position
                    for _ in range(items):
                        value, position = _long(data, position, end)
                        if position < 0:
                            return TRUNCATED, position
                        items_out[used[1]] = value
                        used[1] += 1
                starts[slot, row] = begin
                lengths[slot, row] = used[1] - begin
            else:
                guess = np.int64(0)
                while True:
                    items, position = _long(data, position, end)
                    if position < 0:
                        return TRUNCATED, position
                    if items == 0:
                        break
                    if items < 0:
                        items = -items
                        _, position = _long(data, position, end)
                        if position < 0:
                            return TRUNCATED, position
                    if items < 0 or items > end - position:
                        return MALFORMED, position
                    for _ in range(items):
                        key, position = _long(data, position, end)
                        if position < 0:
                            return TRUNCATED, position
                        value, position = _long(data, position, end)
                        if position < 0:
                            return TRUNCATED, position
                        column = _slot_of(key, guess, ids, used)
                        if column < 0:
                            return TOO_MANY_COLUMNS, position
                        guess = column + 1
                        if operation == COUNTS:
                            counts[slot, column, row] = value
                        else:
                            if value < 0 or position + value > end:
                                return TRUNCATED, position
                            bound_at[slot, column, row] = position
                            bound_len[slot, column, row] = value
                            position += value
    return OK, position
