# SPDX-License-Identifier: BSD-2-Clause
#
# Executed instructions per class of packets, against tests/insns/budget.txt.
#
#	build/tests/test_insns --table    the costs
#	build/tests/test_insns --budget   the budget that fits them

INSNS_TEST := $(BUILD)/tests/test_insns
INSNS_OBJ  := $(call aobj,$(wildcard tests/insns/*.c))

$(INSNS_OBJ): $(BUILD)/responder.skel.h

$(INSNS_TEST): $(INSNS_OBJ) $(call aobj,$(addprefix tests/prog/,scene.c capture.c expect.c)) $(BUILD)/tests/libtestlib.a \
	       $(BUILD)/tests/libundertest.a
	$(call say,LD,$@)
	$(Q)$(CC) $(SAN) $^ $(LDLIBS) -o $@

check-run: $(INSNS_TEST)
