"""`credentials`: with which credentials a bucket is entered, where the environment does not say it."""

from collections.abc import Iterator, Mapping

from lakelogic.contract.grammar import ContractModel, Flag, Setting, Text
from lakelogic.core.secrets import Secret

_S3 = ("access_key_id", "secret_access_key", "session_token", "profile", "region", "endpoint", "anonymous")
_GOOGLE = ("service_account_file", "endpoint", "anonymous")
_AZURE = ("account_key", "sas_token", "tenant_id", "client_id", "client_secret")
_KEYS = {"s3": _S3, "s3a": _S3, "gs": _GOOGLE, "abfss": _AZURE, "abfs": _AZURE}
_TOGETHER = (("access_key_id", "secret_access_key"), ("tenant_id", "client_id", "client_secret"))


class BucketCredentials(ContractModel):
    """One bucket, or one container of an Azure account."""

    path: Text
    access_key_id: Setting | None = None
    secret_access_key: Setting | None = None
    session_token: Setting | None = None
    profile: Text | None = None
    region: Text | None = None
    endpoint: Text | None = None
    anonymous: Flag = False
    service_account_file: Text | None = None
    account_key: Setting | None = None
    sas_token: Setting | None = None
    tenant_id: Setting | None = None
    client_id: Setting | None = None
    client_secret: Setting | None = None

    @property
    def values(self) -> Mapping[str, str | Secret]:
        """What is said about the bucket, by key."""
        given = {name: getattr(self, name) for name in type(self).model_fields if name != "path"}
        return {
            name: value if isinstance(value, Secret) else str(value).lower() if value is True else str(value)
            for name, value in given.items()
            if value is not None and value is not False
        }


def check_credentials(entries: tuple[BucketCredentials, ...]) -> Iterator[tuple[str, str, str]]:
    """Mistakes as path, sentence and hint."""
    seen: set[str] = set()
    for index, entry in enumerate(entries):
        scheme, _, rest = entry.path.partition("://")
        at = f"credentials.{index}.path"
        if scheme not in _KEYS or not rest.strip("/") or "/" in rest.strip("/"):
            yield (
                at,
                f"`{entry.path}` is not a bucket",
                "write s3://bucket, gs://bucket or abfss://container@account...",
            )
            continue
        if entry.path.rstrip("/") in seen:
            yield at, f"`{entry.path}` stands twice", "say all about a bucket in one place"
        seen.add(entry.path.rstrip("/"))
        for name in entry.values:
            if name not in _KEYS[scheme]:
                yield (
                    f"credentials.{index}.{name}",
                    f"`{name}` is not for {scheme}://",
                    f"it takes: {', '.join(_KEYS[scheme])}",
                )
        for group in _TOGETHER:
            missing = [name for name in group if name not in entry.values]
            if missing and len(missing) < len(group):
                yield at, f"`{entry.path}` has half of a credential", f"also give {', '.join(missing)}"
