select * from t preferring (low a plus high b) prior to c around -infinity plus inverse (d in ('x') else ('y', 'z'))
prior to e between null and date '2017-05-01' plus pareto (where f, prior (low g)) at least 20
