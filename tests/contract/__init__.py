"""The same facts, asked of the embedded API server and of a real one."""
