from __future__ import annotations

import os

from django.core.wsgi import get_wsgi_application

from advisor.processes.bodies import timed_bodies

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "advisor.settings")
application = timed_bodies(get_wsgi_application())
