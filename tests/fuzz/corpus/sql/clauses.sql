SELECT name, price * 2 AS "double", rating FROM 'hotels.csv' -- comment
WHERE price <= 250 AND city IN ('Oslo', 'Aarhus') /* another */
PREFERRING DISTINCT LOW price PLUS HIGH rating PARTITION BY city LEVELS 2
ORDER BY rating DESC NULLS LAST, "double" LIMIT 20 OFFSET 3 WITH TIES;
