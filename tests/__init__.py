"""The tests, and the real parts that they run beside."""
