"""The settings; whatever differs between installations comes from the environment.

`advisor/environment.py` has the variables.
"""

from __future__ import annotations

import sys
from datetime import timedelta
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

from django.core.exceptions import ImproperlyConfigured

from advisor.env import database
from advisor.environment import read
from advisor.home import kept_secret, private_dir, socket_path
from advisor.version import version

BASE_DIR = Path(__file__).resolve().parent.parent

# Everything made at run time: database, sockets, logs, installed servers. `make setup` may make
# `var` a symbolic link, because mysqld's unprivileged user must be able to reach it.
HOME: Path = read("ADVISOR_HOME")
INSTALLED_SERVERS_DIR = HOME / "servers"
# For this user only: the database, the secret key, sockets and logs.
PRIVATE_DIR = private_dir(HOME / "private")
RUN_DIR = private_dir(HOME / "run")
LOG_DIR = private_dir(HOME / "logs")

DEBUG = read("ADVISOR_DEBUG")
SECRET_KEY = read("ADVISOR_SECRET_KEY") or kept_secret(PRIVATE_DIR / "secret-key")
BIND_ADDRESS = read("ADVISOR_BIND")
PORT = read("ADVISOR_PORT")
ALLOWED_HOSTS = read("ADVISOR_ALLOWED_HOSTS")
# Whom to believe about the scheme, host and address of requests that they forward.
PROXIES = read("ADVISOR_PROXY")
CSRF_TRUSTED_ORIGINS = read("ADVISOR_TRUSTED_ORIGINS")
# Who is notified of ended studies and gates, and the key that signs the messages.
NOTIFY_URLS = read("ADVISOR_NOTIFY_URL")
NOTIFY_KEY = read("ADVISOR_NOTIFY_KEY")
if NOTIFY_URLS and not NOTIFY_KEY:
    raise ImproperlyConfigured("ADVISOR_NOTIFY_URL needs ADVISOR_NOTIFY_KEY, which signs messages")

# --- measuring -------------------------------------------------------------------------------
HOST_NAME = read("ADVISOR_HOST_NAME")
# The default device is the disk below the advisor's home.
DEFAULT_DEVICE = read("ADVISOR_DEVICE") or HOME / "device"
# Programs and directories that the host does not find by itself.
LISTED_SERVERS = read("ADVISOR_SERVERS")
LISTED_DEVICES = read("ADVISOR_DEVICES")
CODE_VERSION = version()
# Whoever measures holds a lock on this file. By default it is one of the kernel's own, which all
# containers of a machine see, so that two of them never measure at once.
MEASURING_LOCK = read("ADVISOR_MEASURING_LOCK")
HEARTBEAT_SECONDS = 1.0
# A run whose worker has been silent for this long is lost.
LOST_AFTER_SECONDS = 20
SWEEP_SECONDS = 3.0
# Studies of a host that was silent for so long end; 0: they wait.
HOST_GONE_HOURS = read("ADVISOR_HOST_GONE_HOURS")
LOST_RUN_RETRIES = 1
# Whether `serve` starts a study where there is none yet.
FIRST_STUDY = read("ADVISOR_FIRST_STUDY")
# The first time that a run finds the disk full, its study waits for somebody to make room.
DISK_FULL_RUN_RETRIES = 1
# After so many days without use a golden dataset goes, and the series of an ended run; 0: never.
DATASET_DAYS = read("ADVISOR_DATASET_DAYS")
SERIES_DAYS = read("ADVISOR_SERIES_DAYS")
# Checked here, read where it is kept (benchmarks.storage.reserve): left free on each file system.
DISK_RESERVE = read("ADVISOR_DISK_RESERVE")
DISTURBED_RUN_RETRIES = read("ADVISOR_DISTURBED_RETRIES")
# Limits for other programs on this host, above which a run is void; 0 switches a check off.
STEAL_LIMIT_PCT = read("ADVISOR_STEAL_LIMIT_PCT")
FOREIGN_CPU_LIMIT_PCT = read("ADVISOR_FOREIGN_CPU_LIMIT_PCT")
FOREIGN_IO_LIMIT_PCT = read("ADVISOR_FOREIGN_IO_LIMIT_PCT")
STALL_LIMIT_PCT = read("ADVISOR_STALL_LIMIT_PCT")
SWAP_LIMIT_MB_S = read("ADVISOR_SWAP_LIMIT_MB_S")
# A server of this host that a load host drives: the address and port on which it is offered
# (port 0: any that is free), and whether the driver must use TLS.
LOAD_ADDRESS = read("ADVISOR_LOAD_ADDRESS")
LOAD_PORT = read("ADVISOR_LOAD_PORT")
LOAD_TLS = read("ADVISOR_LOAD_TLS")
# This host as a load host: the address that measured hosts see it come from, "" to look it up.
LOAD_CLIENT_ADDRESS = read("ADVISOR_LOAD_CLIENT_ADDRESS")
LOAD_PROCESSES = read("ADVISOR_LOAD_PROCESSES")
LOAD_CPU_LIMIT_PCT = read("ADVISOR_LOAD_CPU_LIMIT_PCT")

