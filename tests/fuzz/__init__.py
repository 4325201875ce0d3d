"""Hostile input for everything public: a right answer, or a refusal that names the argument."""
