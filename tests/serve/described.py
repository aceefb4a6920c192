# SPDX-License-Identifier: Apache-2.0
"""The interface of the job server as src/serve/page/openapi.json describes it, and answers compared with it."""
import copy
import json
import os
import pathlib
import re
import sys
import urllib.error
import urllib.request

try:
    import jsonschema
except ImportError:  # what runs here may have another Python beside it that has more
    python = os.environ.pop("TUTTI_TEST_PYTHON", "")
    if os.path.exists(python):
        os.execv(python, [python, *sys.argv])
    print("skipped: answers of the job server are compared by jsonschema (./dev setup --test)")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parents[2]
METHODS = ("get", "post", "delete")


def close(schema):
    """The schema, refusing fields that it does not name: clients pass over them, a test does not."""
    if isinstance(schema, list):
        return [close(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {key: close(part) for key, part in schema.items()}
    if ("properties" in schema or "allOf" in schema) and "additionalProperties" not in schema:
        closed["unevaluatedProperties"] = False
    return closed


class Description:
    def __init__(self):
        self.document = json.loads((ROOT / "src/serve/page/openapi.json").read_text(encoding="utf-8"))
        self.seen = set()  # (path, method, status) of answers that were compared

    def resolve(self, part):
        while "$ref" in part:
            found = self.document
            for name in part["$ref"].removeprefix("#/").split("/"):
                found = found[name]
            part = found
        return part

    def operations(self):
        for path, item in self.document["paths"].items():
            for method in METHODS:
                if method in item:
                    yield path, method, item[method]

    def check(self):
        """Says what is wrong with the document itself."""
        wrong, names = [], []
        if self.document.get("openapi") != "3.1.0":
            wrong.append("it is not OpenAPI 3.1.0")
        for reference in re.findall(r'"\$ref": "([^"]+)"', json.dumps(self.document)):
            try:
                self.resolve({"$ref": reference})
            except KeyError:
                wrong.append(f"{reference} leads nowhere")
        for name, schema in self.document["components"]["schemas"].items():
            try:
                jsonschema.Draft202012Validator.check_schema(schema)
            except jsonschema.SchemaError as cause:
                wrong.append(f"the schema {name}: {cause.message}")
        for path, method, operation in self.operations():
            names.append(operation["operationId"])
            parameters = [self.resolve(p) for p in self.document["paths"][path].get("parameters", [])]
            if {p["name"] for p in parameters if p["in"] == "path"} != set(re.findall(r"\{(\w+)\}", path)):
                wrong.append(f"{path}: its parameters are not those of the path")
            if not operation.get("summary") or not any(s[0] == "2" for s in operation["responses"]):
                wrong.append(f"{method} {path}: has no summary or no success")
        if len(names) != len(set(names)):
            wrong.append("two operations have the same operationId")
        return wrong

    def unwrap(self, schema):
        """The schema without references into the document: closed schemas are its own copies."""
        schema = self.resolve(schema)
        if "allOf" in schema:  # of parts that each refuse other fields nothing would pass
            whole = {"type": "object", "properties": {}, "required": []}
            for part in map(self.resolve, schema["allOf"]):
                whole["properties"].update(part["properties"])
                whole["required"] += part["required"]
            schema = whole
        return {k: self.unwrap_part(v) for k, v in schema.items()}

    def unwrap_part(self, part):
        if isinstance(part, dict):
            return self.unwrap(part)
        return [self.unwrap_part(x) for x in part] if isinstance(part, list) else part

    def compare(self, path, method, answer):
        """Compares an answer (status, type, headers, body) with what is described; returns what differs, "" if nothing."""
        operation = self.document["paths"].get(path, {}).get(method)
        if not operation:
            return f"{method} {path} is not described"
        status, kind, headers, body = answer
        self.seen.add((path, method, status))
        if str(status) not in operation["responses"]:
            return f"{method} {path}: {status} is not described: {body[:300]!r}"
        response = self.resolve(operation["responses"][str(status)])
        content = response.get("content", {})
        missing = [name for name in response.get("headers", {}) if name not in headers]
        if missing:
            return f"{method} {path}: no header {missing}"
        if not content:
            return f"{method} {path}: {status} has a body" if body else ""
        if kind not in content:
            return f"{method} {path}: the type {kind} is not described"
        if kind != "application/json" or "schema" not in content[kind]:
            return ""
        schema = close(self.unwrap(copy.deepcopy(content[kind]["schema"])))
        errors = jsonschema.Draft202012Validator(schema).iter_errors(json.loads(body))
        return "; ".join(f"{method} {path}: {e.json_path}: {e.message[:300]}" for e in errors)


def ask(base, path, method="get", token=None, body=None, headers=()):
    """Returns (status, type, headers, body) of an answer."""
    request = urllib.request.Request(base + path, method=method.upper(), headers=dict(headers))
    if token:
        request.add_header("Authorization", f"Bearer {token}")
    if body is not None:
        request.data = body if isinstance(body, bytes) else json.dumps(body).encode()
        if not request.has_header("Content-type"):
            request.add_header("Content-Type", "application/json")
    try:
        answer = urllib.request.urlopen(request, timeout=30)
    except urllib.error.HTTPError as refusal:
        answer = refusal
    with answer:
        return answer.status, answer.headers.get_content_type(), answer.headers, answer.read()
