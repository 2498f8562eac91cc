# SPDX-License-Identifier: BSD-2-Clause
#
# What tests of the BPF program share: packet builder and program loader, with ASan and UBSan.

TESTLIB := $(BUILD)/tests/libtestlib.a

$(BUILD)/asan/tests/lib/responder.o: $(BUILD)/responder.skel.h

$(TESTLIB): $(call aobj,$(wildcard tests/lib/*.c))
	$(call say,AR,$@)
	$(Q)mkdir -p $(@D) && rm -f $@ && $(AR) rcs $@ $^
