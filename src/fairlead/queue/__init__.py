"""Which pod next: pods that wait to be tried, pods that wait for a reason, pods being tried."""
