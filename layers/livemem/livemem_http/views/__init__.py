"""Requests and answers of the API as models: what bodies must look like, and what OpenAPI says about answers."""

from livemem_http.views.bank import (
    FileContent,
    FileList,
    FileView,
    FileWithSources,
    SectionEdits,
    SectionSources,
    SynthesisView,
)
from livemem_http.views.fields import Agent, Category, IdempotencyKey, Moment, Reason, SpaceId
from livemem_http.views.history import ChangeDetail, ChangePage, ChangeSummary
from livemem_http.views.notes import NewNote, NewNotes, NoteList, NotePage, NoteView
from livemem_http.views.runs import NewConsolidation, RunPage, RunQueued, RunView
from livemem_http.views.service import About, HealthView, WhoAmI
from livemem_http.views.spaces import (
    LiveNotes,
    NewSpace,
    Rules,
    RulesChange,
    SpaceChange,
    SpaceChanged,
    SpaceInfo,
    SpacePage,
    SpaceSummary,
    SpaceView,
)

__all__ = [
    "About",
    "Agent",
    "Category",
    "ChangeDetail",
    "ChangePage",
    "ChangeSummary",
    "FileContent",
    "FileList",
    "FileView",
    "FileWithSources",
    "HealthView",
    "IdempotencyKey",
    "LiveNotes",
    "Moment",
    "NewConsolidation",
    "NewNote",
    "NewNotes",
    "NewSpace",
    "NoteList",
    "NotePage",
    "NoteView",
    "Reason",
    "Rules",
    "RulesChange",
    "RunPage",
    "RunQueued",
    "RunView",
    "SectionEdits",
    "SectionSources",
    "SpaceChange",
    "SpaceChanged",
    "SpaceId",
    "SpaceInfo",
    "SpacePage",
    "SpaceSummary",
    "SpaceView",
    "SynthesisView",
    "WhoAmI",
]
