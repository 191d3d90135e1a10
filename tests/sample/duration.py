"""Durations as people write them: "1h 30m" instead of 5400 seconds."""

import re

MINUTE = 60
HOUR = 60 * MINUTE
DAY = 24 * HOUR

# From the largest to the smallest: format_duration() relies on the order.
UNITS = {"d": DAY, "h": HOUR, "m": MINUTE, "s": 1}

PART = re.compile(r"\s*(\d+)\s*([dhms])\s*")


def parse_duration(text):
    """The number of seconds in a text like "1h 30m"; ValueError where it is none."""
    seconds, position = 0, 0
    while position < len(text):
        part = PART.match(text, position)
        if part is None:
            raise ValueError(f"not a duration: {text!r}")
        count, unit = part.groups()
        seconds += int(count) * UNITS[unit]
        position = part.end()
    return seconds


def format_duration(seconds):
    """A text like "1h 30m" for a number of seconds; "0s" for none."""
    parts = []
    for unit, size in UNITS.items():
        if seconds > size:
            count, seconds = divmod(seconds, size)
            parts.append(f"{count}{unit}")
    return " ".join(parts) or "0s"
