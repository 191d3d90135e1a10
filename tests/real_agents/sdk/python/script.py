"""The script in a prompt: `[[name argument]]`, `\\n` in an argument is a newline. Knows nothing of the protocol."""

import re
from dataclasses import dataclass

STEP = re.compile(r"(&&\s*)?\[\[(\w+) ?(.*?)\]\](?!\])", re.S)
CALLS = ("read", "write", "edit", "shell")


@dataclass
class Step:
    name: str
    argument: str


def parse(prompt: str) -> list[list[Step]]:
    """The steps of a prompt; those of one group, between which is `&&`, are made at once."""
    groups: list[list[Step]] = []
    for beside, name, argument in STEP.findall(prompt):
        step = Step(name, argument.replace("\\n", "\n"))
        if beside and groups and name in CALLS:
            groups[-1].append(step)
        else:
            groups.append([step])
    return groups
