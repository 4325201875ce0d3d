"""What a test found out about the data: the numbers of its decision at every tolerance and level."""
