"""The expressions that select devices: Common Expression Language as Kubernetes has it."""
