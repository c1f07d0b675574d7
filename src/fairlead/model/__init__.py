"""What a scheduler reads of the objects of a cluster, decoded once and shared."""
