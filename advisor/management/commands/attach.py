"""`manage.py attach`: reads a real server, and stores what it says as a profile."""

from __future__ import annotations

import os
import stat
import sys
from configparser import ConfigParser
from configparser import Error as NotAnOptionFile
from getpass import getpass
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from rich.console import Console

from advisor.management.command import AdvisorCommand
from advisor.management.request_options import (
    absolute_path,
    add_request_options,
    given,
    script_output,
)
from advisor.processes.database import prepare_database
from advisor.terminal.tables import print_comparison, print_profile
from benchmarks.errors import ExpectedError
from tuning.errors import InvalidRequest
from tuning.requests.configs import ProfileRequest
from tuning.requests.fields import read_request
from tuning.server_profile.attach import Place, attach, check_host
from tuning.server_profile.reading import script
from tuning.studies.server_profiles import compare_stored, create_profile, keep_profile

_MIN_S, _USUAL_S, _MAX_S = 5, 60, 3600


class Command(AdvisorCommand):
    help = (
        "Read a real server twice through a read-only account and store its profile. Nothing is "
        "changed there. The connection is made from this machine. Exits with 1 if the server "
        "cannot be read, and with 2 if an option makes no sense."
    )
    senseless_status = 2
    requests = (ProfileRequest,)
    needs_tables = False

    def add_arguments(self, parser: CommandParser) -> None:
        what = parser.add_mutually_exclusive_group(required=True)
        what.add_argument("--host", metavar="HOST", help="a host name or address; TLS is required")
        what.add_argument("--socket", type=absolute_path, metavar="FILE", help="a Unix socket")
        what.add_argument(
            "--read", type=script_output, metavar="FILE", help="output of the script; - is stdin"
        )
        what.add_argument(
            "--compare",
            nargs=2,
            type=int,
            metavar=("BEFORE", "AFTER"),
            help="compare two stored profiles by their ids",
        )
        what.add_argument("--script", action="store_true", help="print the SQL script")
        parser.add_argument("--port", type=int, default=3306)
        parser.add_argument("--user", metavar="USER", help="default: of --defaults-file")
        parser.add_argument(
            "--defaults-file",
            type=absolute_path,
            metavar="FILE",
            help="take user and password from [client] of this file, whose mode is 0600",
        )
        parser.add_argument(
            "--password-stdin",
            action="store_true",
            help="read the password from stdin instead of asking on the terminal",
        )
        parser.add_argument(
            "--ssl-ca",
            type=absolute_path,
            metavar="FILE",
            help="authority of the server's certificate (default: those of this system)",
        )
        parser.add_argument(
            "--no-name-check",
            action="store_true",
            help="accept a certificate of that authority that does not name the host",
        )
        parser.add_argument(
            "--seconds",
            type=int,
            default=_USUAL_S,
            metavar="S",
            help=f"time between the readings, {_MIN_S} to {_MAX_S} (default: {_USUAL_S})",
        )
        add_request_options(parser, ProfileRequest)
        parser.add_argument("--json", action="store_true", help="as in the API")

    def run(self, options: dict[str, Any]) -> None:
        if options["script"]:
            self.stdout.write(script(options["seconds"]), ending="")
            return
        if options["compare"] is not None:
            prepare_database()
            print_comparison(compare_stored(*options["compare"]), Console())
            return
        row = self._profile(options)
        if options["json"]:
            from advisor.api.profiles import ProfileDetail

            self.write_json(ProfileDetail.from_orm(row).model_dump(mode="json"))
        else:
            print_profile(row, Console())

    def reason(self, error: ExpectedError) -> str:
        """Return the reasons, each with its option."""
        faults = error.faults if isinstance(error, InvalidRequest) else ()
        own = [(path, reason) for path, reason in faults if path not in ("name", "memory")]
        if not own:
            return super().reason(error)
        options = {"text": "read", "ssl_ca": "ssl-ca", "defaults_file": "defaults-file"}
        return "; ".join(f"--{options.get(path, path)}: {reason}" for path, reason in own)

    def _profile(self, options: dict[str, Any]) -> Any:
        asked = given(ProfileRequest, options)
        if options["read"] is not None:
            prepare_database()
            return create_profile(read_request(ProfileRequest, asked | {"text": options["read"]}))
        request = read_request(ProfileRequest, asked | {"text": "read from the server"})
        if not _MIN_S <= options["seconds"] <= _MAX_S:
            raise InvalidRequest([("seconds", f"must be {_MIN_S} to {_MAX_S}")])
        place = _place(options)
        prepare_database()
        profile = attach(
            place,
            options["seconds"],
            memory_bytes=request.memory,
            hides_names=request.hides_names,
        )
        return keep_profile(profile, name=request.name)


def _place(options: dict[str, Any]) -> Place:
    """Return where to ask and as whom; the password is asked for last."""
    if options["socket"] is None:
        check_host(options["host"])
        if not 1 <= options["port"] <= 65535:
            raise InvalidRequest([("port", "must be 1 to 65535")])
    login: dict[str, str] = {}
    if options["defaults_file"] is not None:
        login = read_login(options["defaults_file"])
    user = options["user"] or login.get("user", "")
    if not user:
        raise InvalidRequest([("user", "is required, here or in the defaults file")])
    if options["password_stdin"]:
        password = sys.stdin.readline().rstrip("\r\n")
    elif "password" in login:
        password = login["password"]
    else:
        password = getpass(f"Password of {user}: ")
    return Place(
        user=user,
        password=password,
        host=options["host"] or "",
        port=options["port"],
        socket=options["socket"],
        ca=options["ssl_ca"],
        checks_name=not options["no_name_check"],
    )


def read_login(path: Path) -> dict[str, str]:
    """Return user and password of an option file's [client].

    Only its owner may read the file, as that is how the password stays with its owner.
    Raises InvalidRequest about `defaults_file`.
    """
    try:
        with path.open() as file:
            mode = os.fstat(file.fileno())
            if mode.st_uid != os.geteuid() or stat.S_IMODE(mode.st_mode) & 0o077:
                raise _bad_file("others may read it: it must be yours, with the mode 0600")
            parser = ConfigParser(interpolation=None, allow_no_value=True, strict=False)
            parser.read_file(file)
    except OSError as error:
        raise _bad_file(f"{error.strerror}") from None
    except (NotAnOptionFile, UnicodeDecodeError):
        raise _bad_file("is not an option file") from None
    section = parser["client"] if parser.has_section("client") else {}
    return {
        name: (section.get(name) or "").strip("\"'")
        for name in ("user", "password")
        if section.get(name)
    }


def _bad_file(reason: str) -> InvalidRequest:
    return InvalidRequest([("defaults_file", reason)])
