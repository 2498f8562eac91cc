/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * measure - loads the programs of a BPF object, pins and attaches nothing, and prints what they cost:
 *
 *	NAME processed=INSTRUCTIONS size=BYTES
 *
 * a line each. INSTRUCTIONS is what the verifier walked (it gives up at 1,000,000), BYTES the size of the
 * verified program, before the JIT.
 *
 * Usage: measure OBJECT     exit status 0, or 1 when the kernel refuses a program (its words go to stderr)
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdio.h>
#include <string.h>

static int print_cost(const struct bpf_program *program)
{
	struct bpf_prog_info info = {0};
	__u32 len = sizeof(info);
	int err = bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &len);

	if (err) {
		fprintf(stderr, "%s cannot be measured (%s)\n", bpf_program__name(program),
			strerror(-err));
		return err;
	}
	printf("%s processed=%u size=%u\n", bpf_program__name(program), info.verified_insns,
	       info.xlated_prog_len);
	return 0;
}

int main(int argc, char **argv)
{
	struct bpf_program *program;
	struct bpf_object *object;
	int err;

	if (argc != 2) {
		fprintf(stderr, "usage: measure OBJECT\n");
		return 2;
	}
	object = bpf_object__open_file(argv[1], NULL);
	if (!object)
		return 1;
	err = bpf_object__load(object);
	if (!err)
		bpf_object__for_each_program(program, object) err = err ? err : print_cost(program);
	bpf_object__close(object);
	return err ? 1 : 0;
}
