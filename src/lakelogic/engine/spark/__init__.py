"""The Spark engine: the DataFrame and SQL API only, so that it also runs through Spark Connect."""
