/* SPDX-License-Identifier: BSD-2-Clause */
#include "privileges.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/error.h"

static int failed(const char *what)
{
	return xa_error("%s (%s), so the daemon does not start; run it as root", what,
			strerror(errno));
}

/* Ends at the first capability that the kernel does not know. */
static void empty_bounding_set(void)
{
	for (int capability = 0; !prctl(PR_CAPBSET_DROP, capability, 0, 0, 0); capability++)
		;
}

static int become(const char *name)
{
	const struct passwd *user = getpwnam(name);

	if (!user)
		return xa_error("there is no user '%s'; give --user NAME as /etc/passwd has it",
				name);
	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) || setgroups(0, NULL) ||
	    setresgid(user->pw_gid, user->pw_gid, user->pw_gid) ||
	    setresuid(user->pw_uid, user->pw_uid, user->pw_uid))
		return failed("the identity cannot be changed");
	return 0;
}

static int keep_one_capability(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct has[_LINUX_CAPABILITY_U32S_3] = {0},
				      keep[_LINUX_CAPABILITY_U32S_3] = {0};
	int needed = CAP_BPF;

	if (syscall(SYS_capget, &header, has))
		return failed("the capabilities cannot be read");
	/* Older set-ups give it in the shape of the larger one. */
	if (!(has[CAP_TO_INDEX(CAP_BPF)].permitted & CAP_TO_MASK(CAP_BPF)))
		needed = CAP_SYS_ADMIN;
	keep[CAP_TO_INDEX(needed)].permitted = CAP_TO_MASK(needed);
	keep[CAP_TO_INDEX(needed)].effective = CAP_TO_MASK(needed);
	return syscall(SYS_capset, &header, keep) ? failed("capabilities cannot be given up") : 0;
}

int cm_drop_privileges(const char *user)
{
	empty_bounding_set();
	if (user && become(user))
		return -1;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return failed("new privileges cannot be ruled out");
	return keep_one_capability();
}
