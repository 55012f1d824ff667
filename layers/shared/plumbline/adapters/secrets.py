"""Vendor keys from SSM Parameter Store, through Powertools' cache."""

from __future__ import annotations

from aws_lambda_powertools.utilities import parameters
from aws_lambda_powertools.utilities.parameters.exceptions import GetParameterError

from plumbline.errors import SettingsError

MAX_AGE_SECONDS = 900


def read_secret(name: str) -> str:
    """The decrypted parameter, kept for 15 minutes. ``SettingsError`` names one that is not there.

    Source: design, section 5; a key that was rotated is read anew within that time.
    """
    try:
        value = parameters.get_parameter(name, decrypt=True, max_age=MAX_AGE_SECONDS)
    except GetParameterError as exc:
        raise SettingsError(
            f"Settings: the parameter {name} cannot be read; create it, or allow ssm:GetParameter."
        ) from exc
    return str(value)
