"""The environment as frozen models, one a function, read once.

A field is a variable: its name is the field's, upper-cased. Empty counts as missing. Nothing
else in the layer reads the environment, but for AWS's own region and credentials.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from plumbline.errors import SettingsError


def _words(value: object) -> object:
    """A comma-separated variable as a tuple of its words."""
    if isinstance(value, str):
        return tuple(word.strip() for word in value.split(",") if word.strip())
    return value


Words = Annotated[tuple[str, ...], BeforeValidator(_words)]
Url = Annotated[str, Field(pattern=r"^https?://[^\s/]+(:\d+)?(/\S*)?$")]
Seconds = Annotated[float, Field(gt=0, le=900)]


class Settings(BaseModel):
    """What every function needs."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    instance: str = "default"
    # Whether an instance file that was written since is read again; for those who edit one.
    instance_reload: bool = False
    log_level: str = Field(default="INFO", pattern="^(DEBUG|INFO|WARNING|ERROR|CRITICAL)$")
    powertools_service_name: str = "plumbline"
    powertools_metrics_namespace: str = "Plumbline"
    algolia_app_id: str | None = None
    algolia_index_name: str = "plumbline"
    # Another address than Algolia's own hosts, such as a proxy's or the embedded engine's.
    algolia_url: Url | None = None

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> Self:
        """The settings; ``SettingsError`` names each variable that is missing or malformed."""
        values = {
            name: environ[name.upper()] for name in cls.model_fields if environ.get(name.upper())
        }
        try:
            return cls.model_validate(values)
        except ValidationError as exc:
            problems = "; ".join(_problem(cls, error) for error in exc.errors())
            raise SettingsError(f"Settings: {problems}.") from exc


class KeyedSettings(Settings):
    """What a function needs that answers HTTP: keys, limits and the shared state in Redis.

    ``api_key_hashes`` holds ``<sha256 hex>:<scope>|<scope>`` entries, joined by commas.
    """

    api_key_hashes: Words = ()
    allowed_origins: Words = ()
    redis_url: str | None = Field(default=None, pattern=r"^rediss?://\S+$")
    # The serverless cache with IAM authentication; used where redis_url is not set.
    cache_name: str | None = None
    cache_endpoint: str | None = None
    cache_user: str | None = None
    rate_limit_per_minute: int = Field(default=100, ge=1, le=100_000)
    algolia_search_api_key: str | None = None
    # The SSM parameter that holds the search key where it is not in the environment.
    algolia_search_api_key_parameter: str | None = None


class SearchSettings(KeyedSettings):
    """The search function's variables."""

    turn_rate_limit_per_minute: int = Field(default=20, ge=1, le=100_000)
    turn_deadline_seconds: Seconds = 55.0
    session_ttl_seconds: int = Field(default=86_400, ge=60, le=7_776_000)
    prompt_budget_bytes: int = Field(default=24_576, ge=2_048, le=1_000_000)
    keep_questions: bool = False
    registry_table: str = "plumbline-registry"
    bucket_name: str = "plumbline"
    event_bus_name: str = "default"
    gemini_api_key: str | None = None
    gemini_api_key_parameter: str | None = None
    gemini_base_url: Url | None = None
    gemini_api_version: str = Field(default="v1beta", pattern=r"^v\d\w*$")
    gemini_answer_model: str = "gemini-3.8-flash"
    gemini_extract_model: str = "gemini-3.5-flash-lite"
    # Algolia's analytics region, "us" or "de"; views are sent there.
    insights_region: str | None = Field(default=None, pattern="^(us|de)$")
    insights_url: Url | None = None
    # Whether the index is in NeuralSearch's mode: then sentences are sent as they were typed.
    neural_search: bool = False
    # Whether the answer's links are asked for once it has ended.
    link_checks: bool = True


class SuggestionsSettings(KeyedSettings):
    """The suggestions function's variables."""


class IndexRepoSettings(Settings):
    """The indexing function's variables."""

    algolia_admin_api_key: str | None = None
    algolia_admin_api_key_parameter: str | None = None
    bucket_name: str = "plumbline"
    registry_table: str = "plumbline-registry"
    queue_url: Url | None = None
    repository_hosts: Words = ("github.com", "gitlab.com", "bitbucket.org")


def _problem(model: type[Settings], error: Mapping[str, object]) -> str:
    location = error.get("loc")
    name = str(location[0]).upper() if isinstance(location, tuple) and location else "?"
    return f"{name} {_sentence(str(error.get('msg', 'is malformed')))}"


def _sentence(message: str) -> str:
    text = message[:1].lower() + message[1:]
    return f"is malformed: {text}"
