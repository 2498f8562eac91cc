# SPDX-License-Identifier: BSD-2-Clause
#
# make check           has some 200,000 rounds of each race
# make race ROUNDS=N   more of them (default 5,000,000)

ROUNDS        ?= 5000000
RACE_TEST     := $(BUILD)/tests/test_race
RACE_SKEL     := $(BUILD)/race/traffic.skel.h
RACE_VARIANTS := $(patsubst tests/race/variants/%.bpf.c,$(BUILD)/race/%.bpf.o,$(wildcard tests/race/variants/*.bpf.c))
RACE_SRC      := $(filter-out %.bpf.c,$(wildcard tests/race/*.c)) tests/lib/packet.c tests/lib/responder.c tests/lib/tap.c
RACE_OBJ      := $(call obj,$(RACE_SRC))
# Copies of the control plane with a change: only what the change is called may be seen.
RACE_HASTY    := $(patsubst tests/race/variants/%.c,$(BUILD)/race/%.o,\
		 $(filter-out %.bpf.c,$(wildcard tests/race/variants/*.c)))

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
$(RACE_OBJ): $(RACE_SKEL)

$(RACE_HASTY): $(BUILD)/race/%.o: tests/race/variants/%.c tests/race/variants/hasty.h user/lib/mrs.c user/lib/qps.c $(HEADERS)
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(CPPFLAGS) $(CFLAGS) -c $< -o $@
	$(Q)objcopy -w --keep-global-symbol='hasty_*' --keep-global-symbol='slow_*' $@

$(RACE_TEST): $(RACE_OBJ) $(RACE_HASTY) $(BUILD)/libxatomic.a $(RACE_VARIANTS)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(LDFLAGS) $(filter-out %.bpf.o,$^) $(LDLIBS) -lpthread -o $@

check-run: $(RACE_TEST)

race: $(RACE_TEST)
	$(Q)BUILD=$(BUILD) ROUNDS=$(ROUNDS) $(RACE_TEST)

.PHONY: race
