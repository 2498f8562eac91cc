# SPDX-License-Identifier: BSD-2-Clause
#
# make check           has a bounded differential run (STEPS=, default 300000; SEED=)
# make fuzz SECONDS=N  runs on for N seconds, from SEED= or a random seed
#
# Built without sanitizers: it is about speed, and what it tests runs in the kernel.

MODEL_SRC := $(wildcard tests/model/*.c)
DIFF_SRC  := $(filter-out tests/fuzz/fuzz_%,$(wildcard tests/fuzz/*.c)) \
	     $(MODEL_SRC) tests/lib/packet.c tests/lib/responder.c tests/lib/tap.c
DIFF_TEST := $(BUILD)/tests/test_differential
SECONDS   ?= 60

$(call obj,$(DIFF_SRC)): CPPFLAGS += -I.

$(DIFF_TEST): $(call obj,$(DIFF_SRC)) $(BUILD)/libxatomic.a
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(LDFLAGS) $^ $(LDLIBS) -o $@

$(BUILD)/tests/test_model: $(call aobj,$(MODEL_SRC) tests/lib/packet.c)

check-run: $(DIFF_TEST)

fuzz: $(DIFF_TEST)
	$(Q)SECONDS=$(SECONDS) SEED=$(SEED) $(DIFF_TEST)

.PHONY: fuzz
