# Every recipe is one of run.py's, so that nothing here needs make. ARGS go through: make test ARGS="-k rings",
# and make compare BASE=HEAD~1.
RECIPES := demo test setup check lint format types contracts docs tidy test-nojit test-cluster parity papers picture bench compare changelog lock

.PHONY: help $(RECIPES)
help:
	@python3 run.py

$(RECIPES):
	@python3 run.py $@ $(BASE) $(ARGS)
