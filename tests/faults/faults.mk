# SPDX-License-Identifier: BSD-2-Clause
#
# make faults and make kill, and the program that they and the bounded runs of make check need.

VARIANT      := $(BUILD)/variant
FAULT_ERRNOS ?= usual 1 22
KILL_ROUNDS  := $(or $(ROUNDS),500)

check-run: $(BUILD)/faulty/xatomic $(VARIANT)/xatomic

faults: all $(VARIANT)/xatomic $(BUILD)/faulty/xatomic
	$(Q)BUILD=$(BUILD) FAULTS=all FAULT_ERRNOS="$(FAULT_ERRNOS)" tests/faults/test_faults.sh

kill: all $(VARIANT)/xatomic $(BUILD)/asan/xatomic $(BUILD)/asan/xatomic-req
	$(Q)BUILD=$(BUILD) ROUNDS=$(KILL_ROUNDS) SEED=$(SEED) tests/faults/test_kill.sh

.PHONY: faults kill

# With ASan, UBSan and LSan, and exporting what it takes the place of.
$(BUILD)/faulty/xatomic: $(BUILD)/faulty/inject.o $(call aobj,$(CLI_SRC) $(CM_SRC) $(COMMON_SRC) $(LIB_SRC))
	$(call say,LD,$@)
	$(Q)$(CC) $(SAN) -rdynamic $^ $(LDLIBS) -o $@

$(BUILD)/faulty/inject.o: tests/faults/inject.c
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(CPPFLAGS) $(CFLAGS) -fno-builtin -c $< -o $@

# An xatomic whose BPF program has other instructions, for upgrades: the same sources, other options of clang.
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
