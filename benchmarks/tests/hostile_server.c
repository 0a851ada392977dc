/*
 * A measured server that has turned against the worker: beside the real server, whose part it
 * plays, it fills every directory that it can write with links to a file that only root may read,
 * links to a directory of root's, pipes, huge and deep things, the deepest among the data. It goes
 * on after the real server has ended.
 *
 * Beside the program lie `real` (a link to the server to be played), `secret` and `precious` (what the links
 * lead to), and `plan`: "play" does nothing, "beside" plants from the start of the real
 * server on, "running" from its first message on, "die" plants and exits. When the server is to be
 * "running", what it ends for if it cannot open it is left until it has: its log and its PID file.
 * A file `stop` ends what goes on.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char home[PATH_MAX / 2], secret[PATH_MAX], precious[PATH_MAX];
static char places[16][PATH_MAX], error_log[PATH_MAX], pid_file[PATH_MAX];
static char data[PATH_MAX], plan[16];
static int count;

static void in_home(char *path, const char *name)
{
    snprintf(path, PATH_MAX, "%s/%s", home, name);
}

static void add(const char *path, int parent)
{
    if (count < 16) {
        snprintf(places[count], PATH_MAX, "%s", path);
        char *slash = strrchr(places[count], '/');
        if (parent && slash)
            *slash = 0;
        count++;
    }
}

static void replace(const char *place, const char *name, const char *target)
{
    char path[PATH_MAX], old[PATH_MAX];
    struct stat found;
    snprintf(path, sizeof path, "%s/%s", place, name);
    snprintf(old, sizeof old, "%s/.old-%s", place, name);
    int is_there = lstat(path, &found) == 0;
    if (is_there && S_ISLNK(found.st_mode))
        return;
    if (!is_there && !strcmp(plan, "running") && !strcmp(path, pid_file))
        return;
    rename(path, old);
    if (symlink(target, path) != 0)
        rename(old, path);
}

static void plant(const char *place, int depth)
{
    static const char *const links[] = {
        "error.log", "console.log", "my.cnf", "init.sql", "mysqld.pid", "ib_buffer_pool", "x.err",
        "binlog.000009", "evil.ibd", "records.99", "control", "core", "ready.json",
    };
    char path[PATH_MAX];
    for (size_t i = 0; i < sizeof links / sizeof *links; i++)
        replace(place, links[i], secret);
    replace(place, "folder", precious);
    snprintf(path, sizeof path, "%s/hard", place);
    if (link(secret, path) != 0)
        symlink(secret, path);
    snprintf(path, sizeof path, "%s/pipe", place);
    mkfifo(path, 0600);
    snprintf(path, sizeof path, "%s/huge", place);
    int file = open(path, O_CREAT | O_WRONLY | O_NOFOLLOW, 0600);
    if (file >= 0) {
        if (ftruncate(file, 1LL << 40)) {}
        close(file);
    }
    snprintf(path, sizeof path, "%s/deep", place);
    if (mkdir(path, 0700) == 0) {
        int here = open(path, O_RDONLY | O_DIRECTORY);
        for (int i = 0; i < depth && here >= 0; i++) {
            mkdirat(here, "d", 0700);
            int below = openat(here, "d", O_RDONLY | O_DIRECTORY);
            if (i % 100 == 0)
                symlinkat(precious, here, "folder");
            close(here);
            here = below;
        }
        close(here);
    }
}

static void plant_all(void)
{
    for (int i = 0; i < count; i++) {
        plant(places[i], strcmp(places[i], data) ? 20 : 1200);
        char inner[PATH_MAX];
        /* What the worker makes later, such as the driver's folder. */
        DIR *folder = opendir(places[i]);
        struct dirent *entry;
        while (folder && (entry = readdir(folder)))
            if (entry->d_type == DT_DIR && strncmp(entry->d_name, "driver-", 7) == 0) {
                snprintf(inner, sizeof inner, "%s/%s", places[i], entry->d_name);
                plant(inner, 20);
            }
        if (folder)
            closedir(folder);
    }
}

static void read_config(const char *name)
{
    char line[4096 + PATH_MAX], driver[PATH_MAX];
    FILE *file = fopen(name, "r");
    add(name, 1);
    snprintf(driver, sizeof driver, "%s/driver", places[0]);
    add(driver, 0);
    while (file && fgets(line, sizeof line, file)) {
        char *equals = strstr(line, " = ");
        if (!equals || equals[3] != '/')
            continue;
        *equals = 0;
        line[strlen(line) + 1 + 2 + strcspn(equals + 3, "\n")] = 0;
        if (!strcmp(line, "datadir") || !strcmp(line, "tmpdir")
            || !strcmp(line, "innodb_log_group_home_dir"))
            add(equals + 3, 0);
        else if (!strcmp(line, "socket") || !strcmp(line, "log_error"))
            add(equals + 3, 1);
        if (!strcmp(line, "datadir"))
            snprintf(data, sizeof data, "%s", equals + 3);
        if (!strcmp(line, "log_error"))
            snprintf(error_log, sizeof error_log, "%s", equals + 3);
        if (!strcmp(line, "pid_file"))
            snprintf(pid_file, sizeof pid_file, "%s", equals + 3);
    }
    if (file)
        fclose(file);
}

int main(int argc, char **argv)
{
    char path[PATH_MAX], real[PATH_MAX], stop[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", home, sizeof home - 1);
    home[length > 0 ? length : 0] = 0;
    *strrchr(home, '/') = 0;
    in_home(real, "real");
    in_home(secret, "secret");
    in_home(precious, "precious");
    in_home(stop, "stop");
    in_home(path, "plan");
    FILE *file = fopen(path, "r");
    if (!file || fscanf(file, "%15s", plan) != 1)
        return 2;
    fclose(file);
    for (int i = 1; i < argc; i++)
        if (!strncmp(argv[i], "--defaults-file=", 16))
            read_config(argv[i] + 16);
    if (count && !strcmp(plan, "die")) {
        plant_all();
        fputs("[ERROR] I planted links\n", stderr);
        return 1;
    }
    if (count && (!strcmp(plan, "beside") || !strcmp(plan, "running")) && fork() == 0) {
        struct stat found;
        setsid();
        for (int i = 0; i < argc; i++) /* by which it would be found */
            memset(argv[i], 'x', strlen(argv[i]));
        for (int i = 3; i < 256; i++)
            close(i);
        if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr))
            return 2;
        if (!strcmp(plan, "running"))
            while (access(stop, F_OK) != 0
                   && (stat(error_log, &found) != 0 || found.st_size == 0))
                usleep(5000);
        while (access(stop, F_OK) != 0 && access(real, F_OK) == 0) {
            plant_all();
            usleep(20000);
        }
        return 0;
    }
    length = readlink(real, path, sizeof path - 1);
    path[length > 0 ? length : 0] = 0;
    argv[0] = path;
    execv(path, argv);
    return 2;
}
