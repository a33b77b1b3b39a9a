"""Credentials of Azure Data Lake Storage.

In this order: the contract, AZURE_STORAGE_ACCOUNT_KEY or AZURE_STORAGE_SAS_TOKEN, the service principal of
AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET, workload identity, the identity of the machine.
"""

from __future__ import annotations

from collections.abc import Mapping

from lakelogic.core.secrets import Secret
from lakelogic.storage.address import Address
from lakelogic.storage.credentials import Credentials, Given, plain, secrets, text

_OAUTH = "org.apache.hadoop.fs.azurebfs.oauth2."
_PRINCIPAL = ("tenant_id", "client_id", "client_secret")
_PRINCIPAL_VARIABLES = ("AZURE_TENANT_ID", "AZURE_CLIENT_ID", "AZURE_CLIENT_SECRET")


def resolve_azure(address: Address, given: Given, environ: Mapping[str, str]) -> Credentials:
    """The first that is there."""
    said = "of the contract's `credentials`"
    if found := _static(address, given, "account_key", "sas_token", f"{{}} {said}", (), explicit=True):
        return found
    if all(given.get(name) for name in _PRINCIPAL):
        values = [given.get(name) for name in _PRINCIPAL]
        return _principal(address, values, f"the service principal {said}", (), explicit=True)
    tried = ["the contract's `credentials` names no key"]
    if found := _static(address, environ, "AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_SAS_TOKEN", "{}", tried):
        return found
    tried.append("AZURE_STORAGE_ACCOUNT_KEY and AZURE_STORAGE_SAS_TOKEN are not set")
    if all(environ.get(name) for name in _PRINCIPAL_VARIABLES):
        values = [environ.get(name) for name in _PRINCIPAL_VARIABLES]
        return _principal(address, values, f"the service principal of {', '.join(_PRINCIPAL_VARIABLES)}", tried)
    tried.append(f"{', '.join(_PRINCIPAL_VARIABLES)} are not all set")
    return _role(address, environ, tried)


def _static(
    address: Address,
    values: Mapping[str, str | Secret] | Mapping[str, str],
    key_name: str,
    sas_name: str,
    form: str,
    tried: tuple[str, ...] | list[str],
    *,
    explicit: bool = False,
) -> Credentials | None:
    host = address.host
    if key := values.get(key_name):
        hadoop = {
            f"fs.azure.account.auth.type.{host}": "SharedKey",
            **secrets({f"fs.azure.account.key.{host}": key}),
        }
        options = secrets({"azure_storage_account_key": key})
        return _credentials(address, form.format(key_name), tried, options, hadoop, explicit=explicit)
    if sas := values.get(sas_name):
        hadoop = {f"fs.azure.account.auth.type.{host}": "SAS", **secrets({f"fs.azure.sas.fixed.token.{host}": sas})}
        options = secrets({"azure_storage_sas_key": sas})
        return _credentials(address, form.format(sas_name), tried, options, hadoop, explicit=explicit)
    return None


def _principal(
    address: Address,
    values: list[str | Secret | None],
    origin: str,
    tried: tuple[str, ...] | list[str],
    *,
    explicit: bool = False,
) -> Credentials:
    tenant, client, secret = values
    options = {
        **plain({"azure_storage_tenant_id": text(tenant), "azure_storage_client_id": text(client)}),
        **secrets({"azure_storage_client_secret": secret}),
    }
    hadoop = {
        **_oauth(address, "ClientCredsTokenProvider"),
        **plain({f"fs.azure.account.oauth2.client.id.{address.host}": text(client)}),
        **secrets({f"fs.azure.account.oauth2.client.secret.{address.host}": secret}),
        f"fs.azure.account.oauth2.client.endpoint.{address.host}": _token_address(text(tenant)),
    }
    return _credentials(address, origin, tried, options, hadoop, explicit=explicit)


def _role(address: Address, environ: Mapping[str, str], tried: list[str]) -> Credentials:
    names = ("AZURE_TENANT_ID", "AZURE_CLIENT_ID", "AZURE_FEDERATED_TOKEN_FILE")
    if all(environ.get(name) for name in names):
        tenant, client, file = (environ[name] for name in names)
        options = {
            "azure_storage_tenant_id": tenant,
            "azure_storage_client_id": client,
            "azure_federated_token_file": file,
        }
        hadoop = {
            **_oauth(address, "WorkloadIdentityTokenProvider"),
            f"fs.azure.account.oauth2.msi.tenant.{address.host}": tenant,
            f"fs.azure.account.oauth2.client.id.{address.host}": client,
            f"fs.azure.account.oauth2.token.file.{address.host}": file,
        }
        return _credentials(address, "workload identity (AZURE_FEDERATED_TOKEN_FILE)", tried, options, hadoop)
    tried.append("AZURE_FEDERATED_TOKEN_FILE is not set")
    return _credentials(address, "the identity of this machine", tried, {}, _oauth(address, "MsiTokenProvider"))


def _oauth(address: Address, provider: str) -> dict[str, str | Secret]:
    return {
        f"fs.azure.account.auth.type.{address.host}": "OAuth",
        f"fs.azure.account.oauth.provider.type.{address.host}": f"{_OAUTH}{provider}",
    }


def _token_address(tenant: str | None) -> str:
    return f"https://login.microsoftonline.com/{tenant}/oauth2/token"


def _credentials(
    address: Address,
    origin: str,
    tried: tuple[str, ...] | list[str],
    options: Mapping[str, str | Secret],
    hadoop: Mapping[str, str | Secret],
    *,
    explicit: bool = False,
) -> Credentials:
    named = {"azure_storage_account_name": address.account, **options}
    return Credentials(origin, tuple(tried), named, dict(hadoop), explicit=explicit)
