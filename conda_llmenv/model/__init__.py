"""The data every layer speaks: frozen structs without behaviour that touches disk, network or clock."""

from __future__ import annotations

from conda_llmenv.model.checks import (
    CheckResult,
    Finding,
    Level,
    Observation,
    ProbeEnd,
    ProbeRun,
    Report,
)
from conda_llmenv.model.envspec import EnvSpec, MergedChannel, MergedSpec, MergedVariable, Notice, PipSection
from conda_llmenv.model.fragments import (
    Fragment,
    GpuMatch,
    Kind,
    PipKind,
    PipOption,
    PipRequirement,
    Source,
    Variable,
)
from conda_llmenv.model.host import Gpu, HostFacts, TierChoice, VirtualPackage
from conda_llmenv.model.lock import AskedEnvironment, Lock, LockedPlatform
from conda_llmenv.model.pip import PipArtifact, PipPackage, PipPlan, PipRequest, PipResult
from conda_llmenv.model.provenance import Layer, Origin, Sourced
from conda_llmenv.model.solve import Channel, InstallRequest, Record, Solution, SolveRequest
from conda_llmenv.model.state import EnvState, Owner, Phase
from conda_llmenv.model.verdict import Change, Status, Verdict

__all__ = [
    "AskedEnvironment",
    "Change",
    "Channel",
    "CheckResult",
    "EnvSpec",
    "EnvState",
    "Finding",
    "Fragment",
    "Gpu",
    "GpuMatch",
    "HostFacts",
    "InstallRequest",
    "Kind",
    "Layer",
    "Level",
    "Lock",
    "LockedPlatform",
    "MergedChannel",
    "MergedSpec",
    "MergedVariable",
    "Notice",
    "Observation",
    "Origin",
    "Owner",
    "Phase",
    "PipArtifact",
    "PipKind",
    "PipOption",
    "PipPackage",
    "PipPlan",
    "PipRequest",
    "PipRequirement",
    "PipResult",
    "PipSection",
    "ProbeEnd",
    "ProbeRun",
    "Record",
    "Report",
    "Solution",
    "SolveRequest",
    "Source",
    "Sourced",
    "Status",
    "TierChoice",
    "Variable",
    "Verdict",
    "VirtualPackage",
]
