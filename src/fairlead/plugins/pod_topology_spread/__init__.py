"""PodTopologySpread: pods of a kind are spread evenly over the domains of a topology."""
