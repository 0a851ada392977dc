# Shared by the scripts in this directory. Sourced, not run.
# shellcheck shell=bash
set -Eeuo pipefail
# A command that was not expected to fail never ends a script without a word.
trap 'printf "error: %s stopped at line %s\n" "$0" "$LINENO" >&2' ERR

# shellcheck disable=SC2034  # used by those who source this
repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
# Everything made at run time, as advisor/settings.py has it.
# shellcheck disable=SC2034
home=${ADVISOR_HOME:-$repository/var}
# On Debian an ordinary user's PATH lacks the directories that servers are installed in.
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin

say() { printf '%s\n' "$*"; }
warn() { printf 'warning: %s\n' "$*" >&2; }
die() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

am_root() { [ "$(id -u)" -eq 0 ]; }

# as_root COMMAND...: the only place that asks for more rights than the user has.
as_root() {
    if am_root; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        die "this needs root and there is no sudo; as root, run: $*"
    fi
}

# distribution_family: debian, ubuntu or other. os_field NAME: one field of os-release.
os_field() (
    # shellcheck disable=SC1090
    . "${OS_RELEASE:-/etc/os-release}" 2>/dev/null || exit 0
    printf '%s' "${!1:-}"
)
distribution_family() {
    local word
    command -v apt-get >/dev/null || {
        say other
        return
    }
    for word in $(os_field ID) $(os_field ID_LIKE); do
        case $word in
            ubuntu | debian)
                say "$word"
                return
                ;;
        esac
    done
    say other
}
# The name under which the distribution's archive knows this release; derivatives of Ubuntu
# keep Ubuntu's name in a field of its own.
release_codename() {
    local name
    name=$(os_field UBUNTU_CODENAME)
    [ -n "$name" ] || name=$(os_field VERSION_CODENAME)
    printf '%s\n' "${name:-stable}"
}

# answers PROGRAM: whether it is a mysqld or mariadbd that runs here.
answers() {
    [ -x "$1" ] && timeout 30 "$1" --no-defaults --version 2>/dev/null | grep -qiE 'mysql|mariadb|percona'
}
