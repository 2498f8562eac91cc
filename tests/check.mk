# SPDX-License-Identifier: BSD-2-Clause
#
# A suite is a program that prints TAP. tests/unit/test_X.c becomes $(BUILD)/tests/test_X, linked with
# ASan and UBSan against all user code but the main()s; scripts named tests/*/test_*.sh run as they are.

UNIT_SRC   := $(wildcard tests/unit/test_*.c)
UNIT_TESTS := $(UNIT_SRC:tests/unit/%.c=$(BUILD)/tests/%)
CHECK_DEPS += all $(UNIT_TESTS) $(addprefix $(BUILD)/asan/,$(notdir $(PROGRAMS)))

# main.c of a program cannot be linked into a test; everything else can.
UNDER_TEST := $(filter-out %/main.c,$(LIB_SRC) $(CM_SRC) $(COMMON_SRC) $(CLI_SRC) $(REQ_SRC))

$(BUILD)/tests/libundertest.a: $(call aobj,$(UNDER_TEST))
	$(call say,AR,$@)
	$(Q)mkdir -p $(@D) && rm -f $@ && $(AR) rcs $@ $^

$(UNIT_TESTS): $(BUILD)/tests/%: $(BUILD)/asan/tests/unit/%.o $(BUILD)/tests/libundertest.a
	$(call say,LD,$@)
	$(Q)$(CC) $(SAN) $^ -lcmocka $(LDLIBS) -o $@

check-run: $(CHECK_DEPS)
	$(Q)BUILD=$(BUILD) tests/run-suites.sh $(SUITES)

.PHONY: check-run
