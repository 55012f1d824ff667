"""What a command says when it cannot go on."""

from __future__ import annotations


class CommandError(Exception):
    """One line for the person at the terminal: what is wrong, and what to do."""
