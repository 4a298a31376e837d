.PHONY: demo test test-all bench

demo:
	./dev demo $(ARGS)

test:
	./dev test $(ARGS)

test-all:
	./dev test --all $(ARGS)

bench:
	./dev bench $(ARGS)
