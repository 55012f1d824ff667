"""The template's variables and the settings models agree, both ways."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from plumbline.errors import SettingsError
from plumbline.settings import IndexRepoSettings, SearchSettings, Settings, SuggestionsSettings
from tests.unit.template import PARAMETERS, RESOURCES, ROOT, TEMPLATE, properties

MODELS: Mapping[str, type[Settings]] = {
    "SearchFunction": SearchSettings,
    "SuggestionsFunction": SuggestionsSettings,
    "IndexRepoFunction": IndexRepoSettings,
}
# Fields that a deployed function has no variable for: secrets come by the name of a parameter,
# and the vendors are at their own addresses.
NOT_DEPLOYED = {
    "algolia_search_api_key",
    "algolia_admin_api_key",
    "gemini_api_key",
    "algolia_url",
    "gemini_base_url",
    "insights_url",
    "instance_reload",
}
# Read by Lambda itself.
PLATFORM = {"AWS_LAMBDA_EXEC_WRAPPER"}
SAMPLES = {"AlgoliaAppId": "APPID1"}


def _variables(function: str) -> dict[str, Any]:
    both: dict[str, Any] = dict(TEMPLATE["Globals"]["Function"]["Environment"]["Variables"])
    both.update(properties(function)["Environment"]["Variables"])
    return both


def _parameter(value: object) -> str | None:
    """The name of the parameter that a value is, if it is one."""
    name = value.get("Ref") if isinstance(value, dict) else None
    return name if name in PARAMETERS else None


def _deployed(value: Any) -> str:
    """A variable's value in a stack that was deployed with every default."""
    if not isinstance(value, dict):
        return str(value)
    ((function, argument),) = value.items()
    if function == "Fn::If":
        # MakesCache alone decides variables, and holds by default.
        assert argument[0] == "MakesCache"
        return _deployed(argument[1])
    if function == "Ref" and argument in PARAMETERS:
        return str(SAMPLES.get(argument, PARAMETERS[argument].get("Default")))
    if function == "Ref" and RESOURCES[argument]["Type"] == "AWS::SQS::Queue":
        return f"https://sqs.eu-west-1.amazonaws.com/1/{argument}"
    return str(argument).lower()


@pytest.fixture(params=MODELS)
def function(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_every_field_has_its_variable(function: str) -> None:
    fields = set(MODELS[function].model_fields) - NOT_DEPLOYED
    assert {field.upper() for field in fields} - set(_variables(function)) == set()


def test_every_variable_has_its_field(function: str) -> None:
    fields = {field.upper() for field in MODELS[function].model_fields}
    assert set(_variables(function)) - fields - PLATFORM == set()


def test_no_secret_is_a_variable(function: str) -> None:
    secrets = {field.upper() for field in NOT_DEPLOYED if field.endswith("_key")}
    assert len(secrets) == 3
    assert not secrets & set(_variables(function))


def test_the_defaults_make_valid_settings(function: str) -> None:
    environment = {name: _deployed(value) for name, value in _variables(function).items()}
    settings = MODELS[function].from_environment(environment)
    assert settings.algolia_app_id == "APPID1"
    if isinstance(settings, SearchSettings | SuggestionsSettings):
        assert settings.redis_url is None
        assert (settings.cache_name, settings.cache_user) == ("cache", "cacheuser")
        assert settings.cache_endpoint == "cache.endpoint.address"
    if isinstance(settings, IndexRepoSettings):
        assert settings.queue_url == "https://sqs.eu-west-1.amazonaws.com/1/IndexQueue"


def test_a_parameters_default_is_the_fields_own(function: str) -> None:
    model = MODELS[function]
    environment = {name: _deployed(value) for name, value in _variables(function).items()}
    settings = model.from_environment(environment)
    compared = 0
    for name, value in _variables(function).items():
        parameter = _parameter(value)
        if parameter in (None, *SAMPLES) or name.endswith("_PARAMETER"):
            continue
        field = name.lower()
        assert getattr(settings, field) == model.model_fields[field].default, name
        compared += 1
    assert compared >= 3


def test_a_parameters_bounds_are_the_fields_own(function: str) -> None:
    model = MODELS[function]
    valid = {name: _deployed(value) for name, value in _variables(function).items()}
    for name, value in _variables(function).items():
        parameter = PARAMETERS.get(_parameter(value) or "", {})
        for bound, beyond in (("MinValue", -1), ("MaxValue", 1)):
            if bound not in parameter:
                continue
            model.from_environment(valid | {name: str(parameter[bound])})
            with pytest.raises(SettingsError, match=name):
                model.from_environment(valid | {name: str(parameter[bound] + beyond)})


def test_every_parameter_is_used() -> None:
    text = (ROOT / "template.yaml").read_text()
    for name in PARAMETERS:
        body = text.partition("\nConditions:")[2]
        assert f"!Ref {name}" in body or f"${{{name}}}" in body, name


def test_every_parameter_is_offered_in_a_group() -> None:
    groups = TEMPLATE["Metadata"]["AWS::CloudFormation::Interface"]["ParameterGroups"]
    assert sorted(name for group in groups for name in group["Parameters"]) == sorted(PARAMETERS)


def test_only_the_applications_id_must_be_given() -> None:
    assert [name for name, it in PARAMETERS.items() if "Default" not in it] == ["AlgoliaAppId"]
