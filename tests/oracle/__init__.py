"""The code of kube-scheduler, asked what it would do; and the cases that it is asked about."""
