"""Who publishes what, and who wants it: schemas, filters and boxes come in; the four questions go out."""
