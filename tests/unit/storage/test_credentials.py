"""One resolver for three clouds: what is found first is used, by every library, and an error names the rest."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from lakelogic.core.errors import LakeLogicError
from lakelogic.core.redaction import redact
from lakelogic.core.secrets import Secret
from lakelogic.storage.address import parse_address
from lakelogic.storage.credentials import Credentials
from lakelogic.storage.resolver import find_credentials, forget_storage, hadoop_options, remember_storage

S3, GS, AZURE = "s3://lake/x", "gs://lake/x", "abfss://lake@acct.dfs.core.windows.net/x"
AZURE_HOST = "acct.dfs.core.windows.net"
KEYS = {"AWS_ACCESS_KEY_ID": "env-id", "AWS_SECRET_ACCESS_KEY": "env-secret"}
PROFILE = """\
[default]
aws_access_key_id = def-id
aws_secret_access_key = def-secret
[other]
aws_access_key_id = oth-id
aws_secret_access_key = oth-secret
"""


@pytest.fixture(autouse=True)
def nothing_remembered() -> Any:
    forget_storage()
    yield
    forget_storage()


def find(path: str, environ: Mapping[str, str], home: Path | None = None) -> Credentials:
    return find_credentials(parse_address(path), {"HOME": str(home or "/nowhere"), **environ})


def revealed(values: Mapping[str, Any]) -> dict[str, str]:
    return {name: value.reveal() if isinstance(value, Secret) else value for name, value in values.items()}


def with_profiles(tmp_path: Path, config: str = "") -> Path:
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws" / "credentials").write_text(PROFILE)
    (tmp_path / ".aws" / "config").write_text(config)
    return tmp_path


def test_contract_then_environment_then_profile_then_role(tmp_path: Path) -> None:
    home = with_profiles(tmp_path)
    used = []
    remember_storage(S3, {"access_key_id": "c-id", "secret_access_key": Secret("c-secret")})
    used.append(find(S3, KEYS, home))
    forget_storage()
    used.append(find(S3, KEYS, home))
    used.append(find(S3, {"AWS_PROFILE": "other"}, home))
    used.append(find(S3, {}, home))
    web = {"AWS_WEB_IDENTITY_TOKEN_FILE": "/token", "AWS_ROLE_ARN": "arn:x"}
    used.append(find(S3, web))
    used.append(find(S3, {"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/v2"}))
    used.append(find(S3, {}))
    ids = [revealed(found.options).get("aws_access_key_id") for found in used]
    assert ids == ["c-id", "env-id", "oth-id", "def-id", None, None, None]
    assert [found.origin for found in used] == [
        "access_key_id and secret_access_key of the contract's `credentials`",
        "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
        "profile `other`",
        "profile `default`",
        "the role of AWS_ROLE_ARN, by the token of AWS_WEB_IDENTITY_TOKEN_FILE",
        "the role of this container",
        "the role of this machine (instance metadata)",
    ]
    assert [len(found.tried) for found in used] == [0, 1, 2, 2, 3, 3, 3]


def test_spark_gets_the_same_key_for_the_same_bucket() -> None:
    found = find(S3, {**KEYS, "AWS_SESSION_TOKEN": "tok-en", "AWS_ENDPOINT_URL": "http://localhost:9000"})
    assert revealed(found.hadoop) == {
        "fs.s3.impl": "org.apache.hadoop.fs.s3a.S3AFileSystem",
        "fs.s3a.bucket.lake.access.key": "env-id",
        "fs.s3a.bucket.lake.secret.key": "env-secret",
        "fs.s3a.bucket.lake.session.token": "tok-en",
        "fs.s3a.bucket.lake.aws.credentials.provider": "org.apache.hadoop.fs.s3a.TemporaryAWSCredentialsProvider",
        "fs.s3a.bucket.lake.endpoint": "http://localhost:9000",
        "fs.s3a.bucket.lake.endpoint.region": "us-east-1",
        "fs.s3a.bucket.lake.path.style.access": "true",
        "fs.s3a.bucket.lake.connection.ssl.enabled": "false",
    }
    assert revealed(found.options) == {
        "aws_access_key_id": "env-id",
        "aws_secret_access_key": "env-secret",
        "aws_session_token": "tok-en",
        "aws_region": "us-east-1",
        "aws_endpoint": "http://localhost:9000",
        "aws_allow_http": "true",
        "aws_conditional_put": "etag",
    }


def test_a_session_of_others_gets_only_what_the_contract_names(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    remember_storage("s3://named", {"access_key_id": "c-id", "secret_access_key": "c-secret"})
    options = hadoop_options(["s3://named/x", "s3://other/x", "/local"], explicit_only=True)
    assert {name.split(".")[3] for name in options if "bucket" in name} == {"named"}
    assert "fs.s3a.bucket.other.access.key" in hadoop_options(["s3://other/x"], explicit_only=False)


@pytest.mark.parametrize(
    ("config", "why"),
    [
        ("[profile r]\nrole_arn = arn:x\nsource_profile = default\n", "takes on a role"),
        ("[profile r]\nsso_session = s\n", "signs in through a browser"),
        ("[profile r]\ncredential_process = /bin/x\n", "asks a program"),
        ("[profile r]\nregion = eu-west-1\n", "has no access key"),
        ("", "is not there"),
    ],
)
def test_a_profile_that_was_asked_for_is_not_passed_over(config: str, why: str, tmp_path: Path) -> None:
    with pytest.raises(LakeLogicError, match=f"profile `r` {why}") as caught:
        find(S3, {"AWS_PROFILE": "r"}, with_profiles(tmp_path, config))
    assert (caught.value.problem.code, caught.value.exit_code) == ("LL473", 4)


def test_region_and_endpoint_of_a_profile_count(tmp_path: Path) -> None:
    config = "[default]\nregion = eu-north-1\nendpoint_url = https://store.example\n"
    options = revealed(find(S3, {}, with_profiles(tmp_path, config)).options)
    assert (options["aws_region"], options["aws_endpoint"]) == ("eu-north-1", "https://store.example")
    assert "aws_allow_http" not in options


def test_the_contract_may_name_a_profile_or_nobody(tmp_path: Path) -> None:
    remember_storage(S3, {"profile": "other", "region": "eu-west-1"})
    found = find(S3, KEYS, with_profiles(tmp_path))
    assert (found.origin, found.explicit) == ("profile `other`", True)
    remember_storage(S3, {"anonymous": "true"})
    found = find(S3, KEYS)
    assert found.options["aws_skip_signature"] == "true"
    assert "aws_access_key_id" not in found.options


def test_a_machine_that_must_not_be_asked_is_not(tmp_path: Path) -> None:
    with pytest.raises(LakeLogicError, match="AWS_EC2_METADATA_DISABLED") as caught:
        find(S3, {"AWS_EC2_METADATA_DISABLED": "true"}, tmp_path)
    assert caught.value.problem.code == "LL474"


def test_the_token_of_another_key_is_refused() -> None:
    remember_storage(S3, {"access_key_id": "c-id", "secret_access_key": "c-secret"})
    with pytest.raises(LakeLogicError, match="does not belong to the key") as caught:
        find(S3, {**KEYS, "AWS_SESSION_TOKEN": "tok-en"})
    assert caught.value.problem.code == "LL476"


def test_google_in_order(tmp_path: Path) -> None:
    adc = tmp_path / ".config" / "gcloud" / "application_default_credentials.json"
    adc.parent.mkdir(parents=True)
    adc.write_text("{}")
    remember_storage(GS, {"service_account_file": "/contract.json"})
    used = [find(GS, {"GOOGLE_APPLICATION_CREDENTIALS": "/env.json"}, tmp_path)]
    forget_storage()
    used.append(find(GS, {"GOOGLE_APPLICATION_CREDENTIALS": "/env.json"}, tmp_path))
    used.append(find(GS, {}, tmp_path))
    used.append(find(GS, {}))
    assert [found.options for found in used] == [
        {"google_service_account": "/contract.json"},
        {"google_service_account": "/env.json"},
        {"google_application_credentials": str(adc)},
        {},
    ]
    types = ["SERVICE_ACCOUNT_JSON_KEYFILE", "SERVICE_ACCOUNT_JSON_KEYFILE", "APPLICATION_DEFAULT", "COMPUTE_ENGINE"]
    assert [found.hadoop["fs.gs.auth.type"] for found in used] == types


def test_azure_in_order() -> None:
    principal = {"AZURE_TENANT_ID": "t", "AZURE_CLIENT_ID": "c", "AZURE_CLIENT_SECRET": "s3cret"}
    workload = {"AZURE_TENANT_ID": "t", "AZURE_CLIENT_ID": "c", "AZURE_FEDERATED_TOKEN_FILE": "/token"}
    environment = {"AZURE_STORAGE_ACCOUNT_KEY": "env-key", "AZURE_STORAGE_SAS_TOKEN": "env-sas", **principal}
    remember_storage(AZURE, {"account_key": Secret("contract-key")})
    used = [find(AZURE, environment)]
    forget_storage()
    used += [find(AZURE, environment), find(AZURE, {"AZURE_STORAGE_SAS_TOKEN": "env-sas", **principal})]
    used += [find(AZURE, principal), find(AZURE, workload), find(AZURE, {})]
    kinds = [found.hadoop[f"fs.azure.account.auth.type.{AZURE_HOST}"] for found in used]
    assert kinds == ["SharedKey", "SharedKey", "SAS", "OAuth", "OAuth", "OAuth"]
    keys = [revealed(found.hadoop).get(f"fs.azure.account.key.{AZURE_HOST}") for found in used]
    assert keys[:2] == ["contract-key", "env-key"]
    assert {found.options["azure_storage_account_name"] for found in used} == {"acct"}
    providers = [str(found.hadoop.get(f"fs.azure.account.oauth.provider.type.{AZURE_HOST}")) for found in used[3:]]
    assert [name.rsplit(".", 1)[1] for name in providers] == [
        "ClientCredsTokenProvider",
        "WorkloadIdentityTokenProvider",
        "MsiTokenProvider",
    ]


def test_no_description_shows_a_key() -> None:
    environment = {**KEYS, "AZURE_STORAGE_ACCOUNT_KEY": "azure-key-1"}
    for path in (S3, AZURE):
        found = find(path, environment)
        for text in (repr(found), found.describe()):
            assert not re.search("env-id|env-secret|azure-key-1", text)
    assert redact("the server quotes env-secret and azure-key-1") == "the server quotes *** and ***"
