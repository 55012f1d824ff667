"""Vendor keys from SSM Parameter Store, through Powertools' cache."""

from __future__ import annotations

from aws_lambda_powertools.utilities import parameters
from aws_lambda_powertools.utilities.parameters.exceptions import GetParameterError

from plumbline.errors import SettingsError


def read_secret(name: str) -> str:
    """The decrypted parameter; ``SettingsError`` names one that is not there.

    A process reads it once, so a key that was rotated reaches the processes that start after it.
    """
    try:
        value = parameters.get_parameter(name, decrypt=True)
    except GetParameterError as exc:
        raise SettingsError(
            f"Settings: the parameter {name} cannot be read; create it, or allow ssm:GetParameter."
        ) from exc
    return str(value)
