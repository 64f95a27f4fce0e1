"""One file a verb: words from a shell come in; text, JSON and an exit code go out."""
