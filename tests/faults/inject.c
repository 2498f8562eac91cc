/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * inject.c - linked into xatomic, lets the Nth call to the kernel fail, or kills the process there. It takes
 * the place of the C library's functions for the program and for libbpf alike.
 *
 * Environment:
 *	FAULT=N		the Nth call from the start of main() on; 0: none
 *	FAULT_ERRNO=E	bpf(2) fails with this instead of what is usual, but for the creation of a link, of
 *			which other errors mean that there is only generic mode; "kill": SIGKILL instead
 *	FAULT_LOG=FILE	its name is written there when it comes
 *	FAULT_TRACE=FILE	the names of all calls are written there
 *
 * In the end, descriptors that are still open are told on stderr, and the exit status becomes 99.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <ifaddrs.h>
#include <linux/bpf.h>
#include <net/if.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

/* The C library has these under both names, and libbpf uses the second. */
#undef fcntl64
#undef fopen64
#undef mmap64
#undef open64
#undef statfs64

enum { LEAKED = 99, MAX_FDS = 1024 };

static long fault_at, calls;
static bool armed;
static bool inherited[MAX_FDS];

static void raw_write(int fd, const char *text)
{
	if (syscall(SYS_write, fd, text, strlen(text)) < 0)
		_exit(LEAKED);
}

/* Appends to the file that the variable names. */
static void tell(const char *variable, const char *call, int detail)
{
	const char *path = getenv(variable);
	char line[64];
	int fd;

	if (!path)
		return;
	snprintf(line, sizeof(line), "%s %d\n", call, detail);
	fd = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND, 0600);
	raw_write(fd, line);
	syscall(SYS_close, fd);
}

/* Is this the call that fails? Sets errno. `detail` is only for the log. */
static bool fails(const char *call, int detail, int usual)
{
	const char *wanted = getenv("FAULT_ERRNO");

	if (!armed)
		return false;
	tell("FAULT_TRACE", call, detail);
	if (++calls != fault_at)
		return false;
	tell("FAULT_LOG", call, detail);
	if (wanted && !strcmp(wanted, "kill"))
		raise(SIGKILL);
	errno = wanted && usual == ENOMEM && !strcmp(call, "bpf") ? atoi(wanted) : usual;
	return true;
}

static void *next(const char *name)
{
	bool was = armed;
	void *symbol;

	armed = false;
	symbol = dlsym(RTLD_NEXT, name);
	armed = was;
	return symbol;
}

#define REAL(name) ((__typeof__(&(name)))next(#name))

