#!/usr/bin/env python3
"""The schemas in Deploy/schema, in which no member of an object may be missing.

Usage: schemas.py NAME FILE...

Validates each FILE, which holds one JSON value, against Deploy/schema/NAME.json, and prints what is wrong. The exit status is 1 when something is. Needs the package
jsonschema.
"""
import json
import pathlib
import sys

import jsonschema
import referencing

ROOT = pathlib.Path(__file__).resolve().parents[2]


def strict(schema):
    """The schema, in which an object has no member beyond those that are described."""
    if isinstance(schema, list):
        return [strict(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    result = {key: strict(value) for key, value in schema.items()}
    if isinstance(schema.get("properties"), dict) and schema.get("type") == "object":
        result.setdefault("additionalProperties", False)
    return result


class Schemas:
    def __init__(self):
        self.files = {file.name: strict(json.loads(file.read_text())) for file in (ROOT / "Deploy/schema").glob("*.json")}
        resources = [(name, referencing.Resource.from_contents(schema)) for name, schema in self.files.items()]
        self.registry = referencing.Registry().with_resources(resources)
        for schema in self.files.values():
            jsonschema.Draft202012Validator.check_schema(schema)

    def problems(self, name, value):
        validator = jsonschema.Draft202012Validator(self.files[f"{name}.json"], registry=self.registry)
        return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(value)]


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    schemas = Schemas()
    problems = [f"{file}: {each}" for file in sys.argv[2:] for each in schemas.problems(sys.argv[1], json.loads(pathlib.Path(file).read_text()))]
    print("\n".join(problems))
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
