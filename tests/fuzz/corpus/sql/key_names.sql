SELECT month(d) AS m, "a b", COUNT(*) AS n FROM t GROUP BY m, a + b AS "a b" PARTITION BY (m) ORDER BY n DESC LIMIT 1
