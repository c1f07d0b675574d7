"""Talking to the API server: it knows Kubernetes' wire, and nothing of scheduling."""
