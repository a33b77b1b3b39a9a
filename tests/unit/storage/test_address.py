"""What a path is an address of, and what is refused."""

from __future__ import annotations

import pytest

from lakelogic.core.errors import LakeLogicError
from lakelogic.storage.address import is_remote, parse_address


@pytest.mark.parametrize(
    ("path", "cloud", "bucket", "key"),
    [
        ("s3://b/a/c/", "s3", "b", "a/c"),
        ("s3a://b", "s3", "b", ""),
        ("gs://b/x", "gs", "b", "x"),
        ("abfss://c@acct.dfs.core.windows.net/x/y", "azure", "c", "x/y"),
    ],
)
def test_the_parts_of_an_address(path: str, cloud: str, bucket: str, key: str) -> None:
    address = parse_address(path)
    assert (address.cloud, address.bucket, address.key) == (cloud, bucket, key)
    assert is_remote(path)


@pytest.mark.parametrize("path", ["/a/b", "a/b", "file:///a", "C:/x", "~/x", "a*b"])
def test_local_paths_stay_local(path: str) -> None:
    assert not is_remote(path)


@pytest.mark.parametrize(
    ("path", "code"), [("hdfs://n/x", "LL314"), ("s3:///x", "LL315"), ("abfss://c/x", "LL315"), ("s3://a@b/x", "LL315")]
)
def test_what_is_no_address_of_ours_is_refused(path: str, code: str) -> None:
    with pytest.raises(LakeLogicError) as caught:
        parse_address(path)
    assert caught.value.problem.code == code
    assert caught.value.exit_code == 3
