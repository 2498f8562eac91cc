# SPDX-License-Identifier: BSD-2-Clause
#
# make check           has some 200,000 rounds of each race
# make race ROUNDS=N   more of them (default 5,000,000)

ROUNDS        ?= 5000000
RACE_TEST     := $(BUILD)/tests/test_race
RACE_SKEL     := $(BUILD)/race/traffic.skel.h
RACE_VARIANTS := $(patsubst tests/race/variants/%.bpf.c,$(BUILD)/race/%.bpf.o,$(wildcard tests/race/variants/*.bpf.c))
RACE_SRC      := $(wildcard tests/race/*.c tests/race/variants/*.c)
RACE_OBJ      := $(call obj,$(filter-out %.bpf.c,$(RACE_SRC)) tests/lib/packet.c tests/lib/responder.c tests/lib/tap.c)

$(BUILD)/race/%.bpf.o: tests/race/%.bpf.c tests/race/traffic.h $(wildcard include/xatomic/*.h)
	$(call say,BPF,$@)
	$(Q)mkdir -p $(@D) && $(CLANG) $(BPF_CFLAGS) -c $< -o $@

$(RACE_VARIANTS): $(BUILD)/race/%.bpf.o: tests/race/variants/%.bpf.c $(BUILD)/responder.bpf.o
	$(call say,BPF,$@)
	$(Q)mkdir -p $(@D) && $(CLANG) $(BPF_CFLAGS) -c $< -o $@

$(RACE_SKEL): $(BUILD)/race/traffic.bpf.o
	$(call say,SKEL,$@)
	$(Q)$(BPFTOOL) gen skeleton $< name traffic_bpf > $@

$(RACE_OBJ): CPPFLAGS += -I.
$(RACE_OBJ): $(RACE_SKEL) $(wildcard tests/race/variants/*.h user/lib/mrs.c user/lib/qps.c)

$(RACE_TEST): $(RACE_OBJ) $(BUILD)/libxatomic.a $(RACE_VARIANTS)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(LDFLAGS) $(filter-out %.bpf.o,$^) $(LDLIBS) -lpthread -o $@

check-run: $(RACE_TEST)

race: $(RACE_TEST)
	$(Q)BUILD=$(BUILD) ROUNDS=$(ROUNDS) $(RACE_TEST)

.PHONY: race
