from __future__ import annotations

import os

from django.conf import settings
from django.core.wsgi import get_wsgi_application

from advisor.processes.bodies import timed_bodies

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "advisor.settings")
if settings.DATABASES["default"]["ENGINE"] == "django.db.backends.postgresql":
    # Each client has a greenlet of its own, but not a connection to the database.
    settings.DATABASES["default"]["CONN_MAX_AGE"] = 0
    settings.DATABASES["default"]["OPTIONS"]["pool"] = settings.POSTGRES_POOL
elif settings.DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    # A third of what a short answer costs is to open a connection for it.
    settings.DATABASES["default"]["ENGINE"] = "advisor.processes.kept_sqlite"
application = timed_bodies(get_wsgi_application())
