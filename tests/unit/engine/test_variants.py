"""Values inside JSON, as Spark 4.2 gave them by `try_variant_get(try_parse_json(text), path, 'string')`."""

from __future__ import annotations

import pytest

from lakelogic.engine.local.variants import variant_get


@pytest.mark.parametrize(
    ("written", "wanted"),
    [
        ("1.10", "1.1"),
        ("1.0", "1"),
        ("100", "100"),
        ("-0", "0"),
        ("-0.0", "0"),
        ("-1.250", "-1.25"),
        ("0.00001", "0.00001"),
        ("1e5", "100000.0"),
        ("1.5e-7", "1.5E-7"),
        ("1E400", "Infinity"),
        ("12345678901234567890", "12345678901234567890"),
        ("99999999999999999999999999999999999999", "99999999999999999999999999999999999999"),
        ("123456789012345678901234567890123456789012", "1.2345678901234568E41"),
        ("123456789.123456789012345678901234567890", "1.2345678912345679E8"),
        ("0.12345678901234567890123456789012345678901", "0.12345678901234568"),
        ("1.000000000000000000000000000000000000000000", "1.0"),
        ("true", "true"),
        ("null", None),
        ("[]", "[]"),
        (r'"x\u00e9\n\"q"', 'xé\n"q'),
        (r'"\ud83d\ude00"', "\N{GRINNING FACE}"),
        (r'{"z":1,"b":[1.50,null,"t\n\u0001/"],"c":null}', r'{"b":[1.5,null,"t\n\u0001/"],"c":null,"z":1}'),
        ('{"b":1.0e10,"Z":{"y":2,"x":1}}', '{"Z":{"x":1,"y":2},"b":1.0E10}'),
    ],
)
def test_a_value_has_the_text_of_the_type_that_a_variant_keeps_it_in(written: str, wanted: str | None) -> None:
    assert variant_get(f'{{"a":{written}}}', "$.a") == wanted


@pytest.mark.parametrize("text", ["nope", "null", "[1]", '"a"', '{"a":1,"a":2}', '{"b":1}'])
def test_what_is_not_there_is_nothing(text: str) -> None:
    assert variant_get(text, "$.a") is None


def test_a_path_goes_through_objects_by_plain_and_quoted_names() -> None:
    text = ' {"b.c": 5, "a": {"b": {"c": "deep"}}} '
    assert variant_get(text, "$.a.b.c") == "deep"
    assert variant_get(text, "$['b.c']") == "5"
    assert variant_get(text, "$.a.b.c.d") is None
