"""Requests and answers of the API as models: the form of bodies, and what OpenAPI says about answers.

A model is loaded at its first use: a function uses a third of them, and each one makes a cold start longer.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from livemem_http.views.archives import NewExport, NewUpload, UploadView
    from livemem_http.views.backups import BackupPage, BackupView, NewBackup
    from livemem_http.views.bank import (
        FileContent,
        FileList,
        FileView,
        FileWithSources,
        SectionEdits,
        SectionSources,
        SynthesisView,
    )
    from livemem_http.views.fields import Agent, Category, IdempotencyKey, JobState, Moment, Reason, SpaceId
    from livemem_http.views.history import ChangeDetail, ChangePage, ChangeSummary
    from livemem_http.views.notes import NewNote, NewNotes, NoteList, NoteOrNotes, NotePage, NoteView
    from livemem_http.views.plans import PlanApproval, PlanRefusal
    from livemem_http.views.runs import AgentAnswer, NewConsolidation, RunState
    from livemem_http.views.service import About, HealthView, WhoAmI
    from livemem_http.views.spaces import (
        LiveNotes,
        NewSpace,
        Rules,
        RulesChange,
        SpaceChange,
        SpacePage,
        SpaceSummary,
        SpaceView,
        WaitingView,
    )
    from livemem_http.views.tokens import (
        NewToken,
        Rotation,
        RotationKey,
        TokenChange,
        TokenPage,
        TokenView,
    )
    from livemem_http.views.upkeep import (
        GarbageReport,
        GarbageWanted,
    )
    from livemem_http.views.usage import UsageReport

_MODULES = {
    "archives": ("NewExport", "NewUpload", "UploadView"),
    "backups": ("BackupPage", "BackupView", "NewBackup"),
    "bank": (
        "FileContent",
        "FileList",
        "FileView",
        "FileWithSources",
        "SectionEdits",
        "SectionSources",
        "SynthesisView",
    ),
    "fields": ("Agent", "Category", "IdempotencyKey", "JobState", "Moment", "Reason", "SpaceId"),
    "history": ("ChangeDetail", "ChangePage", "ChangeSummary"),
    "notes": ("NewNote", "NewNotes", "NoteList", "NoteOrNotes", "NotePage", "NoteView"),
    "plans": ("PlanApproval", "PlanRefusal"),
    "runs": ("AgentAnswer", "NewConsolidation", "RunState"),
    "service": ("About", "HealthView", "WhoAmI"),
    "spaces": (
        "LiveNotes",
        "NewSpace",
        "Rules",
        "RulesChange",
        "SpaceChange",
        "SpacePage",
        "SpaceSummary",
        "SpaceView",
        "WaitingView",
    ),
    "tokens": (
        "NewToken",
        "PageCode",
        "PageCodeExchange",
        "PageToken",
        "Rotation",
        "RotationKey",
        "TokenChange",
        "TokenPage",
        "TokenView",
    ),
    "upkeep": ("GarbageReport", "GarbageWanted"),
    "usage": ("UsageReport",),
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [
    "About",
    "Agent",
    "AgentAnswer",
    "BackupPage",
    "BackupView",
    "Category",
    "ChangeDetail",
    "ChangePage",
    "ChangeSummary",
    "FileContent",
    "FileList",
    "FileView",
    "FileWithSources",
    "GarbageReport",
    "GarbageWanted",
    "HealthView",
    "IdempotencyKey",
    "JobState",
    "LiveNotes",
    "Moment",
    "NewBackup",
    "NewConsolidation",
    "NewExport",
    "NewNote",
    "NewNotes",
    "NewSpace",
    "NewToken",
    "NewUpload",
    "NoteList",
    "NoteOrNotes",
    "NotePage",
    "NoteView",
    "PlanApproval",
    "PlanRefusal",
    "Reason",
    "Rotation",
    "RotationKey",
    "Rules",
    "RulesChange",
    "RunState",
    "SectionEdits",
    "SectionSources",
    "SpaceChange",
    "SpaceId",
    "SpacePage",
    "SpaceSummary",
    "SpaceView",
    "SynthesisView",
    "TokenChange",
    "TokenPage",
    "TokenView",
    "UploadView",
    "UsageReport",
    "WaitingView",
    "WhoAmI",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
