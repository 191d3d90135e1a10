"""Adds up a time sheet: lines like "garden 1h 30m", totals by task, the longest first."""

import sys

from duration import format_duration, parse_duration


def totals(lines):
    """Seconds by task for lines of a time sheet; empty lines and comments (#) count for nothing."""
    seconds = {}
    for line in lines:
        line = line.partition("#")[0].strip()
        if line:
            task, _, time = line.partition(" ")
            seconds[task] = seconds.get(task, 0) + parse_duration(time)
    return seconds


def report(lines):
    """The totals as text, one task a line."""
    longest_first = sorted(totals(lines).items(), key=lambda item: -item[1])
    return "\n".join(f"{task:<12}{format_duration(seconds)}" for task, seconds in longest_first)


if __name__ == "__main__":
    print(report(sys.stdin))