# --- Django ----------------------------------------------------------------------------------
INSTALLED_APPS = [
    "advisor",
    "advisor.access",
    "tuning",
    "benchmarks",
    "advisor.access.apps.AccountsAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "django_htmx",
    "ninja",
    "axes",
]
MIDDLEWARE = [
    "advisor.access.proxies.ProxyMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "csp.middleware.CSPMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "advisor.processes.versions.VersionGuard",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "advisor.access.middleware.LogInFirst",
    "advisor.access.middleware.AccessMiddleware",
    # It reads forms, so it stands after the middleware that refuses a request by its head.
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "axes.middleware.AxesMiddleware",
]
ROOT_URLCONF = "advisor.urls"
WSGI_APPLICATION = "advisor.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "advisor.processes.versions.warning",
                "advisor.pages.hosts.fields.several_hosts",
            ],
            "builtins": ["advisor.templatetags.actions"],
        },
    }
]

DATABASES: dict[str, dict[str, Any]] = {
    "default": read("DATABASE_URL") or database(f"sqlite:///{PRIVATE_DIR / 'db.sqlite3'}")
}
# DATABASE_URL goes first. A connection is kept for the next request of its thread.
DATABASES["default"] = {
    "CONN_MAX_AGE": 600,
    "CONN_HEALTH_CHECKS": True,
    **DATABASES["default"],
}
if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    # The web process reads while the worker writes: WAL, and writers queue instead of failing.
    DATABASES["default"]["OPTIONS"] = {
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
        "transaction_mode": "IMMEDIATE",
        "timeout": 30,
    }
else:
    # A cable may be pulled: neither side waits for the other for the hours that TCP allows, nor
    # does the server hold a vanished host's locks. No query takes long enough for compiling it to
    # pay.
    DATABASES["default"]["OPTIONS"] = {
        "connect_timeout": 5,
        "tcp_user_timeout": 10_000,
        "keepalives_idle": 5,
        "keepalives_interval": 2,
        "keepalives_count": 3,
        "options": (
            "-c tcp_user_timeout=10000 -c tcp_keepalives_idle=5 -c tcp_keepalives_interval=2 "
            "-c tcp_keepalives_count=3 -c idle_in_transaction_session_timeout=60000 -c jit=off"
        ),
        **DATABASES["default"].get("OPTIONS", {}),
    }
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
] + [{"NAME": "advisor.access.passwords.EndsTokens"}]
PASSWORD_HASHERS = ["advisor.access.stock.Argon2PasswordHasher"]
# A study's form with its largest number of largest my.cnf files pasted into it.
DATA_UPLOAD_MAX_MEMORY_SIZE = 8 * 1024 * 1024

AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "django.contrib.auth.backends.ModelBackend",
]
# Wrong passwords count for one account from one address: strangers lock nobody out.
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_FAILURE_LIMIT = 5
AXES_COOLOFF_TIME = timedelta(minutes=5)
AXES_RESET_ON_SUCCESS = True
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False
AXES_DISABLE_ACCESS_LOG = True
AXES_ENABLE_ADMIN = False
AXES_VERBOSE = False  # else each command says that it has begun
AXES_CLIENT_IP_CALLABLE = "advisor.access.proxies.network_of"
AXES_LOCKOUT_TEMPLATE = "429.html"

SESSION_ENGINE = "advisor.access.stock"
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "login"

# There is one language. With I18N Django would ask for it at each number of a page.
USE_I18N = False
TIME_ZONE = read("ADVISOR_TIME_ZONE")
STATIC_URL = "static/"
STATIC_ROOT = HOME / "static"
STATIC_ROOT.mkdir(exist_ok=True)  # WhiteNoise warns where it is missing
STATICFILES_FINDERS = [
    "django.contrib.staticfiles.finders.FileSystemFinder",
    "django.contrib.staticfiles.finders.AppDirectoriesFinder",
]
# plotly.js comes with plotly. Its Python code takes long to import, so it is not imported here.
STATICFILES_DIRS = [("plotly", str(distribution("plotly").locate_file("plotly/package_data")))]
# Files are found in the packages that ship them; no collectstatic step on one host.
WHITENOISE_USE_FINDERS = True

SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE_SSL_REDIRECT = read("ADVISOR_HTTPS")
SECURE_HSTS_SECONDS = 365 * 24 * 3600 if SECURE_SSL_REDIRECT else 0
# A supervisor on the host itself asks without a proxy.
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$"]
SECURE_HSTS_INCLUDE_SUBDOMAINS = True
# The list that browsers ship with is for names that the world knows; to be on it is the
# decision of who owns the name.
SILENCED_SYSTEM_CHECKS = ["security.W021"]
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'self'"],
        "script-src": ["'self'"],
        # plotly.js writes <style> elements and style attributes of its own.
        "style-src": ["'self'", "'unsafe-inline'"],
        "img-src": ["'self'", "data:", "blob:"],
        "object-src": ["'none'"],
        "base-uri": ["'none'"],
        "form-action": ["'self'"],
        "frame-ancestors": ["'none'"],
    }
}

# --- Celery: see docs/architecture.md, "Jobs" ---------------------------------------------------
REDIS_SOCKET = socket_path(RUN_DIR, "redis.sock")
REDIS_URL_IS_OURS = not read("REDIS_URL")
CELERY_BROKER_URL = read("REDIS_URL") or f"redis+socket://{REDIS_SOCKET}"
# The tasks close what is old themselves, as each request of the web server does.
CELERY_DB_REUSE_MAX = sys.maxsize
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = False
CELERY_TASK_REJECT_ON_WORKER_LOST = False
# A worker takes a message when its process is free. It must not count messages that were not
# acknowledged (0: no limit): a killed process leaves one behind, and the next would wait for ever.
CELERY_WORKER_DISABLE_PREFETCH = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 0
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_WORKER_CANCEL_LONG_RUNNING_TASKS_ON_CONNECTION_LOSS = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
CELERY_BROKER_TRANSPORT_OPTIONS = {
    # A message that cannot be sent is given up at once: the sweep sends it again. Without this
    # kombu keeps a request of the web server for six seconds. Workers connect again by themselves.
    "max_retries": 0,
    "socket_connect_timeout": 3,
    "socket_timeout": 10,
    "priority_steps": [0],
    # Redis is told of no acknowledgement, so that none can be lost: the rows say what to do.
    "ack_emulation": False,
}
# Nobody controls a worker through Redis: it only hears of rows. All its keys begin with the name
# of its queue: its Redis user needs no others (docs/how-to/connections.md).
CELERY_WORKER_ENABLE_REMOTE_CONTROL = False
# The row is the truth and lost messages are sent again: a publisher never waits for Redis.
CELERY_TASK_PUBLISH_RETRY = False

LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"plain": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "plain"}},
    "loggers": {"axes": {"level": "WARNING"}},  # else four lines for each log-in
    "root": {"handlers": ["console"], "level": read("ADVISOR_LOG_LEVEL")},
}
