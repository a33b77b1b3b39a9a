# ruff: noqa: E501 - a table: one entry per line reads better than one that is broken up
"""Functions of Spark SQL as DuckDB macros: what the tables of `render` call."""

from __future__ import annotations

# Name and parameters of a macro -> its body. Order matters: a macro is defined after those it uses.
FUNCTION_MACROS: dict[str, str] = {
    # Numbers. A decimal quotient needs a type, so `typed` replaces this call where an operand is decimal.
    "ll_divide(a, b)": "CAST(a AS DOUBLE) / nullif(CAST(b AS DOUBLE), 0)",
    "ll_round(x, digits := 0)": "round(x, digits)",
    "ll_moved(x)": "x",
    "ll_add(a, b)": "TRY(a + b)",
    "ll_subtract(a, b)": "TRY(a - b)",
    "ll_multiply(a, b)": "TRY(a * b)",
    # By -1 the remainder is that by 1; DuckDB divides, and the least number of a type has no counterpart.
    "ll_modulo(a, b)": "a % nullif(CASE WHEN b = -1 THEN -b ELSE b END, 0)",
    "ll_whole_divide(a, b)": (
        "CASE WHEN typeof(a) LIKE '%INT' OR typeof(a) = 'INTEGER' THEN TRY(TRY_CAST(a AS BIGINT) // nullif(b, 0))"
        " ELSE TRY(CAST(trunc(a // nullif(b, 0)) AS BIGINT)) END"
    ),
    "ll_positive_modulo(a, b)": (
        "CASE WHEN ll_modulo(a, b) < 0 AND b > 0 THEN (ll_modulo(a, b) + b) % nullif(b, 0) ELSE ll_modulo(a, b) END"
    ),
    "ll_ln(x)": "CASE WHEN x > 0 THEN ln(x) END",
    "ll_log(base, x)": "CASE WHEN x > 0 AND base > 0 THEN ln(x) / ln(base) END",
    "ll_log10(x)": "CASE WHEN x > 0 THEN log10(x) END",
    "ll_is_nan(x)": "coalesce(isnan(x), FALSE)",
    "ll_nanvl(a, b)": "CASE WHEN isnan(CAST(a AS DOUBLE)) THEN CAST(b AS DOUBLE) ELSE CAST(a AS DOUBLE) END",
    # Text.
    "ll_is_plain(x)": "NOT regexp_matches(x, '[^ -~]')",
    "ll_upper(x)": "CASE WHEN strlen(x) = length(x) THEN upper(x) ELSE ll_full_upper(x) END",
    "ll_lower(x)": "CASE WHEN strlen(x) = length(x) THEN lower(x) ELSE ll_full_lower(x) END",
    "ll_start(n, size)": "CASE WHEN n > 0 THEN n - 1 WHEN n < 0 THEN size + n ELSE 0 END",
    "ll_cut(x, first, after)": (
        "substring(x, greatest(first, 0) + 1, greatest(greatest(after, 0) - greatest(first, 0), 0))"
    ),
    "ll_substring(x, n, size)": (
        "CASE WHEN n IS NOT NULL AND size IS NOT NULL THEN"
        " ll_cut(x, ll_start(n, length(x)), ll_start(n, length(x)) + greatest(size, 0)) END"
    ),
    "ll_left(x, n)": "CASE WHEN n IS NOT NULL THEN left(x, greatest(n, 0)) END",
    "ll_right(x, n)": "CASE WHEN n IS NOT NULL THEN right(x, greatest(n, 0)) END",
    "ll_lpad(x, n, fill)": "CASE WHEN fill = '' THEN ll_left(x, n) ELSE lpad(x, n, fill) END",
    "ll_rpad(x, n, fill)": "CASE WHEN fill = '' THEN ll_left(x, n) ELSE rpad(x, n, fill) END",
    # DuckDB turns letters around with their marks.
    "ll_reverse(x)": "CASE WHEN strlen(x) = length(x) THEN reverse(x) ELSE ll_full_reverse(x) END",
    "ll_levenshtein(a, b)": "CASE WHEN strlen(a) = length(a) AND strlen(b) = length(b) THEN levenshtein(a, b) ELSE ll_full_levenshtein(a, b) END",
    "ll_found(x, part, n)": "CASE WHEN part = '' THEN 1 WHEN instr(substring(x, n), part) = 0 THEN 0 ELSE instr(substring(x, n), part) + n - 1 END",
    "ll_locate(x, part, n)": "CASE WHEN n IS NULL THEN 0 WHEN x IS NULL OR part IS NULL THEN NULL WHEN n <= 0 THEN 0 ELSE ll_found(x, part, CAST(n AS BIGINT)) END",
    "ll_split_part(x, mark, n)": "CASE WHEN mark = '' THEN CASE WHEN abs(n) = 1 THEN x WHEN x IS NOT NULL AND n IS NOT NULL THEN '' END ELSE split_part(x, mark, n) END",
    "ll_nothing(mark)": "CASE WHEN mark IS NOT NULL THEN '' END",
    "ll_chr(n)": "CASE WHEN n < 0 THEN '' ELSE chr(CAST(n % 256 AS INTEGER)) END",
    "ll_substring_index(x, mark, n)": (
        "CASE WHEN x IS NULL OR mark IS NULL OR n IS NULL THEN NULL WHEN mark = '' THEN '' WHEN n > 0 THEN array_to_string(string_split(x, mark)[1:n], mark)"
        " WHEN n < 0 THEN array_to_string(string_split(x, mark)[n:], mark) ELSE '' END"
    ),
    "ll_json(x, path)": (
        "TRY(CASE WHEN NOT json_valid(x) THEN NULL"
        " WHEN strlen(x) <> length(x) AND json_type(x, path) IN ('OBJECT', 'ARRAY')"
        " THEN ll_escape_pairs(json_extract_string(x, path)) ELSE json_extract_string(x, path) END)"
    ),
    "ll_timestamp_millis(x)": "TRY(make_timestamptz(CAST(x AS BIGINT) * 1000))",
    "ll_parse_json(x)": "CASE WHEN json_valid(x) THEN x END",
    "ll_to_json(x)": "ll_without_nulls(CAST(to_json(x) AS VARCHAR))",
    "ll_base64(x)": "base64(encode(x))",
    "ll_hex(x)": "hex(x)",
    # Lists. DuckDB's own functions lose the order of the first appearance, or NULL's part in a comparison.
    "ll_distinct(x)": ("list_transform([x], lambda v: list_filter(v, lambda e, i: list_position(v, e) = i))[1]"),
    "ll_contains(x, v)": (
        "CASE WHEN v IS NULL OR x IS NULL THEN NULL WHEN list_contains(x, v) THEN TRUE"
        " WHEN len(list_filter(x, lambda e: e IS NULL)) > 0 THEN NULL ELSE FALSE END"
    ),
    "ll_position(x, v)": "CASE WHEN x IS NULL OR v IS NULL THEN NULL ELSE coalesce(list_position(x, v), 0) END",
    "ll_remove(x, v)": "CASE WHEN v IS NOT NULL THEN list_filter(x, lambda e: e IS NULL OR e <> v) END",
    "ll_union(a, b)": "ll_distinct(CASE WHEN a IS NOT NULL AND b IS NOT NULL THEN list_concat(a, b) END)",
    "ll_except(a, b)": (
        "CASE WHEN b IS NOT NULL THEN list_filter(ll_distinct(a), lambda e: list_position(b, e) IS NULL) END"
    ),
    "ll_intersect(a, b)": (
        "CASE WHEN b IS NOT NULL THEN list_filter(ll_distinct(a), lambda e: list_position(b, e) IS NOT NULL) END"
    ),
    "ll_sort(x)": "list_sort(x, 'ASC', 'NULLS FIRST')",
    "ll_sort_down(x)": "list_sort(x, 'DESC', 'NULLS LAST')",
    "ll_sort_nulls_last(x)": "list_sort(x, 'ASC', 'NULLS LAST')",
    "ll_join(x, mark)": "CASE WHEN x IS NOT NULL AND len(x) = 0 THEN '' ELSE coalesce(array_to_string(x, mark), CASE WHEN x IS NOT NULL THEN '' END) END",
    "ll_join_with(x, mark, other)": "ll_join(list_transform(x, lambda e: coalesce(e, other)), mark)",
    "ll_slice(x, first, size)": "x[(CASE WHEN first < 0 THEN len(x) + first + 1 ELSE first END):(CASE WHEN first < 0 THEN len(x) + first + 1 ELSE first END) + size - 1]",
    "ll_sequence(a, b)": "CASE WHEN a <= b THEN generate_series(a, b, 1) ELSE generate_series(a, b, -1) END",
    "ll_or_null(x)": "CASE WHEN x IS NULL OR len(x) = 0 THEN [NULL] ELSE x END",
    "ll_exists(x)": "CASE WHEN len(list_filter(x, lambda e: e)) > 0 THEN TRUE WHEN len(list_filter(x, lambda e: e IS NULL)) > 0 THEN NULL WHEN x IS NOT NULL THEN FALSE END",
    "ll_forall(x)": "CASE WHEN len(list_filter(x, lambda e: NOT e)) > 0 THEN FALSE WHEN len(list_filter(x, lambda e: e IS NULL)) > 0 THEN NULL WHEN x IS NOT NULL THEN TRUE END",
    # Dates. Everything that Spark would cast to a date or a timestamp first is cast here too.
    "ll_date_add(x, n)": "TRY(ll_cast_date(x) + CAST(n AS INTEGER))",
    "ll_date_sub(x, n)": "TRY(ll_cast_date(x) - CAST(n AS INTEGER))",
    "ll_days(a, b)": "CAST(ll_cast_date(a) - ll_cast_date(b) AS INTEGER)",
    "ll_add_months(x, n)": "TRY(CAST(ll_cast_date(x) + to_months(CAST(n AS INTEGER)) AS DATE))",
    "ll_last_day(x)": "last_day(ll_cast_date(x))",
    "ll_elapsed(unit, a, b)": "date_sub(unit, ll_cast_timestamptz(a), ll_cast_timestamptz(b))",
    "ll_clock_key(t)": "strftime(t, '%d %H:%M:%S.%f')",
    # Spark counts a month only when the day and the time of day are reached; the end of a month is no exception.
    "ll_months_of(a, b)": "(year(b) - year(a)) * 12 + month(b) - month(a)",
    "ll_full_months(a, b)": (
        "CASE WHEN b >= a THEN ll_months_of(a, b) - CASE WHEN ll_clock_key(b) < ll_clock_key(a) THEN 1 ELSE 0 END"
        " ELSE ll_months_of(a, b) + CASE WHEN ll_clock_key(b) > ll_clock_key(a) THEN 1 ELSE 0 END END"
    ),
    # Values that are named often are computed first, in a list: written out they would be thousands of nodes.
    "ll_elapsed_months(a, b)": "list_transform([{'a': ll_cast_timestamptz(a), 'b': ll_cast_timestamptz(b)}], lambda p: ll_full_months(p.a, p.b))[1]",
    "ll_month_end(t)": "day(t) = day(last_day(CAST(t AS DATE)))",
    "ll_second_of_month(t)": "day(t) * 86400 + hour(t) * 3600 + minute(t) * 60 + second(t)",
    "ll_months_apart(a, b)": (
        "CASE WHEN day(a) = day(b) OR (ll_month_end(a) AND ll_month_end(b)) THEN CAST(ll_months_of(b, a) AS DOUBLE)"
        " ELSE round((ll_months_of(b, a) + (ll_second_of_month(a) - ll_second_of_month(b)) / 2678400.0::DOUBLE) * 1e8) / 1e8 END"
    ),
    "ll_months_between(a, b)": "list_transform([{'a': ll_cast_timestamptz(a), 'b': ll_cast_timestamptz(b)}], lambda p: ll_months_apart(p.a, p.b))[1]",
    "ll_date_trunc(unit, x)": "date_trunc(unit, ll_cast_timestamptz(x))",
    "ll_trunc(unit, x)": "CAST(date_trunc(unit, ll_cast_date(x)) AS DATE)",
    "ll_format(x, code)": "strftime(ll_cast_timestamptz(x), code)",
    # A year of more than four digits has a sign.
    "ll_format_at(t, code, far)": "CASE WHEN year(t) > 9999 THEN strftime(t, far) ELSE strftime(t, code) END",
    "ll_format_year(x, code, far)": "ll_format_at(ll_cast_timestamptz(x), code, far)",
    # Names and signs are read in any case; a year of two digits is one of this century.
    "ll_read(x, code, accepts)": "CASE WHEN regexp_full_match(lower(x), accepts) THEN try_strptime(lower(x), code) END",
    "ll_this_century(t)": "CASE WHEN year(t) < 2000 THEN t + INTERVAL 100 YEARS ELSE t END",
    "ll_parse_time(x, code, accepts)": "CAST(ll_read(x, code, accepts) AS TIMESTAMPTZ)",
    "ll_parse_date(x, code, accepts)": "CAST(ll_read(x, code, accepts) AS DATE)",
    "ll_parse_short_time(x, code, accepts)": "CAST(ll_this_century(ll_read(x, code, accepts)) AS TIMESTAMPTZ)",
    "ll_parse_short_date(x, code, accepts)": "CAST(ll_this_century(ll_read(x, code, accepts)) AS DATE)",
    "ll_epoch(x)": "CAST(floor(epoch(ll_cast_timestamptz(x))) AS BIGINT)",
    "ll_from_unixtime(n)": "strftime(make_timestamptz(CAST(n AS BIGINT) * 1000000), '%Y-%m-%d %H:%M:%S')",
    "ll_day_of_week(x)": "CAST(dayofweek(ll_cast_date(x)) + 1 AS INTEGER)",
    "ll_weekday(x)": "CAST(isodow(ll_cast_date(x)) - 1 AS INTEGER)",
    "ll_make_date(y, m, d)": "TRY(make_date(CAST(y AS BIGINT), CAST(m AS BIGINT), CAST(d AS BIGINT)))",
    # What an expression may still meet at run time that only its type can tell.
    "ll_md5(x)": "md5(ll_text(x))",
    "ll_sha1(x)": "sha1(ll_text(x))",
    "ll_sha256(x)": "sha256(ll_text(x))",
}
for _part in ("year", "quarter", "month", "day", "dayofyear", "weekofyear"):
    FUNCTION_MACROS[f"ll_{_part}(x)"] = f"CAST({_part}(ll_cast_date(x)) AS INTEGER)"
for _part in ("hour", "minute", "second"):
    FUNCTION_MACROS[f"ll_{_part}(x)"] = f"CAST({_part}(ll_cast_timestamptz(x)) AS INTEGER)"
