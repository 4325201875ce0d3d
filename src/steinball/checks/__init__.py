"""What is said of a problem before it is tested: dependent rows."""
