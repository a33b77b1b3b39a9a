"""Profiles of the AWS tools: ~/.aws/credentials and ~/.aws/config."""

from __future__ import annotations

import os
from collections.abc import Mapping
from configparser import ConfigParser, Error
from dataclasses import dataclass, field
from pathlib import Path

from lakelogic.core.settings import home_folder

_ELSEWHERE = {
    "role_arn": "takes on a role",
    "sso_session": "signs in through a browser",
    "sso_start_url": "signs in through a browser",
    "credential_process": "asks a program",
}


@dataclass(frozen=True, slots=True)
class Profile:
    """One profile, both files laid over each other."""

    name: str
    named: bool  # somebody asked for this one
    values: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def usable(self) -> bool:
        return bool(self.values.get("aws_access_key_id") and self.values.get("aws_secret_access_key"))

    @property
    def origin(self) -> str:
        return f"profile `{self.name}`"

    @property
    def why_not(self) -> str:
        if not self.values:
            return "is not there"
        way = next((way for key, way in _ELSEWHERE.items() if key in self.values), None)
        return f"{way}, which LakeLogic does not do itself" if way else "has no access key"


def find_profile(environ: Mapping[str, str], wanted: str | None) -> Profile | None:
    """The profile that was asked for, else `default`; None where there is none and nobody asked."""
    name = wanted or environ.get("AWS_PROFILE") or "default"
    named = bool(wanted or environ.get("AWS_PROFILE"))
    home = home_folder(environ)
    config = _read(environ.get("AWS_CONFIG_FILE"), home, "config")
    keys = _read(environ.get("AWS_SHARED_CREDENTIALS_FILE"), home, "credentials")
    section = name if name == "default" else f"profile {name}"
    values = {**_section(config, section), **_section(keys, name)}
    return Profile(name, named, values) if values or named else None


def _read(given: str | None, home: Path | None, name: str) -> ConfigParser:
    file = os.path.expanduser(given) if given else home and home / ".aws" / name
    if file is None:
        return ConfigParser()
    parser = ConfigParser(interpolation=None, default_section="no section stands for all")
    try:
        parser.read_string(Path(file).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, Error):
        # A file that cannot be read has no profiles; the error that follows says which one was looked for.
        return ConfigParser()
    return parser


def _section(parser: ConfigParser, name: str) -> dict[str, str]:
    return dict(parser.items(name)) if parser.has_section(name) else {}
