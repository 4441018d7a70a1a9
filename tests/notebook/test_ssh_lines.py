"""The lines that lead from a laptop to a server: short for people, strict for the tunnel that is kept."""

from __future__ import annotations

import shlex

import pytest

from conda_llmenv.notebook.ssh_lines import Route, laptop_line, local_port_failure, route_here, tunnel_argv

JOB = {"SLURM_JOB_ID": "7", "SLURM_SUBMIT_HOST": "login1", "SSH_CONNECTION": "10.0.0.9 51514 10.0.0.1 2222"}


def line(route: Route) -> str:
    return laptop_line(route, 8888, 8888)


def test_a_host_that_the_laptop_reaches_directly() -> None:
    assert line(route_here({}, "gpu01", "ada")) == "ssh -N -L 8888:127.0.0.1:8888 ada@gpu01"


def test_the_port_of_the_persons_own_connection_is_used() -> None:
    """A container's sshd is rarely at port 22."""
    environ = {"SSH_CONNECTION": "10.0.0.9 51514 10.0.0.1 2222"}
    assert line(route_here(environ, "gpu01", "ada")) == "ssh -N -p 2222 -L 8888:127.0.0.1:8888 ada@gpu01"
    assert line(route_here(environ, "gpu01", "ada", host="gpu")) == "ssh -N -L 8888:127.0.0.1:8888 ada@gpu"


def test_a_compute_node_is_reached_through_where_its_job_came_from() -> None:
    """Slurm's variables say it; the connection that sshd noted is the login node's own."""
    route = route_here(JOB, "gpu01.cluster", "ada")
    assert line(route) == "ssh -N -J ada@login1 -L 8888:127.0.0.1:8888 ada@gpu01.cluster"
    assert "give it with --via" in route.notes[0]


def test_a_job_on_the_login_node_itself_needs_no_jump() -> None:
    assert line(route_here(JOB, "login1.cluster", "ada")) == "ssh -N -L 8888:127.0.0.1:8888 ada@login1.cluster"


def test_what_a_person_says_wins() -> None:
    route = route_here(JOB, "gpu01", "ada", host="lovelace@gpu", via=("ada@front:2222", "login"))
    assert line(route) == "ssh -N -J ada@front:2222,login -L 8888:127.0.0.1:8888 lovelace@gpu"
    assert route.notes == ()


@pytest.mark.parametrize("value", ["", "1 2 3", "a b c d", "1 2 3 4 5", "1 2 3 -1"])
def test_a_broken_variable_is_passed_over(value: str) -> None:
    assert line(route_here({"SSH_CONNECTION": value}, "gpu01", "ada")) == "ssh -N -L 8888:127.0.0.1:8888 ada@gpu01"


def test_a_name_from_a_variable_cannot_run_anything_when_pasted() -> None:
    environ = {"SLURM_JOB_ID": "7", "SLURM_SUBMIT_HOST": "x;touch y"}
    assert shlex.split(line(route_here(environ, "gpu01", "ada")))[3] == "ada@x;touch y"


def test_the_kept_tunnel_checks_host_keys_and_is_open_here_alone() -> None:
    argv = tunnel_argv(Route("ada@gpu01", ("login",)), 8890, 8888, ask=False)
    assert argv[0] == "ssh"
    assert "127.0.0.1:8890:127.0.0.1:8888" in argv
    assert argv[-2:] == ["--", "ada@gpu01"]
    assert {"ExitOnForwardFailure=yes", "BatchMode=yes", "ControlPath=none"} <= set(argv)
    assert not [word for word in argv if "StrictHostKeyChecking" in word or "UserKnownHostsFile" in word]


def test_somebody_at_a_terminal_may_be_asked() -> None:
    assert "BatchMode=no" in tunnel_argv(Route("gpu01"), 8888, 8888, ask=True)


@pytest.mark.parametrize(
    "told",
    ["bind [127.0.0.1]:8888: Address already in use", "channel_setup_fwd_listener_tcpip: cannot listen to port: 8888"],
)
def test_a_local_port_that_is_taken_is_told(told: str) -> None:
    failure = local_port_failure(["Warning: something else", told])
    assert failure is not None
    assert "--local-port" in failure.hint


def test_another_failure_is_none_of_the_local_port() -> None:
    assert local_port_failure(["channel 2: open failed: connect failed: Connection refused"]) is None
