"""Credentials of S3 and stores that speak like it.

In this order: the contract, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, a profile, the role of the machine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lakelogic.core.errors import RunError
from lakelogic.core.secrets import Secret
from lakelogic.storage.address import Address
from lakelogic.storage.aws_profiles import Profile, find_profile
from lakelogic.storage.credentials import Credentials, Given, is_set, plain, secrets, text

_KEYS = ("access_key_id", "secret_access_key", "session_token")
_VARIABLES = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
_SIMPLE = "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider"
_TEMPORARY = "org.apache.hadoop.fs.s3a.TemporaryAWSCredentialsProvider"
_ANONYMOUS = "org.apache.hadoop.fs.s3a.AnonymousAWSCredentialsProvider"
_WEB_IDENTITY = "software.amazon.awssdk.auth.credentials.WebIdentityTokenFileCredentialsProvider"
_MACHINE = "org.apache.hadoop.fs.s3a.auth.IAMInstanceCredentialsProvider"


def resolve_aws(address: Address, given: Given, environ: Mapping[str, str]) -> Credentials:
    """The first that is there, for all libraries alike."""
    found = _resolve(address, given, environ)
    if "aws_access_key_id" in found.options and "aws_session_token" not in found.options:
        _refuse_foreign_token(found, environ)
    return found


def _refuse_foreign_token(found: Credentials, environ: Mapping[str, str]) -> None:
    """delta-rs and obstore take the token of the environment along with any key, and the store refuses the pair."""
    if environ.get("AWS_SESSION_TOKEN"):
        raise RunError(
            f"AWS_SESSION_TOKEN is set, and does not belong to the key that is used ({found.origin})",
            code="LL476",
            hint="unset AWS_SESSION_TOKEN, or give the session_token of that key",
        )


def _resolve(address: Address, given: Given, environ: Mapping[str, str]) -> Credentials:
    profile = find_profile(environ, text(given.get("profile")))
    place = _place(given, environ, profile)
    tried: list[str] = []
    if all(given.get(name) for name in _KEYS[:2]):
        origin = "access_key_id and secret_access_key of the contract's `credentials`"
        return _with_keys(address, place, origin, tried, [given.get(name) for name in _KEYS], explicit=True)
    if is_set(given.get("anonymous")):
        return _anonymous(address, place)
    if not given.get("profile"):
        tried.append("the contract's `credentials` names no key")
        if all(environ.get(name) for name in _VARIABLES[:2]):
            found = [environ.get(name) for name in _VARIABLES]
            return _with_keys(address, place, " and ".join(_VARIABLES[:2]), tried, found)
        tried.append("AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not both set")
    if profile is not None and profile.usable:
        values = [profile.values.get(f"aws_{name}") for name in _KEYS]
        return _with_keys(address, place, profile.origin, tried, values, explicit=bool(given.get("profile")))
    if profile is not None and profile.named:
        raise RunError(
            f"{profile.origin} {profile.why_not}",
            code="LL473",
            hint="put keys there, or set AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN "
            "(`aws configure export-credentials --format env` prints them for any profile)",
        )
    tried.append(f"{profile.origin} {profile.why_not}" if profile else "there is no profile")
    return _role(address, place, environ, tried)


def _place(given: Given, environ: Mapping[str, str], profile: Profile | None) -> dict[str, str]:
    values = profile.values if profile else {}
    region = text(given.get("region")) or environ.get("AWS_REGION") or environ.get("AWS_DEFAULT_REGION")
    endpoint = text(given.get("endpoint")) or environ.get("AWS_ENDPOINT_URL_S3") or environ.get("AWS_ENDPOINT_URL")
    return {
        "region": region or values.get("region") or "us-east-1",
        "endpoint": endpoint or values.get("endpoint_url") or "",
    }


def _with_keys(
    address: Address,
    place: Mapping[str, str],
    origin: str,
    tried: list[str],
    values: Sequence[str | Secret | None],
    *,
    explicit: bool = False,
) -> Credentials:
    key, secret, token = values
    # The id alone opens nothing, but it names an account.
    options = secrets({"aws_access_key_id": key, "aws_secret_access_key": secret, "aws_session_token": token})
    hadoop = {
        **secrets({"access.key": key, "secret.key": secret, "session.token": token}),
        "aws.credentials.provider": _TEMPORARY if token else _SIMPLE,
    }
    return _credentials(address, place, origin, tried, options, hadoop, explicit=explicit)


def _anonymous(address: Address, place: Mapping[str, str]) -> Credentials:
    origin = "`anonymous: true` of the contract's `credentials`"
    hadoop = {"aws.credentials.provider": _ANONYMOUS}
    return _credentials(address, place, origin, [], {"aws_skip_signature": "true"}, hadoop, explicit=True)


def _role(address: Address, place: Mapping[str, str], environ: Mapping[str, str], tried: list[str]) -> Credentials:
    web = plain({name: environ.get(name) for name in ("AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_ROLE_ARN")})
    if len(web) == 2:
        origin = "the role of AWS_ROLE_ARN, by the token of AWS_WEB_IDENTITY_TOKEN_FILE"
        options = {name.lower(): value for name, value in web.items()}
        return _credentials(address, place, origin, tried, options, {"aws.credentials.provider": _WEB_IDENTITY})
    contained = any(name.startswith("AWS_CONTAINER_CREDENTIALS_") for name in environ)
    origin = "the role of this container" if contained else "the role of this machine (instance metadata)"
    if not contained and environ.get("AWS_EC2_METADATA_DISABLED", "").lower() == "true":
        tried.append("AWS_EC2_METADATA_DISABLED is set, so the machine was not asked for a role")
        raise RunError(
            f"there are no credentials for `{address.root}`: {'; '.join(tried)}",
            code="LL474",
            hint="docs/guides/cloud.md lists where they are looked for",
        )
    return _credentials(address, place, origin, tried, {}, {"aws.credentials.provider": _MACHINE})


def _credentials(
    address: Address,
    place: Mapping[str, str],
    origin: str,
    tried: list[str],
    options: Mapping[str, str | Secret],
    hadoop: Mapping[str, str | Secret],
    *,
    explicit: bool = False,
) -> Credentials:
    endpoint = place["endpoint"]
    common = plain({"aws_region": place["region"], "aws_endpoint": endpoint})
    if endpoint.startswith("http://"):
        common["aws_allow_http"] = "true"
    # A second writer of the same version must fail and look again, not overwrite.
    common["aws_conditional_put"] = "etag"
    told: dict[str, str | Secret] = {**hadoop, "endpoint.region": place["region"]}
    if endpoint:
        told |= {
            "endpoint": endpoint,
            "path.style.access": "true",
            "connection.ssl.enabled": str(endpoint.startswith("https://")).lower(),
        }
    bucket = {f"fs.s3a.bucket.{address.bucket}.{name}": value for name, value in told.items()}
    if address.scheme == "s3":
        bucket["fs.s3.impl"] = "org.apache.hadoop.fs.s3a.S3AFileSystem"
    return Credentials(origin, tuple(tried), {**common, **options}, bucket, explicit=explicit)
