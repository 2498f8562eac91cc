# SPDX-License-Identifier: BSD-2-Clause
#
# The table of packets that specifies the BPF program, run through BPF_PROG_TEST_RUN.

PROG_TEST := $(BUILD)/tests/test_prog

check-run: $(PROG_TEST)

$(PROG_TEST): $(call aobj,$(wildcard tests/prog/*.c)) $(TESTLIB) $(BUILD)/tests/libundertest.a
	$(call say,LD,$@)
	$(Q)$(CC) $(SAN) $^ $(LDLIBS) -o $@
