"""Small definitions: a trace and the truth come in, metrics go out. One name each, from here to the figure."""
