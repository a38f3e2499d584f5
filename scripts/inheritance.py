"""Says each field of an answer once: the schema of a model that adds fields to another one refers to it (`allOf`)."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from livemem_http.views.fields import View

Model = type[View]


def fold(schemas: dict[str, Any]) -> None:
    """Let each schema of an answer refer to that of the model which it inherits from.

    A model that is no answer itself comes to the schemas if several inherit from it.
    """
    models = {model.__name__: model for model in _below(View)}
    flat = dict(schemas)
    bases: dict[str, Model] = {}
    added = flat
    while added:
        bases = {name: base for name in flat if (base := _base(models.get(name)))}
        counts = Counter(bases.values())
        # A model above comes from any that inherits from it, and may itself inherit.
        added = {
            base.__name__: _part(flat[name], base)
            for name, base in bases.items()
            if base.__name__ not in flat and counts[base] > 1
        }
        flat |= added
    schemas |= flat
    for name, base in bases.items():
        if base.__name__ in flat and _keeps(flat[name], flat[base.__name__]):
            schemas[name] = _refers(flat[name], flat[base.__name__], base.__name__)
    ordered = dict(sorted(schemas.items()))
    schemas.clear()
    schemas.update(ordered)


def _below(model: Model) -> Iterator[Model]:
    for child in model.__subclasses__():
        yield child
        yield from _below(child)


def _base(model: Model | None) -> Model | None:
    """The nearest model with fields from which this one inherits."""
    above = model.__mro__[1:] if model else ()
    return next((base for base in above if issubclass(base, View) and base.model_fields), None)


def _part(schema: dict[str, Any], base: Model) -> dict[str, Any]:
    """The schema of the model whose fields are a part of this schema."""
    return {
        "description": " ".join((base.__doc__ or "").split()),
        "properties": {name: part for name, part in schema["properties"].items() if name in base.model_fields},
        "required": [name for name in schema.get("required", ()) if name in base.model_fields],
        "type": "object",
    }


def _keeps(schema: dict[str, Any], base: dict[str, Any]) -> bool:
    """Whether the schema changes no field of the base."""
    return all(schema["properties"].get(field) == part for field, part in base["properties"].items())


def _refers(schema: dict[str, Any], base: dict[str, Any], name: str) -> dict[str, Any]:
    own = {field: part for field, part in schema["properties"].items() if field not in base["properties"]}
    required = [field for field in schema.get("required", ()) if field not in base.get("required", ())]
    folded = {**schema, "properties": own, "required": required, "allOf": [{"$ref": f"#/components/schemas/{name}"}]}
    return {key: value for key, value in folded.items() if value or key not in ("properties", "required")}
