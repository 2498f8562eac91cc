# SPDX-License-Identifier: BSD-2-Clause
#
# make mutation    changes the BPF program in one place after the other and sees whether the tests notice
#                  (ONLY=text: mutants whose name or FILE:LINE contains it; AGAIN=1: last run's survivors
#                  and new ones)
#
# Not part of a check. Stops each mutant at the first failure.

MUTATION_STEPS ?= 200000
MUTATION_ROUNDS ?= 200000
MUTATION_TESTS = $(PROG_TEST) "STEPS=$(MUTATION_STEPS) SEED=1 $(DIFF_TEST)" \
		 "ROUNDS=$(MUTATION_ROUNDS) $(RACE_TEST)"

mutation: all $(PROG_TEST) $(DIFF_TEST) $(RACE_TEST)
	$(Q)BPF_CC='$(CLANG) $(BPF_CFLAGS)' tests/mutation/mutate.py --build $(BUILD) \
		$(if $(ONLY),--only '$(ONLY)') $(if $(AGAIN),--again) $(MUTATION_TESTS)

.PHONY: mutation
