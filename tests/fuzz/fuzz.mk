# SPDX-License-Identifier: BSD-2-Clause
#
# make check           has a bounded run of each fuzzer (differential: STEPS=, default 300000; SEED=)
# make fuzz SECONDS=N  runs on: N seconds of the differential fuzzer in the kernel, from SEED= or a random
#                      seed, then N seconds of each libFuzzer target
#
# The differential fuzzer is built without sanitizers: it is about speed, and what it tests runs in the
# kernel. The libFuzzer targets have ASan and UBSan; fuzz_program is the same comparison with the BPF source
# compiled for the host.

SECONDS   ?= 60
MODEL_SRC := $(wildcard tests/model/*.c)
FUZZ_SRC  := $(filter-out tests/fuzz/fuzz_% tests/fuzz/target_% tests/fuzz/test_%,$(wildcard tests/fuzz/*.c))
DIFF_SRC  := $(FUZZ_SRC) $(MODEL_SRC) tests/fuzz/target_kernel.c tests/fuzz/test_differential.c \
	     tests/lib/packet.c tests/lib/responder.c tests/lib/tap.c
DIFF_TEST := $(BUILD)/tests/test_differential

$(call obj,$(DIFF_SRC)): CPPFLAGS += -I.

$(DIFF_TEST): $(call obj,$(DIFF_SRC)) $(BUILD)/libxatomic.a
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(LDFLAGS) $^ $(LDLIBS) -o $@

$(BUILD)/tests/test_model: $(call aobj,$(MODEL_SRC) tests/lib/packet.c)

# BPF programs read packed fields wherever they lie, as their instruction set allows.
LIBFUZZER := -fsanitize=fuzzer,address,undefined -fno-sanitize=alignment \
	     -fno-sanitize-recover=undefined -fno-omit-frame-pointer -Wno-address-of-packed-member
lfobj      = $(patsubst %.c,$(BUILD)/libfuzzer/%.o,$(1))
LF_TARGETS := $(patsubst tests/fuzz/%.c,$(BUILD)/libfuzzer/%,$(wildcard tests/fuzz/fuzz_*.c))
LF_PROGRAM := $(FUZZ_SRC) $(MODEL_SRC) tests/fuzz/target_native.c tests/lib/packet.c user/lib/icrc.c

$(BUILD)/libfuzzer/%.o: %.c $(HEADERS) $(BUILD)/icrc_tables.h bpf/responder.bpf.c \
			$(wildcard tests/fuzz/shim/bpf/*.h) | $(BPF_SKEL)
	$(call say,CLANG,$@)
	$(Q)mkdir -p $(@D) && $(CLANG) -I. -Itests/fuzz/shim $(CPPFLAGS) $(CFLAGS) $(LIBFUZZER) -c $< -o $@

$(BUILD)/libfuzzer/fuzz_program: $(call lfobj,$(LF_PROGRAM))
$(BUILD)/libfuzzer/fuzz_requester: $(call lfobj,tests/lib/packet.c $(LIB_SRC))
$(BUILD)/libfuzzer/fuzz_options $(BUILD)/libfuzzer/fuzz_cm: $(call lfobj,$(UNDER_TEST))

$(LF_TARGETS): $(BUILD)/libfuzzer/fuzz_%: $(BUILD)/libfuzzer/tests/fuzz/fuzz_%.o
	$(call say,LD,$@)
	$(Q)$(CLANG) $(LIBFUZZER) $^ $(LDLIBS) -o $@

check-run: $(DIFF_TEST) $(LF_TARGETS)

fuzz: $(DIFF_TEST) $(LF_TARGETS)
	$(Q)SECONDS=$(SECONDS) SEED=$(SEED) $(DIFF_TEST)
	$(Q)BUILD=$(BUILD) SECONDS_EACH=$(SECONDS) tests/fuzz/test_libfuzzer.sh

.PHONY: fuzz
