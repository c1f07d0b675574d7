"""Devices and the claims for them: what there is, what is taken, and by whom."""
