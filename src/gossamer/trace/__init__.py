"""What happened, as columns: the only way from a driver to a figure, and the same tables from every driver."""
