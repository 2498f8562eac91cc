# SPDX-License-Identifier: BSD-2-Clause
#
# Costs of the BPF programs, see test_verifier.sh.

MEASURE := $(BUILD)/tests/measure

$(MEASURE): $(call obj,tests/verifier/measure.c)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(LDFLAGS) $^ $(LDLIBS) -o $@

check-run: $(MEASURE)
