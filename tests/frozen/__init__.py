"""Public calls with fixed seeds, written down before a change and compared after it."""
