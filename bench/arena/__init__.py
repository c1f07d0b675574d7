"""Schedulers in turn on a real control plane, so that their costs can be compared."""
