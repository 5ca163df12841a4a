# The two commands of the README, and what they are made of.
.PHONY: view test build bench lint native browser

view: build
	@if [ "$${SERVE:-1}" = 1 ]; then node scripts/serve.mjs; fi

build:
	@scripts/setup.sh build
	@node scripts/build.mjs

test:
	@scripts/test.sh

bench:
	@scripts/bench.sh
