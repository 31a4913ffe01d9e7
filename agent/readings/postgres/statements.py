"""Statements of the readings' tables.

Every one may be done twice: a value is its series and its time, a minute is computed anew from its
values, and of two accounts of one span the fuller one stays.
"""

KEEP_AGENT = """
INSERT INTO reading_agents
VALUES (%(agent)s, to_timestamp(%(values_s)s), to_timestamp(%(minutes_s)s))
ON CONFLICT DO NOTHING
"""
# Whoever changes the readings of an agent waits here for others who do
LOCK_AGENT = """
SELECT (extract(epoch FROM values_from) * 1000)::bigint FROM reading_agents
WHERE name = %(agent)s FOR UPDATE
"""
KEEP_NUMBER = """
INSERT INTO reading_batches AS kept VALUES (%(agent)s, %(mark)s, %(number)s)
ON CONFLICT (agent, mark) DO UPDATE SET number = greatest(kept.number, excluded.number)
"""
NUMBER = """
SELECT coalesce(max(number), 0) FROM reading_batches WHERE agent = %(agent)s AND mark = %(mark)s
"""
KEEP_SERIES = """
INSERT INTO reading_series AS kept (agent, name, unit, is_switch, is_board, cadence_s)
SELECT %(agent)s, * FROM unnest(%(names)s::text[], %(units)s::text[], %(switches)s::boolean[],
    %(boards)s::boolean[], %(cadences)s::integer[])
ON CONFLICT (agent, name) DO UPDATE SET unit = excluded.unit, is_switch = excluded.is_switch,
    is_board = excluded.is_board, cadence_s = excluded.cadence_s
WHERE (kept.unit, kept.is_switch, kept.is_board, kept.cadence_s)
    <> (excluded.unit, excluded.is_switch, excluded.is_board, excluded.cadence_s)
"""
RENAME_SERIES = "UPDATE reading_series SET name = %(name)s WHERE agent = %(agent)s AND id = %(id)s"
SERIES = """
SELECT id, name, unit, is_switch, is_board, cadence_s FROM reading_series
WHERE agent = %(agent)s ORDER BY id
"""
KEEP_VALUES = """
INSERT INTO reading_values
SELECT s.id, to_timestamp(n.ms / 1000.0), n.value
FROM unnest(%(ms)s::bigint[], %(values)s::double precision[]) AS n (ms, value)
    JOIN reading_series s ON s.agent = %(agent)s AND s.name = %(name)s
ON CONFLICT DO NOTHING
"""
# A mean is made of parts, so that no sum of large values overflows, with as many digits as the
# local archive keeps
_MEAN = """
CASE WHEN abs(sum(part)) < 1e9 THEN round(sum(part)::numeric, 3)::double precision
    ELSE sum(part) END
"""
# Each value lasts until the next one or until a gap begins, as it does in `columns`; the value
# before the first that is looked at tells if a switch became on
_ROLL_UP = """
WITH touched AS (
    SELECT s.id, s.is_switch, s.cadence_s * {held} * interval '1 second' AS held,
        to_timestamp(floor(%(first_s)s / 900.0 - s.cadence_s * {held} / 900) * 900) AS begins,
        to_timestamp(ceil((%(last_s)s + s.cadence_s * {held} + 0.001) / 900.0) * 900) AS ends
    FROM reading_series s WHERE s.agent = %(agent)s AND s.name = %(name)s
), bounded AS MATERIALIZED (
    SELECT t.*, coalesce((SELECT max(b.at) FROM reading_values b
        WHERE b.series = t.id AND b.at < t.begins), t.begins) AS from_at
    FROM touched t
), seen AS (
    SELECT v.series, v.at, v.value, t.begins, t.ends,
        least(coalesce(lead(v.at) OVER ordered - v.at, interval '0'), t.held) AS lasts,
        t.is_switch AND v.value >= 0.5 AS is_on,
        coalesce(lag(v.value) OVER ordered < 0.5, false) AS was_off
    FROM bounded t JOIN reading_values v ON v.series = t.id AND v.at >= t.from_at
        AND v.at < t.ends + t.held
    WINDOW ordered AS (PARTITION BY v.series ORDER BY v.at)
), placed AS (
    SELECT *, to_timestamp(floor(extract(epoch FROM at) / {bucket_s}) * {bucket_s}) AS bucket,
        (extract(epoch FROM lasts) * 1000)::bigint AS ms
    FROM seen WHERE at >= begins AND at < ends
), shared AS (
    SELECT *, value / count(*) OVER (PARTITION BY bucket) AS part FROM placed
)
INSERT INTO {table} (series, at, low, mean, high, count, on_ms, known_ms, starts)
SELECT series, bucket, min(value), {mean}, max(value), count(*),
    coalesce(sum(ms) FILTER (WHERE is_on), 0), sum(ms), count(*) FILTER (WHERE is_on AND was_off)
FROM shared GROUP BY series, bucket
ON CONFLICT (series, at) DO UPDATE SET low = excluded.low, mean = excluded.mean,
    high = excluded.high, count = excluded.count, on_ms = excluded.on_ms,
    known_ms = excluded.known_ms, starts = excluded.starts
"""
_HELD = "2.5"
ROLL_UP = tuple(
    _ROLL_UP.format(held=_HELD, mean=_MEAN, table=table, bucket_s=bucket_s)
    for table, bucket_s in (("reading_minutes", 60), ("reading_quarters", 900))
)
# Of two accounts of one span the one with more values knows better
_FULLER = """
ON CONFLICT (series, at) DO UPDATE SET low = least(kept.low, excluded.low),
    mean = CASE WHEN excluded.count > kept.count THEN excluded.mean ELSE kept.mean END,
    high = greatest(kept.high, excluded.high), count = greatest(kept.count, excluded.count),
    on_ms = greatest(kept.on_ms, excluded.on_ms),
    known_ms = greatest(kept.known_ms, excluded.known_ms),
    starts = greatest(kept.starts, excluded.starts)
"""
_KEEP_BUCKETS = """
INSERT INTO {} AS kept (series, at, low, mean, high, count, on_ms, known_ms, starts)
SELECT s.id, to_timestamp(n.ms / 1000.0), n.low, n.mean, n.high, n.count, n.on_ms, n.known_ms,
    n.starts
FROM unnest(%(at_ms)s::bigint[], %(lows)s::double precision[], %(means)s::double precision[],
    %(highs)s::double precision[], %(counts)s::integer[], %(on_ms)s::bigint[],
    %(known_ms)s::bigint[], %(starts)s::integer[])
    AS n (ms, low, mean, high, count, on_ms, known_ms, starts)
    JOIN reading_series s ON s.agent = %(agent)s AND s.name = %(name)s
"""
KEEP_MINUTES = _KEEP_BUCKETS.format("reading_minutes") + _FULLER
KEEP_QUARTERS = _KEEP_BUCKETS.format("reading_quarters") + _FULLER
QUARTERS_OF_MINUTES = (
    """
WITH placed AS (
    SELECT m.*, to_timestamp(floor(extract(epoch FROM m.at) / 900) * 900) AS quarter
    FROM reading_minutes m JOIN reading_series s ON s.id = m.series
    WHERE s.agent = %(agent)s AND s.name = %(name)s
        AND m.at >= to_timestamp(floor(%(first_s)s / 900.0) * 900)
        AND m.at < to_timestamp(floor(%(last_s)s / 900.0) * 900 + 900)
), shared AS (
    SELECT *, mean * (count / sum(count::double precision) OVER (PARTITION BY quarter)) AS part
    FROM placed
)
INSERT INTO reading_quarters AS kept (series, at, low, mean, high, count, on_ms, known_ms, starts)
SELECT series, quarter, min(low), {mean}, max(high), sum(count), sum(on_ms), sum(known_ms),
    sum(starts)
FROM shared GROUP BY series, quarter
""".replace("{mean}", _MEAN)
    + _FULLER
)
_FORGET = """
DELETE FROM {} WHERE at < to_timestamp(%(from_s)s)
    AND series IN (SELECT id FROM reading_series WHERE agent = %(agent)s)
"""
FORGET_VALUES, FORGET_MINUTES, FORGET_QUARTERS = (
    _FORGET.format(table) for table in ("reading_values", "reading_minutes", "reading_quarters")
)
NOTE_FORGOTTEN = """
UPDATE reading_agents SET values_from = greatest(values_from, to_timestamp(%(values_s)s)),
    minutes_from = greatest(minutes_from, to_timestamp(%(minutes_s)s))
WHERE name = %(agent)s
"""
# A column is one string of big-endian numbers: a year of rows costs its reader next to nothing
_PACKED = """
string_agg(int8send((extract(epoch FROM at) * 1000)::bigint), ''::bytea),
    string_agg(float8send(low), ''::bytea), string_agg(float8send(mean), ''::bytea),
    string_agg(float8send(high), ''::bytea), string_agg(int8send(count::bigint), ''::bytea),
    string_agg(int8send(on_ms), ''::bytea), string_agg(int8send(known_ms), ''::bytea),
    string_agg(int8send(starts::bigint), ''::bytea)
"""
# What has measured something else bears the name until the next batch comes
_SPAN = """
SELECT * FROM {} AS kept WHERE series = (SELECT id FROM reading_series
        WHERE agent = %(agent)s AND name = %(name)s AND is_switch = %(is_switch)s
            AND unit IN ('', %(unit)s))
    AND at >= to_timestamp(%(begin_ms)s / 1000.0) AND at < to_timestamp(%(end_ms)s / 1000.0)
"""
_MINUTES = (
    _SPAN.format("reading_minutes")
    + """
    AND NOT EXISTS (SELECT FROM reading_values v WHERE v.series = kept.series AND v.at >= kept.at
        AND v.at < kept.at + interval '1 minute')
"""
)
_QUARTERS = (
    _SPAN.format("reading_quarters")
    + """
    AND NOT EXISTS (SELECT FROM reading_minutes m WHERE m.series = kept.series AND m.at >= kept.at
        AND m.at < kept.at + interval '15 minutes')
"""
)
_NUMBERED = f"({NUMBER})"
_VALUES = (
    """
SELECT 0, string_agg(int8send((extract(epoch FROM at) * 1000)::bigint), ''::bytea), NULL::bytea,
    string_agg(float8send(value), ''::bytea), NULL::bytea, NULL::bytea, NULL::bytea, NULL::bytea,
    NULL::bytea, """
    + _NUMBERED
    + f" FROM ({_SPAN.format('reading_values')} ORDER BY at) AS ordered"
)


def _buckets(level: int, rows: str) -> str:
    return f"SELECT {level}, {_PACKED}, {_NUMBERED} FROM ({rows} ORDER BY at) AS ordered"  # noqa: S608 - constants of this file


COARSE = _buckets(2, _SPAN.format("reading_quarters"))
FINE = " UNION ALL ".join((_VALUES, _buckets(1, _MINUTES), _buckets(2, _QUARTERS)))
