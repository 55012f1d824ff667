"""What the engine refuses, in Algolia's form: a status and a message."""

from __future__ import annotations


class EngineError(Exception):
    """A refusal. ``status`` is the HTTP status, ``message`` goes to the caller as it is."""

    status = 400

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class BadRequest(EngineError):
    """A parameter, a setting, a filter or a record that Algolia would not take."""


class Forbidden(EngineError):
    """The key or the application id does not allow this call."""

    status = 403


class NoSuchThing(EngineError):
    """An index or an object that is not there."""

    status = 404


class TooLarge(EngineError):
    """A body over the server's limit."""

    status = 413


def no_such_index(name: str) -> NoSuchThing:
    """The 404 of every call on an index that was never written."""
    return NoSuchThing(f"Index {name} does not exist")
