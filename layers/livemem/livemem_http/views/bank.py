"""Bank files, the synthesis and sources as requests and answers."""

from dataclasses import asdict
from typing import Annotated

from pydantic import (
    Field,
)

from livemem import limits
from livemem.bank.citations import Citations, Cited
from livemem.bank.files import File
from livemem.markdown.edits import Edit, Op
from livemem_http.views.fields import Body, FileText, Moment, NoteId, Path, Reason, View, described


class FileContent(Body):
    """The new content of a bank file."""

    content: FileText
    reason: Reason | None = None


class SectionEdit(Body):
    """One edit of a section, as the LLM makes them: `after` names the section that a new one follows."""

    op: Annotated[
        Op,
        described(
            "What to do with the section. `replace_section`: `content` instead of all below its heading, sub-sections "
            "included; `append_to_section`: at the end of its own text; `prepend_to_section`: right below its heading; "
            "`add_section`: a new one; `delete_section`: it goes with its sub-sections; `confirm_section`: it "
            "still holds, with its sub-sections, and no word changes. Each token that may `write` may confirm.",
            "append_to_section",
        ),
    ]
    heading: Annotated[
        str,
        described(
            "The section, by its full heading line, or by a path of them (`# A > ## B`) where that is ambiguous.",
            "## Terms",
            minLength=1,
        ),
    ]
    content: Annotated[str, described("The Markdown to be put there.", "- Run: one attempt to consolidate.")] = ""
    after: Annotated[
        str | None, described("Of `add_section`: the section that the new one follows; else it comes last.")
    ] = None


class SectionEdits(Body):
    """Edits of one bank file, applied in their order."""

    edits: Annotated[
        list[SectionEdit],
        described(
            "Each finds its section in what the ones before it left. All are made, or none.",
            minItems=1,
            maxItems=limits.CORRECTION_EDITS,
        ),
    ]
    reason: Annotated[Reason, Field(json_schema_extra={"minLength": 1})]

    def wanted(self) -> list[Edit]:
        """The edits for the domain."""
        return [Edit(edit.op, edit.heading, edit.content, edit.after) for edit in self.edits]


class FileView(View):
    """A bank file."""

    path: Path
    size: Annotated[int, described("Bytes of UTF-8.", 60)]
    last_modified: Annotated[Moment, described("When it was written, UTC.", "2026-02-20T14:05:00Z")]
    content: Annotated[
        str | None,
        described(
            "The file as Markdown; only where it was asked for.",
            "# Glossary\n\n## Terms\n\n- Bank: the files that an agent loads.\n",
        ),
    ] = None
    consolidation: Annotated[
        int | None, described("The number of the change that wrote it, if that is known; only with the content.", 1)
    ] = None

    @classmethod
    def of(cls, file: File) -> "FileView":
        return cls.model_validate(file, from_attributes=True)


class SynthesisView(View):
    """The short text that the last consolidation left about the whole bank."""

    consolidated_at: Annotated[
        str | None, described("When that was, UTC; left out if the object does not say it.", "2026-02-20T14:05:00Z")
    ] = None
    consolidation_number: Annotated[int | None, described("The number of that consolidation.", 1)] = None
    notes_processed: Annotated[int | None, described("How many notes it folded.", 1)] = None
    content: Annotated[str, described("The text, as Markdown.", "S3 stays the only store.")]


class FileList(View):
    """The files of a bank."""

    items: Annotated[
        list[FileView],
        described(
            "The files in the order of their paths, with `content` where it was asked for.",
            [{"path": "glossary.md", "size": 60, "last_modified": "2026-02-20T14:05:00Z"}],
        ),
    ]


class NoteSourceView(View):
    """A note that a section rests on."""

    note_id: NoteId
    consolidation: Annotated[int, described("The number of the consolidation that brought it in.", 1)]


class SectionSources(View):
    """A section and the notes it rests on, without the oldest `omitted` ones; `corrections` are the numbers of manual
    changes of it.
    """

    heading: Annotated[str, described("The heading line; empty for the text before the first one.", "## Terms")]
    path: Annotated[list[str], described("The heading lines down to the section.", ["# Glossary", "## Terms"])]
    sources: Annotated[list[NoteSourceView], described("The notes, oldest first.")]
    corrections: Annotated[list[int], described("Numbers of the corrections by hand that changed the section.", [])]
    omitted: Annotated[
        int, described("How many notes are left out, the oldest: a file keeps a bounded number of them.", 0)
    ] = 0
    verified_at: Annotated[
        Moment | None, described("When a note or a caller last confirmed it, UTC; null where nobody knows.")
    ] = None

    @classmethod
    def of(cls, cited: Cited) -> "SectionSources":
        return cls.model_validate(cited, from_attributes=True)


class FileWithSources(FileView):
    """A bank file, and the sources of its sections."""

    sections: Annotated[list[SectionSources] | None, described("Only with `sources=true`: the sections in order.")] = (
        None
    )
    sources_since: Annotated[
        int | None,
        described("Set where only the newest changes could be looked at: what those before it brought in is not told."),
    ] = None

    @classmethod
    def of_file(cls, file: File, cited: Citations | None) -> "FileWithSources":
        sections = [SectionSources.of(section) for section in cited.sections] if cited else None
        return cls(**asdict(file), sections=sections, sources_since=cited.since if cited else None)
