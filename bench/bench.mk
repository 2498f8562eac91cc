# SPDX-License-Identifier: BSD-2-Clause
#
# make bench        everything, results into docs/bench/ (root)
# make bench-quick  FETCH_ADD against an echo of the same frames; the last line is "faa/echo RATIO" (root)

BENCH_LOOPS    := openloop twocpus closedloop
BENCH_PROGRAMS := $(BENCH_LOOPS) udpserver sockclient memcached_incr
BENCH_COMMON   := check frames memory rig stream timing samples udp
BENCH_HEADERS  := $(wildcard bench/*.h)
BENCH_SKEL     := $(patsubst bench/%.bpf.c,$(BUILD)/bench/%.skel.h,$(wildcard bench/*.bpf.c))
BENCH_BIN      := $(BENCH_PROGRAMS:%=$(BUILD)/bench/%)
BENCH_OBJ      := $(patsubst %,$(BUILD)/obj/bench/%.o,$(BENCH_PROGRAMS) $(BENCH_COMMON))

$(BENCH_SKEL:.skel.h=.bpf.o): $(BUILD)/bench/%.bpf.o: bench/%.bpf.c $(BENCH_HEADERS) $(wildcard include/xatomic/*.h)
	$(call say,BPF,$@)
	$(Q)mkdir -p $(@D) && $(CLANG) $(BPF_CFLAGS) -I. -c $< -o $@

$(BENCH_SKEL): $(BUILD)/bench/%.skel.h: $(BUILD)/bench/%.bpf.o
	$(call say,SKEL,$@)
	$(Q)$(BPFTOOL) gen skeleton $< name $(*F)_bpf > $@

$(BENCH_OBJ): CPPFLAGS += -I.
$(BENCH_OBJ): $(BUILD)/obj/bench/%.o: bench/%.c $(HEADERS) $(BENCH_HEADERS) $(BENCH_SKEL) | $(BPF_SKEL)
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(CPPFLAGS) $(CFLAGS) -c $< -o $@

$(BENCH_BIN): $(BUILD)/bench/%: $(BUILD)/obj/bench/%.o $(BENCH_COMMON:%=$(BUILD)/obj/bench/%.o) \
		$(BUILD)/libxatomic.a
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS) $^ $(LDLIBS) -lpthread -o $@

bench-programs: $(BENCH_BIN)

# `make check` does not run the bench, but it must build.
check-run: $(BENCH_BIN)

bench-deps: deps
	$(Q)bench/install-deps.sh

bench: bench-deps
	$(Q)$(MAKE) --no-print-directory all bench-programs
	$(Q)BUILD=$(abspath $(BUILD)) bench/run.sh

bench-quick: deps
	$(Q)$(MAKE) --no-print-directory bench-programs
	$(Q)$(BUILD)/bench/openloop --quick

.PHONY: bench bench-quick bench-deps bench-programs
