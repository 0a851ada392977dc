"""What follows from published figures by the sources' own formulas."""

from __future__ import annotations

from tuning.published.loader import publications


def path_lengths() -> dict[str, dict[int, float | None]]:
    """Device -> connections -> cycles of the whole server host per New-Order.

    By the formula of the whitepaper's section 4.4 from its Tables 1, 2 and 10; Figures 16 and 17
    print no figures. The driver ran on another host.
    """
    found = publications()
    hz = found.quad_socket.cpu_hz * found.quad_socket.logical_cpus
    throughput = found.tables["throughput_by_connections"].by_device("tpmP")
    busy = found.tables["cpu_by_connections"].by_device("cpu_user_sys_pct")
    return {
        device: {
            connections: _cycles(tpm, busy[device][connections], hz)
            for connections, tpm in line.items()
        }
        for device, line in throughput.items()
    }


def _cycles(tpm: float | None, busy_pct: float | None, hz: float) -> float | None:
    if tpm is None or busy_pct is None:
        return None
    return hz * busy_pct / 100 / (tpm / 60)
