"""What happens to kernelspecs when environments come, change and go, with a machine of structs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from conda_llmenv.errors import InputError, LlmenvError
from conda_llmenv.model.kernels import Inside, Kernelspec, Place, Registration
from conda_llmenv.pipeline.kernel_names import default_display_name, default_name
from conda_llmenv.pipeline.kernel_repair import Step, plan_repairs
from conda_llmenv.pipeline.kernel_tools import Identity, KernelTools
from conda_llmenv.pipeline.kernels import AddRequest, add, forget, keep_up

KERNELS = Path("/home/me/.local/share/jupyter/kernels")
SFT = Path("/envs/sft")
INSIDE = Inside("3.12.1", "2.9.0+cu128", "12.8", "7.1.0", conda=True, digest="d1")


@dataclass
class Machine:
    """Kernelspecs by folder, and environments with what is inside."""

    specs: dict[Path, Kernelspec] = field(default_factory=dict)
    inside: dict[Path, Inside] = field(default_factory=dict)
    tiers: dict[Path, str] = field(default_factory=dict)
    stuck: bool = False

    def tools(self) -> KernelTools:
        """Return the ports."""
        return KernelTools(
            places=(Place(KERNELS, "user"),),
            environments=lambda: tuple(sorted(self.inside)),
            inside_places=lambda prefixes: (),
            read=self._read,
            look=lambda prefix: self.inside.get(prefix, Inside("")),
            runs=lambda program: True,
            identity=lambda prefix: Identity(self.tiers.get(prefix)),
            register=self._register,
            remove=self._remove,
        )

    def _read(self, places: Iterable[Place]) -> tuple[Kernelspec, ...]:
        folders = {place.path for place in places}
        return tuple(spec for folder, spec in sorted(self.specs.items()) if folder.parent in folders)

    def _register(self, asked: Registration) -> Kernelspec:
        if self.stuck:
            raise LlmenvError("the disk is full")
        folder = asked.kernels / asked.name
        argv = (f"{asked.prefix}/bin/python", str(folder / "launch.py"))
        self.specs[folder] = Kernelspec(
            asked.name, folder, "user", asked.display_name, argv, "python", {}, dict(asked.metadata)
        )
        return self.specs[folder]

    def _remove(self, spec: Kernelspec) -> None:
        if self.stuck:
            raise LlmenvError("it is read-only")
        del self.specs[spec.folder]


@pytest.fixture
def machine() -> Machine:
    """One environment, and no kernelspec."""
    return Machine(inside={SFT: INSIDE}, tiers={SFT: "a100"})


def test_the_title_says_what_is_inside(machine: Machine) -> None:
    """Project, torch, CUDA and tier; what does not apply is left out."""
    spec = add(AddRequest(SFT, KERNELS), machine.tools())
    assert (spec.name, spec.display_name) == ("sft", "sft (torch 2.9, CUDA 12.8, a100)")
    assert default_display_name(SFT, Inside("3.12.1", "2.9.0"), Identity("cpu")) == "sft (torch 2.9, cpu)"
    assert default_display_name(SFT, Inside("3.12.1"), Identity()) == "sft (Python 3.12)"


@pytest.mark.parametrize(
    ("prefix", "name"),
    [
        ("/envs/My Env", "my-env"),
        ("/work/Project_X/.venv", "project_x"),
        ("/work/llm/envs/default", "llm"),
        ("/envs/-_x..y", "x.y"),
        ("/envs/" + "a" * 100, "a" * 64),
        ("/envs/modèle", "mod-le"),
    ],
)
def test_the_name_is_made_from_the_folder(prefix: str, name: str) -> None:
    """In lower case, with what a kernel's name may have, and from the project where the folder says nothing."""
    assert default_name(Path(prefix)) == name


@pytest.mark.parametrize("prefix", ["/envs/模型", "/envs/---", "/"])
def test_no_name_can_be_made_of_some(prefix: str) -> None:
    """Then one has to be given."""
    with pytest.raises(InputError, match="no kernel name"):
        default_name(Path(prefix))


def test_a_replaced_environment_keeps_its_kernels(machine: Machine) -> None:
    """Under the names and titles that somebody gave them, with what is inside now; no further one comes."""
    add(AddRequest(SFT, KERNELS, "one", "My title"), machine.tools())
    add(AddRequest(SFT, KERNELS, "two"), machine.tools())
    machine.inside[SFT] = Inside("3.12.1", "2.10.0", "13.0", "7.1.0", conda=True, digest="d2")
    kept, notices = keep_up(SFT, KERNELS, machine.tools())
    assert [(spec.name, spec.display_name) for spec in kept] == [
        ("one", "My title"),
        ("two", "sft (torch 2.10, CUDA 13.0, a100)"),
    ]
    assert notices == ()
    assert {spec.metadata["llmenv"]["digest"] for spec in machine.specs.values()} == {"d2"}


def test_one_without_ipykernel_loses_them(machine: Machine) -> None:
    """What could not start is not offered."""
    add(AddRequest(SFT, KERNELS), machine.tools())
    machine.inside[SFT] = Inside("3.12.1", digest="d2")
    assert keep_up(SFT, KERNELS, machine.tools()) == ((), ())
    assert machine.specs == {}


def test_a_failure_is_a_notice(machine: Machine) -> None:
    """An environment that was made stays made."""
    machine.stuck = True
    kept, (notice,) = keep_up(SFT, KERNELS, machine.tools())
    assert kept == ()
    assert "the disk is full" in notice.message
    assert "llmenv kernel add -p /envs/sft" in notice.hint
    machine.stuck = False
    add(AddRequest(SFT, KERNELS), machine.tools())
    machine.stuck = True
    removed, (notice,) = forget(SFT, machine.tools())
    assert removed == ()
    assert "it is read-only" in notice.message


def test_another_hosts_environment_of_that_path_is_another(machine: Machine) -> None:
    """Removing an environment here leaves the kernel that starts one of the same path there."""
    spec = add(AddRequest(SFT, KERNELS, "there"), machine.tools())
    remote = {"llmenv": {**spec.metadata["llmenv"], "host": "gpu01"}}
    machine.specs[spec.folder] = Kernelspec("there", spec.folder, "user", argv=spec.argv, metadata=remote)
    assert forget(SFT, machine.tools()) == ((), ())
    assert plan_repairs((), machine.tools()) == ()


def test_of_several_copies_none_is_chosen(machine: Machine) -> None:
    """Two environments with the same packages: the person decides; one that has a kernel of its own is not meant."""
    add(AddRequest(SFT, KERNELS), machine.tools())
    inside = machine.inside.pop(SFT)
    machine.inside |= {Path("/a"): inside, Path("/b"): inside}
    (planned,) = plan_repairs((), machine.tools())
    assert (planned.step, planned.candidates) == (Step.LEAVE, (Path("/a"), Path("/b")))
    add(AddRequest(Path("/a"), KERNELS, "a"), machine.tools())
    (planned,) = plan_repairs((), machine.tools())
    assert (planned.step, planned.prefix) == (Step.MOVE, Path("/b"))
