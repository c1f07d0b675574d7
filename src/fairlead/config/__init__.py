"""KubeSchedulerConfiguration v1: decoded, defaulted and checked as kube-scheduler does it."""
