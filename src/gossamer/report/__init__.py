"""The papers' claims beside what came out: tables in, verdicts and figures out, as text, pictures and one page."""
