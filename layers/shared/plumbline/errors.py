"""Every error that Plumbline raises on purpose.

    PlumblineError
    ├── RequestError                the caller can mend it
    │   ├── InvalidRequest          400  invalid_request
    │   ├── Unauthorized            401  unauthorized
    │   ├── NotFound                404  not_found
    │   ├── MethodNotAllowed        405  method_not_allowed
    │   ├── PayloadTooLarge         413  payload_too_large
    │   └── RateLimited             429  rate_limited            carries retry_after
    ├── Unavailable                 503  unavailable             carries retry_after
    ├── UpstreamError               a vendor failed; its own words stay in the log
    │   ├── SearchError
    │   │   ├── SearchUnavailable   503  search_unavailable      retryable
    │   │   ├── SearchNotConfigured 503  search_not_configured
    │   │   └── SearchRefused       502  search_refused          Algolia will not take it as it is
    │   ├── ModelError
    │   │   ├── ModelUnavailable    503  model_unavailable       retryable
    │   │   ├── GenerationBlocked   502  generation_blocked      a safety stop, or a blocked prompt
    │   │   └── GenerationInterrupted 502 generation_interrupted retryable; cut off in the middle
    │   ├── SpecialistUnavailable   503  specialist_unavailable  retryable
    │   ├── SessionUnavailable      503  session_unavailable     retryable
    │   └── StorageUnavailable      503  storage_unavailable     retryable; S3, DynamoDB, SQS
    │       └── StorageConflict     409  storage_conflict        a conditional write lost
    ├── RepositoryError             a repository that cannot be indexed; shown as its status
    │   ├── RepositoryUnreachable        repository_unreachable  retryable
    │   ├── ArchiveRefused               archive_refused
    │   └── RepositoryEmpty              repository_empty
    └── ConfigurationError          whoever deploys can mend it
        ├── SettingsError                settings_invalid        a variable is missing or malformed
        └── InstanceError                instance_invalid        names the file and the line

``message`` is for the person who asked and says what to do; vendor text never enters it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar


class PlumblineError(Exception):
    """The root. ``code`` is stable, ``status`` is the HTTP status, ``message`` may be shown."""

    code: ClassVar[str] = "internal_error"
    status: ClassVar[int] = 500
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, *, details: Mapping[str, object] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.details = dict(details) if details else None


class RequestError(PlumblineError):
    """The request is at fault; repeating it unchanged fails again."""

    code = "invalid_request"
    status = 400


class InvalidRequest(RequestError):
    """A field is missing, malformed or out of range; the message names it."""


class Unauthorized(RequestError):
    """No key, an unknown key, or a key without the scope."""

    code = "unauthorized"
    status = 401


class NotFound(RequestError):
    """No such thing, or not for this caller: the two look alike."""

    code = "not_found"
    status = 404


class MethodNotAllowed(RequestError):
    """The path exists, the method does not."""

    code = "method_not_allowed"
    status = 405


class PayloadTooLarge(RequestError):
    """The body passes the limit; nothing of it was read further."""

    code = "payload_too_large"
    status = 413


class RateLimited(RequestError):
    """Too many requests; ``retry_after`` is in whole seconds, at least 1."""

    code = "rate_limited"
    status = 429
    retryable = True

    def __init__(self, message: str, *, retry_after: int) -> None:
        super().__init__(message, details={"retry_after": retry_after})
        self.retry_after = retry_after


class Unavailable(PlumblineError):
    """An upstream's breaker is open; ``retry_after`` is in whole seconds, at least 1."""

    code = "unavailable"
    status = 503
    retryable = True

    def __init__(self, message: str, *, retry_after: int) -> None:
        super().__init__(message, details={"retry_after": retry_after})
        self.retry_after = retry_after


class UpstreamError(PlumblineError):
    """A vendor failed. Raised by adapters only, ``from`` the vendor's own error."""

    code = "unavailable"
    status = 503
    retryable = True


class SearchError(UpstreamError):
    """Algolia failed."""

    code = "search_unavailable"


class SearchUnavailable(SearchError):
    """Algolia did not answer, failed, or asked to wait: then ``retry_after`` is in seconds."""

    def __init__(self, message: str, *, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class SearchNotConfigured(SearchError):
    """There are no Algolia credentials."""

    code = "search_not_configured"
    retryable = False


class SearchRefused(SearchError):
    """Algolia refused the request (a 4xx other than 429); ``upstream_status`` says which."""

    code = "search_refused"
    status = 502
    retryable = False

    def __init__(self, message: str, *, upstream_status: int) -> None:
        super().__init__(message)
        self.upstream_status = upstream_status


class ModelError(UpstreamError):
    """The language model failed."""

    code = "model_unavailable"


class ModelUnavailable(ModelError):
    """The model could not be reached, or refused the call, before it wrote anything."""


class GenerationBlocked(ModelError):
    """The model stopped for a policy reason, or would not take the prompt."""

    code = "generation_blocked"
    status = 502
    retryable = False


class GenerationInterrupted(ModelError):
    """The model's stream broke off after it had begun."""

    code = "generation_interrupted"
    status = 502


class SpecialistUnavailable(UpstreamError):
    """Agent Studio failed or answered nothing."""

    code = "specialist_unavailable"


class SessionUnavailable(UpstreamError):
    """Redis did not answer."""

    code = "session_unavailable"


class StorageUnavailable(UpstreamError):
    """S3, DynamoDB, SQS or EventBridge did not answer, or refused."""

    code = "storage_unavailable"


class StorageConflict(StorageUnavailable):
    """A conditional write found another state than it required."""

    code = "storage_conflict"
    status = 409
    retryable = False


class RepositoryError(PlumblineError):
    """A repository that cannot be indexed as it is; the message becomes its status."""

    code = "repository_error"
    status = 422


class RepositoryUnreachable(RepositoryError):
    """The address did not answer with an archive."""

    code = "repository_unreachable"
    retryable = True


class ArchiveRefused(RepositoryError):
    """Not an archive, or one that breaks a safety rule."""

    code = "archive_refused"


class RepositoryEmpty(RepositoryError):
    """The archive holds nothing that can be indexed."""

    code = "repository_empty"


class ConfigurationError(PlumblineError):
    """The deployment is at fault."""


class SettingsError(ConfigurationError):
    """An environment variable is missing or malformed; the message names it and its form."""

    code = "settings_invalid"


class InstanceError(ConfigurationError):
    """An instance file is wrong; the message names the file and the line."""

    code = "instance_invalid"
