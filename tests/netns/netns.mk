# SPDX-License-Identifier: BSD-2-Clause
#
# The host program of test_host_words.sh, linked as a user of the library would link it.

check-run: $(BUILD)/tests/host_add

$(BUILD)/tests/host_add: $(BUILD)/obj/tests/netns/host_add.o $(BUILD)/$(SONAME)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(LDFLAGS) $^ -Wl,-rpath,'$$ORIGIN/..' -o $@

# An xatomic whose BPF program has other instructions, for upgrades: the same sources, other options of clang.
VARIANT := $(BUILD)/variant

check-run: $(VARIANT)/xatomic

$(VARIANT)/responder.bpf.o: bpf/responder.bpf.c $(BUILD)/icrc_tables.h $(wildcard bpf/*.h include/xatomic/*.h)
	$(call say,BPF,$@)
	$(Q)mkdir -p $(@D) && $(CLANG) $(BPF_CFLAGS) -Os -c $< -o $@

$(VARIANT)/responder.skel.h: $(VARIANT)/responder.bpf.o
	$(call say,SKEL,$@)
	$(Q)$(BPFTOOL) gen skeleton $< name responder_bpf > $@

$(VARIANT)/create.o: user/lib/create.c $(VARIANT)/responder.skel.h $(HEADERS)
	$(call say,CC,$@)
	$(Q)$(CC) -I$(VARIANT) $(CPPFLAGS) $(CFLAGS) -c $< -o $@

$(VARIANT)/xatomic: $(VARIANT)/create.o $(filter-out %/create.o,$(call obj,$(CLI_SRC) $(CM_SRC) $(COMMON_SRC) $(LIB_SRC)))
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS) $^ $(LDLIBS) -o $@
