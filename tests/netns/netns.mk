# SPDX-License-Identifier: BSD-2-Clause
#
# The host program of test_host_words.sh, linked as a user of the library would link it.

check-run: $(BUILD)/tests/host_add

$(BUILD)/tests/host_add: $(BUILD)/obj/tests/netns/host_add.o $(BUILD)/$(SONAME)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(LDFLAGS) $^ -Wl,-rpath,'$$ORIGIN/..' -o $@
