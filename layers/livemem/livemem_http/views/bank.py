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
            "`replace_section`: `content` replaces all below the heading, sub-sections too. `append_to_section`: adds "
            "it at the end of the section's own text. `prepend_to_section`: directly below the heading. "
            "`add_section`, `delete_section`: with sub-sections. `confirm_section`: its text, which must not be "
            "empty, holds; needs `write` alone. `replace_line`, `remove_line`, `insert_after_line`: one line of it.",
            "append_to_section",
        ),
    ]
    heading: Annotated[
        str,
        described(
            "The section: its full heading line, or a path of heading lines (`# A > ## B`) where one line is "
            "ambiguous.",
            "## Terms",
            minLength=1,
        ),
    ]
    content: Annotated[str, described("The Markdown text of the edit.", "- Run: one attempt to consolidate.")] = ""
    line: Annotated[
        str,
        described("For edits of a line: its beginning, at least 12 characters that no other line of the section has."),
    ] = ""
    after: Annotated[
        str | None,
        described("Only for `add_section`: the section that the new one follows. Default: the new section comes last."),
    ] = None


class SectionEdits(Body):
    """Edits of one bank file, applied in their order."""

    edits: Annotated[
        list[SectionEdit],
        described(
            "Each edit applies to the result of the edits before it. Either all are applied, or none.",
            minItems=1,
            maxItems=limits.CORRECTION_EDITS,
        ),
    ]
    reason: Annotated[Reason, Field(json_schema_extra={"minLength": 1})]
    consolidation: Annotated[
        int | None,
        described(
            "The `consolidation` of the file that you have read. If another change has written it since, the "
            "correction is refused (`precondition_lost`)."
        ),
    ] = None

    def wanted(self) -> list[Edit]:
        """The edits for the domain."""
        return [Edit(edit.op, edit.heading, edit.content, edit.after, line=edit.line) for edit in self.edits]


class FileView(View):
    """A bank file."""

    path: Path
    size: Annotated[int, described("Size in bytes of UTF-8.", 60)]
    last_modified: Annotated[Moment, described("The time of the last write, UTC.", "2026-02-20T14:05:00Z")]
    content: Annotated[
        str | None,
        described(
            "The file as Markdown. Only if the request asked for contents.",
            "# Glossary\n\n## Terms\n\n- Bank: the files that an agent loads.\n",
        ),
    ] = None
    consolidation: Annotated[
        int | None, described("The number of the change that wrote the file, if it is known. Only with the content.", 1)
    ] = None

    @classmethod
    def of(cls, file: File) -> "FileView":
        return cls.model_validate(file, from_attributes=True)


class SynthesisView(View):
    """The synthesis: the short text that the last consolidation wrote about the whole bank."""

    consolidated_at: Annotated[
        str | None,
        described(
            "The time of the consolidation, UTC; left out if the stored object does not have it.",
            "2026-02-20T14:05:00Z",
        ),
    ] = None
    consolidation_number: Annotated[int | None, described("The number of the consolidation.", 1)] = None
    notes_processed: Annotated[int | None, described("Number of notes that the consolidation folded.", 1)] = None
    content: Annotated[str, described("The text, as Markdown.", "S3 stays the only store.")]


class FileList(View):
    """The files of a bank."""

    items: Annotated[
        list[FileView],
        described(
            "The files in the order of their paths, with `content` if the request asked for it.",
            [{"path": "glossary.md", "size": 60, "last_modified": "2026-02-20T14:05:00Z"}],
        ),
    ]


class NoteSourceView(View):
    """A note that a section rests on."""

    note_id: NoteId
    consolidation: Annotated[int, described("The number of the consolidation that folded the note into the bank.", 1)]


class SectionSources(View):
    """A section and the notes it rests on, without the oldest `omitted` ones; `corrections` are the numbers of manual
    changes of it.
    """

    heading: Annotated[str, described("The heading line. Empty for the text before the first heading.", "## Terms")]
    path: Annotated[
        list[str], described("The heading lines from the outermost one to the section.", ["# Glossary", "## Terms"])
    ]
    sources: Annotated[list[NoteSourceView], described("The notes, oldest first.")]
    corrections: Annotated[list[int], described("The numbers of the manual corrections that changed the section.", [])]
    omitted: Annotated[
        int, described("Number of the oldest notes that are left out: a file keeps a limited number of them.", 0)
    ] = 0
    verified_at: Annotated[
        Moment | None, described("When a note or a caller last confirmed it, UTC. Left out if nobody knows.")
    ] = None

    @classmethod
    def of(cls, cited: Cited) -> "SectionSources":
        return cls.model_validate(cited, from_attributes=True)


class FileWithSources(FileView):
    """A bank file, and the sources of its sections."""

    sections: Annotated[
        list[SectionSources] | None, described("The sections in their order. Only with `sources=true`.")
    ] = None
    sources_since: Annotated[
        int | None,
        described("Present if only the newest changes were examined. Sources from earlier changes are then missing."),
    ] = None

    @classmethod
    def of_file(cls, file: File, cited: Citations | None) -> "FileWithSources":
        sections = [SectionSources.of(section) for section in cited.sections] if cited else None
        return cls(**asdict(file), sections=sections, sources_since=cited.since if cited else None)