#define WRAP(type, failed, usual, name, params, ...)                                               \
	type name params                                                                           \
	{                                                                                          \
		return fails(#name, 0, usual) ? (type)(failed) : REAL(name)(__VA_ARGS__);          \
	}

/* What the C library declares with attributes that a definition cannot repeat, or only under a macro. */
void *mmap64(void *, size_t, int, int, int, off64_t);
int open64(const char *, int, ...);
FILE *fopen64(const char *, const char *);
int fcntl64(int, int, ...);
struct statfs64;
int statfs64(const char *, struct statfs64 *);

/* bpf(2) and, in libbpf, all that has no function of its own. */
long syscall(long number, ...)
{
	static long (*real)(long, ...);
	va_list args;
	long a[6];

	va_start(args, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(args, long);
	va_end(args);
	if (number == SYS_bpf && fails("bpf", a[0], a[0] == BPF_LINK_CREATE ? EBUSY : ENOMEM))
		return -1;
	if (!real)
		real = dlsym(RTLD_NEXT, "syscall");
	return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

static int mode_of(int flags, va_list args)
{
	return flags & (O_CREAT | O_TMPFILE) ? va_arg(args, int) : 0;
}

int open(const char *path, int flags, ...)
{
	va_list args;
	int mode;

	va_start(args, flags);
	mode = mode_of(flags, args);
	va_end(args);
	return fails("open", 0, EMFILE) ? -1 : REAL(open)(path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
	va_list args;
	int mode;

	va_start(args, flags);
	mode = mode_of(flags, args);
	va_end(args);
	return fails("open", 0, EMFILE) ? -1 : REAL(open64)(path, flags, mode);
}

int openat(int dir, const char *path, int flags, ...)
{
	va_list args;
	int mode;

	va_start(args, flags);
	mode = mode_of(flags, args);
	va_end(args);
	return fails("openat", 0, EMFILE) ? -1 : REAL(openat)(dir, path, flags, mode);
}

int fcntl(int fd, int command, ...)
{
	va_list args;
	long arg;

	va_start(args, command);
	arg = va_arg(args, long);
	va_end(args);
	return fails("fcntl", command, EMFILE) ? -1 : REAL(fcntl)(fd, command, arg);
}

int fcntl64(int fd, int command, ...)
{
	va_list args;
	long arg;

	va_start(args, command);
	arg = va_arg(args, long);
	va_end(args);
	return fails("fcntl", command, EMFILE) ? -1 : REAL(fcntl64)(fd, command, arg);
}

int ioctl(int fd, unsigned long request, ...)
{
	va_list args;
	void *arg;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	return fails("ioctl", 0, ENOMEM) ? -1 : REAL(ioctl)(fd, request, arg);
}

WRAP(void *, MAP_FAILED, ENOMEM, mmap, (void *a, size_t n, int p, int f, int fd, off_t o), a, n, p,
     f, fd, o)
WRAP(void *, MAP_FAILED, ENOMEM, mmap64, (void *a, size_t n, int p, int f, int fd, off64_t o), a, n,
     p, f, fd, o)
WRAP(FILE *, NULL, EMFILE, fopen, (const char *path, const char *mode), path, mode)
WRAP(FILE *, NULL, EMFILE, fopen64, (const char *path, const char *mode), path, mode)
WRAP(FILE *, NULL, ENOMEM, fdopen, (int fd, const char *mode), fd, mode)
WRAP(DIR *, NULL, EMFILE, opendir, (const char *path), path)
WRAP(struct dirent *, NULL, EIO, readdir, (DIR * dir), dir)
WRAP(int, -1, ENOBUFS, getifaddrs, (struct ifaddrs * *all), all)
WRAP(unsigned int, 0, ENOBUFS, if_nametoindex, (const char *name), name)
WRAP(char *, NULL, ENOBUFS, if_indextoname, (unsigned int i, char name[IF_NAMESIZE]), i, name)
WRAP(int, -1, EMFILE, socket, (int domain, int type, int protocol), domain, type, protocol)
WRAP(int, -1, ENOMEM, bind, (int fd, const struct sockaddr *a, socklen_t n), fd, a, n)
WRAP(int, -1, ENOBUFS, getsockname, (int fd, struct sockaddr *a, socklen_t *n), fd, a, n)
WRAP(int, -1, ENOMEM, setsockopt, (int fd, int l, int o, const void *v, socklen_t n), fd, l, o, v,
     n)
WRAP(ssize_t, -1, ENOBUFS, send, (int fd, const void *data, size_t n, int f), fd, data, n, f)
WRAP(ssize_t, -1, ENOBUFS, recvmsg, (int fd, struct msghdr *message, int f), fd, message, f)
WRAP(int, -1, ENOMEM, setns, (int fd, int type), fd, type)
WRAP(int, -1, ENOLCK, flock, (int fd, int operation), fd, operation)
WRAP(int, -1, ENOSPC, mkdir, (const char *path, mode_t mode), path, mode)
WRAP(int, -1, ENOSPC, rename, (const char *from, const char *to), from, to)
WRAP(int, -1, ENOMEM, unlink, (const char *path), path)
WRAP(int, -1, ENOMEM, rmdir, (const char *path), path)
WRAP(int, -1, ENOMEM, remove, (const char *path), path)
WRAP(int, -1, ENOMEM, nftw, (const char *path, __nftw_func_t f, int n, int flags), path, f, n,
     flags)
WRAP(int, -1, EPERM, chown, (const char *path, uid_t user, gid_t group), path, user, group)
WRAP(int, -1, EPERM, chmod, (const char *path, mode_t mode), path, mode)
WRAP(int, -1, EPERM, fchmod, (int fd, mode_t mode), fd, mode)
WRAP(int, -1, ENOMEM, stat, (const char *path, struct stat *st), path, st)
WRAP(int, -1, ENOMEM, lstat, (const char *path, struct stat *st), path, st)
WRAP(int, -1, ENOMEM, fstat, (int fd, struct stat *st), fd, st)
WRAP(int, -1, ENOMEM, statfs, (const char *path, struct statfs *fs), path, fs)
WRAP(int, -1, ENOMEM, statfs64, (const char *path, struct statfs64 *fs), path, fs)
WRAP(int, -1, ENOMEM, access, (const char *path, int mode), path, mode)
WRAP(int, -1, ENOMEM, mount,
     (const char *from, const char *to, const char *type, unsigned long f, const void *data), from,
     to, type, f, data)
WRAP(int, -1, EIO, fsync, (int fd), fd)
WRAP(int, -1, ENOSPC, ftruncate, (int fd, off_t size), fd, size)

static void tell_leak(int fd)
{
	char path[64], target[256] = "", line[400];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (readlink(path, target, sizeof(target) - 1) < 0)
		return;
	snprintf(line, sizeof(line), "left open: %d %s\n", fd, target);
	raw_write(STDERR_FILENO, line);
}

/* Calls `each` with every open descriptor. */
static void for_each_fd(void (*each)(int fd))
{
	struct dirent *entry;
	DIR *dir;

	armed = false;
	dir = opendir("/proc/self/fd");
	while (dir && (entry = readdir(dir))) {
		int fd = atoi(entry->d_name);

		if (entry->d_name[0] != '.' && fd != dirfd(dir) && fd < MAX_FDS)
			each(fd);
	}
	if (dir)
		closedir(dir);
}

static void note(int fd)
{
	inherited[fd] = true;
}

static bool leaked;

static void check(int fd)
{
	if (inherited[fd])
		return;
	tell_leak(fd);
	leaked = true;
}

static void look_for_leaks(void)
{
	for_each_fd(check);
	if (leaked)
		_exit(LEAKED);
}

__attribute__((constructor)) static void arm(void)
{
	const char *number = getenv("FAULT");

	fault_at = number ? atol(number) : 0;
	for_each_fd(note);
	atexit(look_for_leaks);
	armed = true;
}
