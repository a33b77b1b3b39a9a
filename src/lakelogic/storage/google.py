"""Credentials of Google Cloud Storage.

In this order: the contract, GOOGLE_APPLICATION_CREDENTIALS, the file of `gcloud auth application-default login`, the
service account of the machine.
"""

from __future__ import annotations

from collections.abc import Mapping

from lakelogic.core.secrets import Secret
from lakelogic.core.settings import home_folder
from lakelogic.storage.address import Address
from lakelogic.storage.credentials import Credentials, Given, is_set, plain, text

_FILE_SYSTEM = {"fs.gs.impl": "org.apache.hadoop.fs.gs.GoogleHadoopFileSystem"}
_VARIABLE = "GOOGLE_APPLICATION_CREDENTIALS"


def resolve_google(address: Address, given: Given, environ: Mapping[str, str]) -> Credentials:
    """The first that is there."""
    endpoint = plain({"google_base_url": given.get("endpoint")})
    if file := text(given.get("service_account_file")):
        return _with_file(file, "service_account_file of the contract's `credentials`", (), endpoint, explicit=True)
    if is_set(given.get("anonymous")):
        hadoop: dict[str, str | Secret] = {**_FILE_SYSTEM, "fs.gs.auth.type": "UNAUTHENTICATED"}
        options = {**endpoint, "google_skip_signature": "true"}
        return Credentials("`anonymous: true` of the contract's `credentials`", (), options, hadoop, explicit=True)
    tried = ["the contract's `credentials` names no key file"]
    if file := environ.get(_VARIABLE):
        return _with_file(file, _VARIABLE, tried, endpoint)
    tried.append(f"{_VARIABLE} is not set")
    home = home_folder(environ)
    usual = home / ".config" / "gcloud" / "application_default_credentials.json" if home is not None else None
    if usual is not None and usual.is_file():
        hadoop = {**_FILE_SYSTEM, "fs.gs.auth.type": "APPLICATION_DEFAULT"}
        options = {**endpoint, "google_application_credentials": str(usual)}
        return Credentials("the file of `gcloud auth application-default login`", tuple(tried), options, hadoop)
    tried.append("there is no file of `gcloud auth application-default login`")
    hadoop = {**_FILE_SYSTEM, "fs.gs.auth.type": "COMPUTE_ENGINE"}
    return Credentials("the service account of this machine", tuple(tried), endpoint, hadoop)


def _with_file(
    file: str,
    origin: str,
    tried: tuple[str, ...] | list[str],
    endpoint: Mapping[str, str | Secret],
    *,
    explicit: bool = False,
) -> Credentials:
    # Only the name of the file travels; the key stays in it.
    hadoop: dict[str, str | Secret] = {
        **_FILE_SYSTEM,
        "fs.gs.auth.type": "SERVICE_ACCOUNT_JSON_KEYFILE",
        "fs.gs.auth.service.account.json.keyfile": file,
    }
    options = {**endpoint, "google_service_account": file}
    return Credentials(origin, tuple(tried), options, hadoop, explicit=explicit)
