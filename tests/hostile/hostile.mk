# SPDX-License-Identifier: BSD-2-Clause
#
# make check             has the bounded run, and the proof that three broken responders are found out
# make hostile OPS=N     runs on: N operations at losses from 0 to 30 %, from SEED= or a random seed
#
# Built without sanitizers: what is tested runs in the kernel and in the library, and speed is operations.

OPS ?= 1000000

$(BUILD)/tests/test_linear: $(call aobj,tests/hostile/linear.c)

WIRE        := $(BUILD)/hostile/wire
HOSTILE     := $(BUILD)/hostile/hostile
HOSTILE_SRC := $(filter-out %.bpf.c,$(wildcard tests/hostile/*.c)) tests/lib/tap.c
HOSTILE_OBJ := $(call obj,$(HOSTILE_SRC))

$(WIRE).bpf.o: tests/hostile/wire.bpf.c tests/hostile/wire.h
	$(call say,BPF,$@)
	$(Q)mkdir -p $(@D) && $(CLANG) $(BPF_CFLAGS) -I. -c $< -o $@

$(WIRE).skel.h: $(WIRE).bpf.o
	$(call say,SKEL,$@)
	$(Q)$(BPFTOOL) gen skeleton $< name wire_bpf > $@

$(HOSTILE_OBJ): CPPFLAGS += -I.
$(call obj,tests/hostile/wire.c): $(WIRE).skel.h

$(HOSTILE): $(HOSTILE_OBJ) $(BUILD)/libxatomic.a
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(LDFLAGS) $^ $(LDLIBS) -lpthread -o $@

# Responders with one fault each, made of the same sources by changing one line:
#   twice  runs a duplicate once more, and answers it from the replay window all the same
#   wrong  answers a duplicate with a value that the word did not have
#   blind  does not care whether the ICRC is right
MUTANTS     := twice wrong blind
MUTANT_DIRS := $(MUTANTS:%=$(BUILD)/hostile/%)
twice-in := psn.bpf.h
twice    := s/p->qp->replayed++;/{ __u64 *w; p->qp->replayed++; if (check_access(p, \&w) == GO_ON) execute(p, w); }/
wrong-in := psn.bpf.h
wrong    := s/p->qp->replayed++;/p->qp->replayed++, a->original++;/
blind-in := responder.bpf.c
blind    := s/return check_icrc(ctx, p);/check_icrc(ctx, p); return GO_ON;/

# A line that is not there any more must not make a mutant that is none.
$(MUTANT_DIRS:%=%/responder.bpf.o): $(BUILD)/hostile/%/responder.bpf.o: $(BUILD)/responder.bpf.o \
				     $(wildcard bpf/*.h) tests/hostile/hostile.mk
	$(call say,MUTANT,$@)
	$(Q)mkdir -p $(@D) && cp bpf/responder.bpf.c bpf/*.h $(@D)
	$(Q)sed -i '$($*)' $(@D)/$($*-in) && ! cmp -s bpf/$($*-in) $(@D)/$($*-in)
	$(Q)$(CLANG) $(BPF_CFLAGS) -c $(@D)/responder.bpf.c -o $@

$(MUTANT_DIRS:%=%/responder.skel.h): %/responder.skel.h: %/responder.bpf.o
	$(call say,SKEL,$@)
	$(Q)$(BPFTOOL) gen skeleton $< name responder_bpf > $@

$(MUTANT_DIRS:%=%/create.o): %/create.o: user/lib/create.c %/responder.skel.h $(HEADERS)
	$(call say,CC,$@)
	$(Q)$(CC) -I$(@D) $(CPPFLAGS) $(CFLAGS) -c $< -o $@

$(MUTANT_DIRS:%=%/hostile): %/hostile: %/create.o $(HOSTILE_OBJ) $(BUILD)/libxatomic.a
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS) $^ $(LDLIBS) -lpthread -o $@

hostile-programs: $(HOSTILE) $(MUTANT_DIRS:%=%/hostile)

check-run: hostile-programs

hostile: $(HOSTILE) $(BUILD)/pass.bpf.o
	$(Q)BUILD=$(BUILD) OPS=$(OPS) SEED=$(SEED) tests/hostile/test_hostile.sh

.PHONY: hostile hostile-programs
