"""When and in which order: the estate of contracts, its graph, and the scheduler that runs it."""
