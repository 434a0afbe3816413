SELECT * FROM t ORDER BY a OPTIONS (name = 'q', ties = last, nan = exclude, nulls = error, timeout = '30s',
algorithm = ('bnl', sfs), device = cpu, without = fusion, parameters = (block = -3))
