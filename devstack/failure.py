"""What a command says when it cannot go on."""

from __future__ import annotations


class CommandError(Exception):
    """One line for the person at the terminal: what is wrong, and what to do."""


def reason(error: OSError) -> str:
    """The operating system's words for what went wrong, without the number."""
    return error.strerror or str(error)
