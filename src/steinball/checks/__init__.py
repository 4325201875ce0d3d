"""What is remarked of a problem: dependent, few or rounded rows, models that contradict themselves."""
