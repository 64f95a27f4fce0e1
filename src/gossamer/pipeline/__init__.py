"""The data pipeline on Spark: a scenario or the user's own data comes in, DataFrames go from step to step, figures go out."""
