region = 'EU'
region <> 'it''s'
NOT (region = 'EU' AND age > 18)
region IN ('EU', 'US') OR must NOT IN ('a', 'b')
age BETWEEN 1 AND 5
age > 3000000000
age IS NULL AND must IS NOT NULL
ok
NOT ok OR ok IS TRUE
total = -9223372036854775808
rate > 0.5
rate <> 0 AND rate >= 0
rate = DOUBLE 'NaN' OR rate < DOUBLE 'Infinity'
near > 0.1
is_nan(rate)
price >= 12.5
born < DATE '2024-01-31'
seen >= TIMESTAMP '2024-01-31 08:00:00'
at < TIMESTAMPTZ '2024-01-31 08:00:00+01:00'
clock = TIME '08:00:00'
nano > TIMESTAMP_NS '2024-01-31 08:00:00.123456789'
id = UUID '123e4567-e89b-12d3-a456-426614174000'
raw = X'00ff' AND code <> X'0102'
region LIKE 'E%'
region NOT LIKE '%a_b'
starts_with(region, 'E') AND ends_with(region, 'U') AND contains(region, 'x')
lower(region) = 'eu' OR upper(region) = 'EU'
trim(region) || '-' || must = 'a-b'
substring(region, 1, 2) = 'EU' AND length(region) > 3
age + 1 > total
total * 100 - age > 5
price * 2 = 10.00
age / 2 > 1.5
age % 10 = 3
rate * 2 + 1 > 5
CASE WHEN ok THEN age ELSE 0 END > 5
coalesce(region, 'EU') = 'EU'
CAST(age AS STRING) = '5' AND CAST(at AS DATE) = DATE '2024-01-31'
year(born) = 2024 AND hour(at) < 12
date_trunc('month', born) = DATE '2024-01-01' AND date_trunc('hour', seen) = TIMESTAMP '2024-01-01 00:00:00'
date_trunc('week', at) = TIMESTAMPTZ '2024-01-01 00:00:00Z'
home.zip = '12345' AND home."geo.hash" <> 'u'
"a.b" = 1
region = city
rate > rate
home."geo.hash" IS NULL
year(born) >= 2024 AND year(seen) <> 2023
date_trunc('month', at) = TIMESTAMPTZ '2024-12-01 00:00:00Z'
substring(region, 1, 2) = 'EU'
