"""Settings from the environment: defaults, forms, and what a mistake is told."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from plumbline.errors import SettingsError
from plumbline.settings import IndexRepoSettings, SearchSettings, Settings, SuggestionsSettings

ALL = [SearchSettings, SuggestionsSettings, IndexRepoSettings]


@pytest.mark.parametrize("model", ALL)
def test_an_empty_environment_gives_the_defaults(model: type[Settings]) -> None:
    settings = model.from_environment({})
    assert settings == model()
    assert settings.algolia_index_name == "plumbline"


def test_an_empty_variable_counts_as_missing() -> None:
    settings = SearchSettings.from_environment({"REDIS_URL": "", "RATE_LIMIT_PER_MINUTE": ""})
    assert settings.redis_url is None
    assert settings.rate_limit_per_minute == 100


@pytest.mark.parametrize(
    ("name", "value", "field", "expected"),
    [
        ("RATE_LIMIT_PER_MINUTE", "7", "rate_limit_per_minute", 7),
        ("TURN_DEADLINE_SECONDS", "55", "turn_deadline_seconds", 55.0),
        ("KEEP_QUESTIONS", "true", "keep_questions", True),
        ("KEEP_QUESTIONS", "false", "keep_questions", False),
        (
            "ALLOWED_ORIGINS",
            "https://a, https://b ,",
            "allowed_origins",
            ("https://a", "https://b"),
        ),
        ("REDIS_URL", "rediss://cache:6379", "redis_url", "rediss://cache:6379"),
        ("GEMINI_BASE_URL", "http://127.0.0.1:9/x", "gemini_base_url", "http://127.0.0.1:9/x"),
    ],
)
def test_a_variable_is_read_into_its_field(
    name: str, value: str, field: str, expected: object
) -> None:
    assert getattr(SearchSettings.from_environment({name: value}), field) == expected


@pytest.mark.parametrize(
    ("name", "value", "form"),
    [
        ("RATE_LIMIT_PER_MINUTE", "many", "valid integer"),
        ("RATE_LIMIT_PER_MINUTE", "0", "greater than or equal to 1"),
        ("TURN_DEADLINE_SECONDS", "901", "less than or equal to 900"),
        ("SESSION_TTL_SECONDS", "1.5", "valid integer"),
        ("KEEP_QUESTIONS", "maybe", "valid boolean"),
        ("REDIS_URL", "localhost:6379", "rediss?://"),
        ("ALGOLIA_URL", "ftp://somewhere", "https?://"),
        ("LOG_LEVEL", "loud", "DEBUG|INFO"),
        ("GEMINI_API_VERSION", "latest", "v"),
    ],
)
def test_a_malformed_variable_is_named_with_its_form(name: str, value: str, form: str) -> None:
    with pytest.raises(SettingsError) as caught:
        SearchSettings.from_environment({name: value})
    assert name in caught.value.message
    assert form in caught.value.message
    # It may be a secret in the wrong place.
    assert value not in caught.value.message.replace(form, "")


def test_every_malformed_variable_is_named_at_once() -> None:
    with pytest.raises(SettingsError) as caught:
        SearchSettings.from_environment({"LOG_LEVEL": "loud", "RATE_LIMIT_PER_MINUTE": "x"})
    assert "LOG_LEVEL" in caught.value.message
    assert "RATE_LIMIT_PER_MINUTE" in caught.value.message


def test_other_variables_are_none_of_its_business() -> None:
    assert IndexRepoSettings.from_environment({"PATH": "/bin", "rate_limit": "x"}) == (
        IndexRepoSettings()
    )


@pytest.mark.parametrize("model", ALL)
def test_settings_are_frozen(model: type[Settings]) -> None:
    with pytest.raises(ValidationError, match="frozen"):
        model().log_level = "DEBUG"
